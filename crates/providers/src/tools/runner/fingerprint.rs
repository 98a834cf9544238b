//! What tells one state of a file from the next without reading it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file at one moment. Two stamps are equal when nobody has changed the file in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileFingerprint {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    /// Moves even when someone sets the time of the last change back.
    changed: (i64, i64),
}

impl FileFingerprint {
    /// The file as it is now.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}
