//! Why a file could not be reached, read or written. Texts name the problem and what to do; whoever shows
//! them adds which file.

use std::io;

use rustix::io::Errno;

use crate::root::FileKind;
use crate::version::Version;

/// Why an operation on a file failed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("there is no such file")]
    NotFound,
    /// The path leads out of the root, through a link or otherwise.
    #[error("the path leads out of the root folder")]
    Outside,
    /// It is something else than a regular file.
    #[error("this is {0}, not a regular file")]
    NotAFile(FileKind),
    /// A folder on the way is something else.
    #[error("a folder in the path is not a folder")]
    NotAFolder,
    /// The last segment is a link.
    #[error("this is a symbolic link; write to the file that it leads to")]
    IsLink,
    /// Its name or path is longer than the file system allows.
    #[error("the path is too long for the file system")]
    NameTooLong,
    /// More bytes than may be read or written at once.
    #[error("{size} bytes exceed the limit of {limit} bytes; {advice}")]
    TooLarge {
        /// How large it is.
        size: u64,
        /// The limit.
        limit: u64,
        /// What to do.
        advice: &'static str,
    },
    /// The range does not lie in the file.
    #[error("the range begins at byte {start}, but the file has {size} bytes")]
    Range {
        /// Where it begins.
        start: u64,
        /// How large the file is.
        size: u64,
    },
    /// The file is not in the version that the writer had in mind.
    #[error("the file has changed: {}; read it again, then write", state_now(.found.as_ref()))]
    Conflict {
        /// Its version now; none if it does not exist.
        found: Option<Version>,
    },
    /// It changed during each of several tries.
    #[error("the file changes all the time; try again later")]
    Unstable,
    /// The user that runs the gateway may not.
    #[error("permission denied for the user that runs the gateway")]
    Denied,
    /// The file system cannot be written to.
    #[error("the file system is read-only")]
    ReadOnly,
    /// The file system or the quota is full.
    #[error("no space is left on the file system; nothing was changed")]
    NoSpace,
    /// The root is not where it was.
    #[error("the root folder was removed or replaced; restore it or change the configuration")]
    RootGone,
    /// The kernel cannot open files safely.
    #[error("the kernel lacks openat2 (Linux 5.6 or later is needed, or a container blocks it)")]
    Unsupported,
    /// Anything else.
    #[error("{0}")]
    Io(#[source] io::Error),
}

fn state_now(version: Option<&Version>) -> String {
    match version {
        Some(version) => format!("its version is now `{version}`"),
        None => "it does not exist any more".to_owned(),
    }
}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::NotFound,
            // What openat2 answers for a path that leaves the root, and for a magic link.
            Errno::XDEV | Errno::LOOP => Self::Outside,
            Errno::NOTDIR => Self::NotAFolder,
            Errno::ISDIR => Self::NotAFile(FileKind::Folder),
            // A socket that is opened.
            Errno::NXIO => Self::NotAFile(FileKind::Other),
            Errno::NAMETOOLONG => Self::NameTooLong,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::ROFS => Self::ReadOnly,
            Errno::NOSPC | Errno::DQUOT => Self::NoSpace,
            Errno::NOSYS => Self::Unsupported,
            other => Self::Io(other.into()),
        }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Self::Io(error),
        }
    }
}
