//! Reads a record: which volumes there are, what they say, and what is added to them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::AuditError;
use super::chain::Line;
use super::verify::segment_names;
use super::writer::is_left;

/// A volume on the disk.
#[derive(Debug, Clone)]
pub struct SegmentFile {
    /// Its name.
    pub name: String,
    /// When it was last written.
    pub written: SystemTime,
    /// Whether a program writes it.
    pub is_open: bool,
    path: PathBuf,
}

/// The volumes in a folder, sorted by name, which is by the time at which they were begun.
pub fn segments(folder: &Path) -> Result<Vec<SegmentFile>, AuditError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let file = |name: String| {
        let path = folder.join(&name);
        let written = path.metadata().and_then(|about| about.modified()).ok()?;
        Some(SegmentFile { name, written, is_open: !is_left(&path), path })
    };
    Ok(segment_names(folder)?.into_iter().filter_map(file).collect())
}

impl SegmentFile {
    /// Everything it holds.
    pub fn read(&self) -> Result<Vec<u8>, AuditError> {
        match std::fs::read(&self.path) {
            // Removed since it was listed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(AuditError::read(&self.path)),
        }
    }

    /// The records in the text of a volume, without number and code: the inside of an object each.
    pub fn records(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let whole = lines.filter(|line| line.ends_with(b"\n"));
        whole.filter_map(|line| Line::parse(line).map(|line| line.members()))
    }
}

/// Sees what is added to a record, in old and new volumes.
#[derive(Debug)]
pub struct Follower {
    folder: PathBuf,
    /// How far each volume has been read.
    places: HashMap<String, u64>,
}

impl Follower {
    /// Follows a record from now on.
    pub fn new(folder: &Path) -> Result<Self, AuditError> {
        let mut follower = Self { folder: folder.to_owned(), places: HashMap::new() };
        follower.added()?;
        Ok(follower)
    }

    /// What was added since the last time, in whole lines.
    pub fn added(&mut self) -> Result<Vec<u8>, AuditError> {
        let mut added = Vec::new();
        if !self.folder.exists() {
            return Ok(added);
        }
        let names = segment_names(&self.folder)?;
        self.places.retain(|name, _| names.contains(name));
        for name in names {
            let place = self.places.entry(name.clone()).or_default();
            let text = beyond(&self.folder.join(name), *place)?;
            let whole = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
            *place += whole as u64;
            added.extend_from_slice(&text[..whole]);
        }
        Ok(added)
    }
}

/// What stands in a file after that many bytes.
fn beyond(path: &Path, place: u64) -> Result<Vec<u8>, AuditError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        if file.metadata()?.len() > place {
            file.seek(SeekFrom::Start(place))?;
            file.read_to_end(&mut text)?;
        }
        Ok(())
    });
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(text),
        read => read.map(|()| text).map_err(AuditError::read(path)),
    }
}
