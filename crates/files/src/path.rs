//! Paths below a root, as text that was checked. The check refuses what has no place in a path; that a
//! path does not leave the root is ensured when it is opened, not here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The longest path that Linux takes in one call, its closing NUL included.
const LONGEST: usize = 4096;

/// A path below a root: at least one segment, none of them empty, `.` or `..`, and no NUL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(OsString);

/// Why something is not a path below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It names nothing.
    #[error("the path is empty")]
    Empty,
    /// It begins at the root of the file system.
    #[error("the path is absolute")]
    Absolute,
    /// A segment is `.` or `..`.
    #[error("the path has a `.` or `..` segment")]
    DotSegment,
    /// A segment has no characters.
    #[error("the path has an empty segment (`//`, or `/` at its end)")]
    EmptySegment,
    /// A NUL would end it early.
    #[error("the path has a NUL character")]
    Nul,
    /// It is longer than the system takes.
    #[error("the path is too long")]
    TooLong,
}

impl RelativePath {
    /// Checks a path.
    pub fn new(path: impl Into<OsString>) -> Result<Self, PathError> {
        let path = path.into();
        let bytes = path.as_bytes();
        match bytes {
            [] => return Err(PathError::Empty),
            [b'/', ..] => return Err(PathError::Absolute),
            _ if bytes.contains(&0) => return Err(PathError::Nul),
            _ if bytes.len() >= LONGEST => return Err(PathError::TooLong),
            _ => {}
        }
        for segment in bytes.split(|byte| *byte == b'/') {
            match segment {
                b"" => return Err(PathError::EmptySegment),
                b"." | b".." => return Err(PathError::DotSegment),
                _ => {}
            }
        }
        Ok(Self(path))
    }

    /// The path as the system takes it.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Its bytes, which need not be UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The folder that it lies in, none if that is the root, and its last segment.
    pub fn split(&self) -> (Option<Self>, &OsStr) {
        let bytes = self.0.as_bytes();
        match bytes.iter().rposition(|byte| *byte == b'/') {
            None => (None, &self.0),
            Some(at) => {
                let parent = Self(OsStr::from_bytes(&bytes[..at]).to_owned());
                (Some(parent), OsStr::from_bytes(&bytes[at + 1..]))
            }
        }
    }

    /// The path of something in this folder.
    pub fn join(folder: Option<&Self>, name: &OsStr) -> Result<Self, PathError> {
        let mut path = folder.map_or_else(OsString::new, |folder| folder.0.clone());
        if folder.is_some() {
            path.push("/");
        }
        path.push(name);
        Self::new(path)
    }

    /// Whether a segment begins with a dot.
    pub fn is_hidden(&self) -> bool {
        self.as_bytes().split(|byte| *byte == b'/').any(|segment| segment.starts_with(b"."))
    }
}

impl std::fmt::Display for RelativePath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_path().display().fmt(formatter)
    }
}
