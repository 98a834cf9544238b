//! The list of volumes, itself a chain: what was opened, closed and removed, so that a volume that
//! is gone or shorter than it was is missed. Programs that share it take turns.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::chain::{Chain, Line, Seal};
use super::error::AuditError;

/// The file.
pub(super) const FILE: &str = "index.jsonl";

/// The file whose lock is held by who changes the list.
const LOCK: &str = "lock";

/// The pause between two tries for the lock.
const PAUSE: Duration = Duration::from_millis(5);

/// What happened to a volume.
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
    /// The list was written anew, with the volumes that are left.
    Renewed,
}

/// A line of the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) at: String,
    pub(super) event: Event,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) volume: Option<String>,
    #[serde(flatten)]
    pub(super) end: Option<End>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

/// Where a volume ends.
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

/// What the list says of a volume.
#[derive(Debug, Clone, Default)]
pub(super) struct Fate {
    pub(super) end: Option<End>,
    /// Whether it ended because its program was gone.
    pub(super) is_left: bool,
    pub(super) is_removed: bool,
}

/// The list, in the hands of one program.
pub(super) struct Index {
    path: PathBuf,
    seal: Seal,
    file: File,
    chain: Chain,
    length: u64,
    /// What it says of each volume.
    pub(super) volumes: BTreeMap<String, Fate>,
    _lock: File,
}

impl Entry {
    pub(super) fn new(at: String, event: Event, volume: &str) -> Self {
        Self { at, event, volume: Some(volume.to_owned()), end: None, why: None }
    }
}

impl Index {
    /// Takes the list in hand, when no other program has it.
    pub(super) fn hold(folder: &Path, seal: Seal, busy: Duration) -> Result<Self, AuditError> {
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
        let volumes = fates(&text[..whole]);
        Ok(Self { path, seal, file, chain, length, volumes, _lock: lock })
    }

    /// Adds a line.
    pub(super) fn note(&mut self, entry: &Entry) -> Result<(), AuditError> {
        let mut chain = self.chain.clone();
        let mut line = Vec::new();
        chain.append(&members(entry), &mut line);
        if let Err(error) = self.file.write_all(&line) {
            // Half a line would be cut off by the next program too.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            return Err(AuditError::write(&self.path)(error));
        }
        self.chain = chain;
        self.length += line.len() as u64;
        apply(&mut self.volumes, entry);
        Ok(())
    }

    /// Makes everything durable that was noted.
    pub(super) fn sync(&self) -> Result<(), AuditError> {
        self.file.sync_data().map_err(AuditError::write(&self.path))
    }

    /// Bytes of the list.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Writes the list anew, with nothing but the volumes that are left.
    pub(super) fn renew(&mut self, at: &str) -> Result<(), AuditError> {
        self.volumes.retain(|_, fate| !fate.is_removed);
        let mut chain = Chain::new(self.seal.clone());
        let mut text = Vec::new();
        let renewed =
            Entry { at: at.to_owned(), event: Event::Renewed, volume: None, end: None, why: None };
        chain.append(&members(&renewed), &mut text);
        for (name, fate) in &self.volumes {
            let opened = Entry::new(at.to_owned(), Event::Opened, name);
            chain.append(&members(&opened), &mut text);
            if fate.end.is_some() {
                let event = if fate.is_left { Event::Left } else { Event::Closed };
                let ended = Entry { event, end: fate.end.clone(), ..opened };
                chain.append(&members(&ended), &mut text);
            }
        }
        let draft = self.path.with_extension("new");
        let failed = || AuditError::write(&draft);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft).map_err(failed())?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed())?;
        std::fs::rename(&draft, &self.path).map_err(failed())?;
        (self.file, self.chain, self.length) = (file, chain, text.len() as u64);
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

/// What a list says of each volume.
pub(super) fn fates(text: &[u8]) -> BTreeMap<String, Fate> {
    let mut volumes = BTreeMap::new();
    for line in lines(text) {
        if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
            apply(&mut volumes, &entry);
        }
    }
    volumes
}

fn apply(volumes: &mut BTreeMap<String, Fate>, entry: &Entry) {
    let Some(name) = &entry.volume else { return };
    let fate = volumes.entry(name.clone()).or_default();
    match entry.event {
        Event::Closed | Event::Left => {
            fate.end.clone_from(&entry.end);
            fate.is_left = entry.event == Event::Left;
        }
        Event::Removed => fate.is_removed = true,
        Event::Opened | Event::Renewed => {}
    }
}

/// The inside of the object that an entry is.
fn members(entry: &Entry) -> Vec<u8> {
    let object = serde_json::to_vec(entry).unwrap_or_default();
    object.strip_prefix(b"{").and_then(|it| it.strip_suffix(b"}")).unwrap_or_default().to_vec()
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}
