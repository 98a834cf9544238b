//! One segment while it is written: a file that only grows, by whole lines or not at all, and that
//! stays locked as long as its program lives.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::chain::{Anchor, Chain, Seal, to_hex};
use super::index::End;
use super::{AuditError, AuditSettings};

/// What the name of every segment ends with.
pub(super) const EXTENSION: &str = ".jsonl";

/// A segment that is open.
pub(super) struct Segment {
    pub(super) name: String,
    path: PathBuf,
    file: File,
    chain: Chain,
    /// Bytes of whole lines.
    length: u64,
    /// Since when it is written.
    opened: Instant,
    /// What is about to be written; kept for its room.
    draft: Vec<u8>,
}

impl Segment {
    /// Makes a segment, with its first line.
    pub(super) fn create(
        folder: &Path,
        name: String,
        seal: Seal,
        header: &[u8],
    ) -> Result<Self, AuditError> {
        let path = folder.join(&name);
        let failed = || AuditError::write(&path);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(failed())?;
        // Nobody else knows of it yet; who finds it unlocked later knows that its program is gone.
        file.lock().map_err(failed())?;
        let chain = Chain::new(seal);
        let (opened, draft) = (Instant::now(), Vec::new());
        let mut segment = Self { name, path, file, chain, length: 0, opened, draft };
        let opened = segment.append(&[header, b"\n"].concat(), 0);
        if opened.is_err() {
            // It holds nothing, and must not be taken for a segment.
            let _ = std::fs::remove_file(&segment.path);
        }
        opened.map(|()| segment)
    }

    /// Writes lines, each with a line's end: all of them or none. The first says how many were lost
    /// before it.
    pub(super) fn append(&mut self, lines: &[u8], dropped: u64) -> Result<(), AuditError> {
        let mut chain = self.chain.clone();
        self.draft.clear();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', lines) {
            match dropped {
                1.. if start == 0 => {
                    let told = format!("\"dropped\":{dropped},");
                    chain.append(&[told.as_bytes(), &lines[..end]].concat(), &mut self.draft);
                }
                _ => chain.append(&lines[start..end], &mut self.draft),
            }
            start = end + 1;
        }
        match self.file.write_all(&self.draft) {
            Ok(()) => {
                self.length += self.draft.len() as u64;
                self.chain = chain;
                Ok(())
            }
            Err(error) => {
                self.take_back();
                Err(AuditError::write(&self.path)(error))
            }
        }
    }

    /// Removes what was written of a line that did not find room. When even that fails, the next
    /// write begins in the same place.
    fn take_back(&mut self) {
        let _ = self.file.set_len(self.length);
        let _ = self.file.seek(SeekFrom::Start(self.length));
    }

    /// Makes everything durable that was written.
    pub(super) fn sync(&self) -> Result<(), AuditError> {
        self.file.sync_data().map_err(AuditError::write(&self.path))
    }

    /// Whether the next one is to be begun.
    pub(super) fn is_full(&self, settings: &AuditSettings) -> bool {
        self.length >= settings.segment || self.opened.elapsed() >= settings.age
    }

    /// How far it is.
    pub(super) fn anchor(&self) -> Anchor {
        let (file, mac) = (self.name.clone(), to_hex(self.chain.last()));
        Anchor { file, generation: 0, lines: self.chain.lines(), mac }
    }

    /// Where it ends.
    pub(super) fn end(&self) -> End {
        End {
            lines: self.chain.lines(),
            bytes: self.length,
            last: to_hex(self.chain.last()),
            rest: None,
        }
    }
}

/// A name for a segment that begins now: sorted by name they are sorted by time.
pub(super) fn name(stamp: &str) -> String {
    let stamp: String = stamp.chars().filter(|it| !matches!(it, '-' | ':')).collect();
    let process = std::process::id();
    let chance = RandomState::new().hash_one(process) as u32;
    format!("{stamp}-{process}-{chance:08x}{EXTENSION}")
}

/// Whether the file of that name is a segment.
pub(super) fn is_name(name: &str) -> bool {
    name.ends_with(EXTENSION) && name.starts_with(|it: char| it.is_ascii_digit())
}
