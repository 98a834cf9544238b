//! Reads an audit log: its segments, their records, and what is appended to them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::AuditError;
use super::chain::Line;
use super::verify::segment_names;
use super::writer::is_left;

/// A segment on the disk.
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

/// The segments in a folder, sorted by name, which is by the time at which they were begun.
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

    /// The records in the text of a segment, without number and code: the inside of an object each.
    pub fn records(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let whole = lines.filter(|line| line.ends_with(b"\n"));
        whole.filter_map(|line| Line::parse(line).map(|line| line.members()))
    }
}

/// Sees what is added to a record, in old and new segments.
#[derive(Debug)]
pub struct Follower {
    folder: PathBuf,
    /// How far each segment has been read.
    offsets: HashMap<String, u64>,
}

impl Follower {
    /// Follows an audit log from now on.
    pub fn new(folder: &Path) -> Result<Self, AuditError> {
        let mut follower = Self { folder: folder.to_owned(), offsets: HashMap::new() };
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
        self.offsets.retain(|name, _| names.contains(name));
        for name in names {
            let offset = self.offsets.entry(name.clone()).or_default();
            let text = read_from(&self.folder.join(name), *offset)?;
            let whole = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
            *offset += whole as u64;
            added.extend_from_slice(&text[..whole]);
        }
        Ok(added)
    }
}

/// What stands in a file after that many bytes.
fn read_from(path: &Path, offset: u64) -> Result<Vec<u8>, AuditError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        if file.metadata()?.len() > offset {
            file.seek(SeekFrom::Start(offset))?;
            file.read_to_end(&mut text)?;
        }
        Ok(())
    });
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(text),
        read => read.map(|()| text).map_err(AuditError::read(path)),
    }
}
