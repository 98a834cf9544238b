//! Reading files, whole or a range, within bounds.

use std::io::{Read, Seek, SeekFrom};

use rustix::fs;

use crate::error::FileError;
use crate::path::RelativePath;
use crate::root::{FileStatus, Root};
use crate::version::Version;

/// How often a file is read again that changed meanwhile.
const TRIES: usize = 3;

/// Which bytes to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRange {
    /// The first.
    pub start: u64,
    /// The one after the last; none for all that follow.
    pub end: Option<u64>,
}

/// What was read.
#[derive(Debug, Clone)]
pub struct Contents {
    /// The bytes: the whole file, or the range as far as the file goes.
    pub bytes: Vec<u8>,
    /// The status of the file from which they are.
    pub status: FileStatus,
    /// Its version: of the content where all of it was read.
    pub version: Version,
    /// Where the bytes begin.
    pub start: u64,
}

impl Root {
    /// Reads a file, or a range of it, but no more than `limit` bytes. A file that changes while it is
    /// read is read again, so that the bytes are of one state, as far as its times tell.
    pub fn read(
        &self,
        path: &RelativePath,
        range: Option<ReadRange>,
        limit: u64,
    ) -> Result<Contents, FileError> {
        for _ in 0..TRIES {
            let (mut file, before) = self.open_file(path)?;
            let start = range.map_or(0, |range| range.start);
            if start > before.size {
                return Err(FileError::Range { start, size: before.size });
            }
            let end = range.and_then(|range| range.end).unwrap_or(before.size).min(before.size);
            let wanted = end.saturating_sub(start);
            if wanted > limit {
                let advice = "read a range of it";
                return Err(FileError::TooLarge { size: wanted, limit, advice });
            }
            file.seek(SeekFrom::Start(start))?;
            let capacity = usize::try_from(wanted).unwrap_or(0);
            let mut bytes = Vec::with_capacity(capacity);
            (&mut file).take(wanted).read_to_end(&mut bytes)?;
            let after = FileStatus::of(&fs::fstat(&file)?);
            let is_same = (before.size, before.modified_ns) == (after.size, after.modified_ns);
            if !is_same || bytes.len() < capacity {
                continue;
            }
            let is_whole = start == 0 && end == before.size;
            let version = match is_whole {
                true => Version::of_content(&bytes),
                false => Version::of_status(&before),
            };
            return Ok(Contents { bytes, status: before, version, start });
        }
        Err(FileError::Unstable)
    }
}
