//! The fingerprint of a file: tells whether it has changed without reading it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file at one moment. Two fingerprints are equal when nobody has changed the file in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFingerprint {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    /// The time of the last change of the inode. It moves even when someone sets the modification
    /// time back, as `cp -p` does.
    changed: (i64, i64),
}

impl FileFingerprint {
    /// Reads the file's metadata as it is now.
    pub fn of(path: &Path) -> io::Result<Self> {
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
