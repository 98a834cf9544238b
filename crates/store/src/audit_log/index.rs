//! The list of volumes, itself a chain: what was opened, closed and removed, so that a volume that
//! is gone or shorter than it was is missed. Programs that share it take turns.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::anchor::Anchor;
use super::chain::{Chain, Line, Seal, to_hex};
use super::contents::{Contents, Entry};
use super::error::AuditError;

/// The file.
pub(super) const FILE: &str = "index.jsonl";

/// The file whose lock is held by who changes the list.
const LOCK: &str = "lock";

/// The pause between two tries for the lock.
const PAUSE: Duration = Duration::from_millis(5);

/// The list, in the hands of one program.
pub(super) struct Index {
    path: PathBuf,
    seal: Seal,
    file: File,
    chain: Chain,
    length: u64,
    /// What it says.
    pub(super) contents: Contents,
    _lock: File,
}

impl Index {
    /// Takes the list in hand, when no other program has it; also says whether it goes on from
    /// where it was.
    pub(super) fn hold_after(
        folder: &Path,
        seal: Seal,
        busy: Duration,
        anchor: Option<&Anchor>,
    ) -> Result<(Self, bool), AuditError> {
        let lock = lock(folder, busy)?;
        let path = folder.join(FILE);
        let failed = || AuditError::write(&path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(failed())?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(AuditError::read(&path))?;
        let whole = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
        let length = whole as u64;
        if whole < text.len() {
            // A line that was never finished was never relied on.
            file.set_len(length).map_err(failed())?;
        }
        file.seek(SeekFrom::Start(length)).map_err(failed())?;
        let chain = match lines(&text[..whole]).filter_map(Line::parse).last() {
            Some(line) => Chain::after(seal.clone(), line.mac, line.number + 1),
            None => Chain::new(seal.clone()),
        };
        let is_extended = anchor.is_none_or(|it| it.is_extended_by(&seal, &text[..whole]));
        let contents = Contents::read(&text[..whole]);
        Ok((Self { path, seal, file, chain, length, contents, _lock: lock }, is_extended))
    }

    /// Adds a line.
    pub(super) fn note(&mut self, entry: &Entry) -> Result<(), AuditError> {
        let mut chain = self.chain.clone();
        let mut line = Vec::new();
        chain.append(&entry.members(), &mut line);
        if let Err(error) = self.file.write_all(&line) {
            // Half a line would be cut off by the next program too.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            return Err(AuditError::write(&self.path)(error));
        }
        self.chain = chain;
        self.length += line.len() as u64;
        self.contents.apply(entry);
        Ok(())
    }

    /// Makes everything durable that was noted.
    pub(super) fn sync(&self) -> Result<(), AuditError> {
        self.file.sync_data().map_err(AuditError::write(&self.path))
    }

    /// How far it is.
    pub(super) fn anchor(&self) -> Anchor {
        Anchor {
            file: FILE.to_owned(),
            generation: self.contents.generation,
            lines: self.chain.lines(),
            mac: to_hex(self.chain.last()),
        }
    }

    /// Bytes of the list.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Writes the list anew, with nothing but the volumes that are left.
    pub(super) fn renew(&mut self, at: &str) -> Result<(), AuditError> {
        let mut contents = self.contents.clone();
        let mut chain = Chain::new(self.seal.clone());
        let mut text = Vec::new();
        for entry in contents.renewed(at) {
            chain.append(&entry.members(), &mut text);
        }
        let draft = self.path.with_extension("new");
        let failed = || AuditError::write(&draft);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft).map_err(failed())?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed())?;
        std::fs::rename(&draft, &self.path).map_err(failed())?;
        (self.file, self.chain, self.length) = (file, chain, text.len() as u64);
        self.contents = contents;
        Ok(())
    }
}

/// Waits for the turn of this program.
pub(super) fn lock(folder: &Path, busy: Duration) -> Result<File, AuditError> {
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&path).map_err(AuditError::write(&path))?;
    let until = Instant::now() + busy;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(AuditError::Locked(path)),
            Err(TryLockError::Error(error)) => return Err(AuditError::write(path)(error)),
        }
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}
