//! The index of segments, itself a hash chain: what was opened, closed and removed, so that a
//! segment that is missing or shorter than it was is noticed. Programs that share a folder lock it
//! in turn.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::AuditError;
use super::chain::{Anchor, Chain, Line, Seal, to_hex};
use super::retention::Removal;

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

    /// Writes the list again, with nothing but the segments that are left.
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

/// What happened to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Event {
    /// It was begun.
    Opened,
    /// It was ended in good order.
    Closed,
    /// Its program was gone before it was ended.
    Left,
    /// It was removed, because it was too old or there was too much.
    Removed,
    /// The list was written again, with the segments that are left.
    Renewed,
}

/// A line of the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) at: String,
    pub(super) event: Event,
    /// On disk it is the `volume`, as in the first line of each segment; `segment` was written for
    /// a short time.
    #[serde(
        rename = "volume",
        alias = "segment",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) segment: Option<String>,
    #[serde(flatten)]
    pub(super) end: Option<End>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// When a segment that is removed was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    /// When a segment that is removed, or whose program was gone, was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    /// How often the list was renewed, at its head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) generation: Option<u64>,
    /// What retention removed before the list was renewed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) removed: Vec<Removal>,
}

/// Where a segment ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// The code of the last line.
    pub(super) last: String,
    /// The code of what stands after the last whole line, if something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<String>,
}

/// What the list says of a segment.
#[derive(Debug, Clone, Default)]
pub(super) struct Fate {
    pub(super) end: Option<End>,
    /// Whether it ended because its program was gone.
    pub(super) is_left: bool,
    pub(super) is_removed: bool,
    /// When it was begun.
    pub(super) opened: String,
    /// When it was last written, once it has ended.
    pub(super) written: String,
}

/// Everything that the list says.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    pub(super) segments: BTreeMap<String, Fate>,
    /// What retention removed, by reason.
    pub(super) removals: Vec<Removal>,
    /// How often the list was renewed.
    pub(super) generation: u64,
}

impl Entry {
    pub(super) fn new(at: String, event: Event, segment: &str) -> Self {
        Self { segment: Some(segment.to_owned()), ..Self::bare(at, event) }
    }

    fn bare(at: String, event: Event) -> Self {
        let (segment, end, why, from, to) = (None, None, None, None, None);
        Self { at, event, segment, end, why, from, to, generation: None, removed: Vec::new() }
    }

    /// The inside of the object that it is.
    pub(super) fn members(&self) -> Vec<u8> {
        let object = serde_json::to_vec(self).unwrap_or_default();
        object.strip_prefix(b"{").and_then(|it| it.strip_suffix(b"}")).unwrap_or_default().to_vec()
    }
}

impl Contents {
    /// What a list says.
    pub(super) fn read(text: &[u8]) -> Self {
        let mut contents = Self::default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                contents.apply(&entry);
            }
        }
        contents
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        if entry.event == Event::Renewed {
            self.generation = entry.generation.unwrap_or_default();
            self.removals.clone_from(&entry.removed);
        }
        let Some(name) = &entry.segment else { return };
        let fate = self.segments.entry(name.clone()).or_default();
        match entry.event {
            Event::Opened => fate.opened.clone_from(&entry.at),
            Event::Closed | Event::Left => {
                fate.end.clone_from(&entry.end);
                fate.is_left = entry.event == Event::Left;
                fate.written.clone_from(entry.to.as_ref().unwrap_or(&entry.at));
            }
            Event::Removed => {
                fate.is_removed = true;
                Removal::of(name, entry).merge_into(&mut self.removals);
            }
            Event::Renewed => {}
        }
    }

    /// The entries of a list that says the same of every segment that is left.
    pub(super) fn renewed(&mut self, at: &str) -> Vec<Entry> {
        self.segments.retain(|_, fate| !fate.is_removed);
        self.generation += 1;
        let generation = Some(self.generation);
        let head = Entry::bare(at.to_owned(), Event::Renewed);
        let mut entries = vec![Entry { generation, removed: self.removals.clone(), ..head }];
        for (name, fate) in &self.segments {
            entries.push(Entry::new(fate.opened.clone(), Event::Opened, name));
            if fate.end.is_some() {
                let event = if fate.is_left { Event::Left } else { Event::Closed };
                let ended = Entry::new(fate.written.clone(), event, name);
                entries.push(Entry { end: fate.end.clone(), ..ended });
            }
        }
        entries
    }

    /// Whether a segment has an end that the list knows, or is gone.
    pub(super) fn has_ended(&self, name: &str) -> bool {
        self.segments.get(name).is_some_and(|fate| fate.end.is_some() || fate.is_removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_its_segment_as_on_the_disk() {
        let written = Entry::new("t".to_owned(), Event::Opened, "x.jsonl").members();
        let written = String::from_utf8(written).expect("text");
        assert_eq!(written, r#""at":"t","event":"opened","volume":"x.jsonl""#);
        for name in ["volume", "segment"] {
            let text = format!(r#"{{"at":"t","event":"opened","{name}":"x.jsonl"}}"#);
            let contents = Contents::read(text.as_bytes());
            assert_eq!(contents.segments.keys().collect::<Vec<_>>(), ["x.jsonl"], "{name}");
        }
    }
}
