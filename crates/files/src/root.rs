//! A root folder and how files below it are opened: by the kernel with `openat2` and `RESOLVE_BENEATH`,
//! from a descriptor of the root. A check of path strings could be passed by a link that is exchanged
//! between the check and the use.

use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::error::FileError;
use crate::path::RelativePath;

/// How often an open is repeated that met a rename in its path.
const TRIES: usize = 32;

/// A folder, and a descriptor of it that stays on it if it is renamed.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    folder: OwnedFd,
    /// Held while a file is replaced or removed, so that of two writers that expect the same version only
    /// one succeeds.
    pub(crate) writing: Mutex<()>,
}

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, FIFO or socket.
    Other,
}

/// What the file system tells of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// When its content changed, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// When its content, name or permissions changed.
    pub changed_ns: i128,
    /// Its number in the file system.
    pub inode: u64,
    /// The number of the file system.
    pub device: u64,
    /// Its permissions.
    pub(crate) mode: u32,
    /// Its owner and group.
    pub(crate) owner: (u32, u32),
}

impl Root {
    /// Opens a root. The path may be relative and may have links; [`Root::path`] has none.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let path = path.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = fs::open(&path, flags, Mode::empty())?;
        let root = Self { path, folder, writing: Mutex::new(()) };
        // Found out now rather than with each file.
        root.open_at(Path::new("."), OFlags::PATH, Mode::empty())?;
        Ok(root)
    }

    /// Where it is, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still leads to this folder.
    pub fn is_in_place(&self) -> bool {
        let same = |here: Stat, there: Stat| {
            (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino) && here.st_nlink > 0
        };
        match (fs::fstat(&self.folder), fs::lstat(&self.path)) {
            (Ok(here), Ok(there)) => same(here, there),
            _ => false,
        }
    }

    /// What something below the root is. A link that stays below the root is followed.
    pub fn status(&self, path: &RelativePath) -> Result<FileStatus, FileError> {
        let file = self.open_at(path.as_path(), OFlags::PATH, Mode::empty())?;
        Ok(FileStatus::of(&fs::fstat(&file)?))
    }

    /// Opens a regular file for reading.
    pub fn open_file(&self, path: &RelativePath) -> Result<(File, FileStatus), FileError> {
        for _ in 0..TRIES {
            // Looked at first: to open a device may do something, and to open a FIFO may wait.
            let seen = self.status(path)?;
            if seen.kind != FileKind::File {
                return Err(FileError::NotAFile(seen.kind));
            }
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let file = self.open_at(path.as_path(), flags, Mode::empty())?;
            let status = FileStatus::of(&fs::fstat(&file)?);
            if (status.device, status.inode) == (seen.device, seen.inode) {
                return Ok((File::from(file), status));
            }
        }
        Err(FileError::Unstable)
    }

    /// Opens a folder below the root, or the root, to look at what is in it.
    pub(crate) fn open_folder(&self, path: Option<&RelativePath>) -> Result<OwnedFd, FileError> {
        let path = path.map_or(Path::new("."), RelativePath::as_path);
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    }

    /// Opens a folder below the root, and makes those in its path that do not exist.
    pub(crate) fn make_folder(&self, path: Option<&RelativePath>) -> Result<OwnedFd, FileError> {
        match self.open_folder(path) {
            Err(FileError::NotFound) => {}
            opened => return opened,
        }
        let Some(path) = path else {
            return Err(FileError::RootGone);
        };
        let (parent, name) = path.split();
        let parent = self.make_folder(parent.as_ref())?;
        match fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.open_folder(Some(path)),
            Err(error) => Err(error.into()),
        }
    }

    /// What stands in a folder under a name, without following a link; none if nothing does.
    pub(crate) fn entry(
        folder: BorrowedFd<'_>,
        name: &std::ffi::OsStr,
    ) -> Result<Option<FileStatus>, FileError> {
        match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileStatus::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn open_at(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, FileError> {
        // Magic links (`/proc/self/fd/3`) name what no path names.
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES {
            let folder = self.folder.as_fd();
            match fs::openat2(folder, path, flags | OFlags::CLOEXEC, mode, resolve) {
                // A rename at the same moment: the kernel cannot say whether the path stays below.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOENT) if !self.is_in_place() => return Err(FileError::RootGone),
                opened => return Ok(opened?),
            }
        }
        Err(FileError::Unstable)
    }
}

impl FileStatus {
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanoseconds =
            |seconds: i64, rest: u64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Folder,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        };
        Self {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
            device: stat.st_dev,
            mode: stat.st_mode & 0o7777,
            owner: (stat.st_uid, stat.st_gid),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::File => "a regular file",
            Self::Folder => "a folder",
            Self::Link => "a symbolic link",
            Self::Other => "a device, FIFO or socket",
        })
    }
}
