//! Writing and removing files. A file is written beside its place, synchronized, and renamed: a reader
//! sees the old content or the new one, also after a crash.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::error::FileError;
use crate::path::RelativePath;
use crate::root::{FileKind, FileStatus, Root};
use crate::version::Version;

/// How the name of a file begins that is being written. No scan lists it.
pub(crate) const TEMPORARY: &str = ".gantry-write-";
/// The folder at the root where removed files go, if they go anywhere.
pub(crate) const TRASH: &str = ".gantry-trash";
/// The largest file that is read to find out its version.
const COMPARED: u64 = 64 * 1024 * 1024;

/// Which state of the file a writer expects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Expected {
    /// Any.
    #[default]
    Any,
    /// It does not exist.
    Absent,
    /// It has this version.
    Version(Version),
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The version before; none if the file was created.
    pub before: Option<Version>,
    /// The version now.
    pub version: Version,
}

/// What becomes of a removed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is deleted.
    Delete,
    /// It is moved to the folder `.gantry-trash` of the root.
    Trash,
}

/// A file that is removed when dropped, unless it has been renamed.
struct Temporary<'a> {
    folder: BorrowedFd<'a>,
    name: String,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // It does not exist where the rename succeeded; where removing fails, it is hidden and unlisted.
        let _ = fs::unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

impl Root {
    /// Writes a file, and makes the folders in its path.
    pub fn write(
        &self,
        path: &RelativePath,
        content: &[u8],
        expected: &Expected,
    ) -> Result<Written, FileError> {
        let _guard = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (parent, name) = path.split();
        if *expected != Expected::Absent
            && let Expected::Version(_) = expected
            && self.open_folder(parent.as_ref()).is_err()
        {
            return Err(FileError::Conflict { found: None });
        }
        let folder = self.make_folder(parent.as_ref())?;
        let before = self.check(path, folder.as_fd(), name, expected)?;
        let (temporary, mut file) = create(folder.as_fd())?;
        file.write_all(content).map_err(FileError::from)?;
        if let Some((status, _)) = &before {
            keep_attributes(&file, status)?;
        }
        file.sync_all().map_err(FileError::from)?;
        let flags = match before {
            Some(_) => RenameFlags::empty(),
            // Somebody else may create it at this moment.
            None => RenameFlags::NOREPLACE,
        };
        match fs::renameat_with(&folder, &temporary.name, &folder, name, flags) {
            Err(Errno::EXIST) => {
                return Err(FileError::Conflict { found: self.version(path).ok() });
            }
            renamed => renamed?,
        }
        // The name is safe on the disk only with its folder; the content is in place in any case.
        let _ = fs::fsync(&folder);
        Ok(Written {
            before: before.map(|(_, version)| version),
            version: Version::of_content(content),
        })
    }

    /// Removes a file, or a link, and tells its last version.
    pub fn remove(
        &self,
        path: &RelativePath,
        expected: &Expected,
        removal: Removal,
    ) -> Result<Version, FileError> {
        let _guard = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (parent, name) = path.split();
        let folder = self.open_folder(parent.as_ref())?;
        let before = self.check(path, folder.as_fd(), name, expected)?;
        let (_, version) = before.ok_or(FileError::NotFound)?;
        match removal {
            Removal::Delete => fs::unlinkat(&folder, name, AtFlags::empty())?,
            Removal::Trash => self.to_trash(&folder, name)?,
        }
        let _ = fs::fsync(&folder);
        Ok(version)
    }

    /// The version of a file: of its content, unless it is very large.
    pub fn version(&self, path: &RelativePath) -> Result<Version, FileError> {
        match self.read(path, None, COMPARED) {
            Ok(contents) => Ok(contents.version),
            Err(FileError::TooLarge { .. }) => Ok(Version::of_status(&self.status(path)?)),
            Err(error) => Err(error),
        }
    }

    /// What stands there, if it is what the writer expects.
    fn check(
        &self,
        path: &RelativePath,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        expected: &Expected,
    ) -> Result<Option<(FileStatus, Version)>, FileError> {
        let Some(status) = Self::entry(folder, name)? else {
            return match expected {
                Expected::Version(_) => Err(FileError::Conflict { found: None }),
                Expected::Any | Expected::Absent => Ok(None),
            };
        };
        match status.kind {
            FileKind::File => {}
            FileKind::Link => return Err(FileError::IsLink),
            other => return Err(FileError::NotAFile(other)),
        }
        let found = self.version(path)?;
        let is_expected = match expected {
            Expected::Any => true,
            Expected::Absent => false,
            Expected::Version(version) if version.is_of_content() => *version == found,
            Expected::Version(version) => *version == Version::of_status(&status),
        };
        match is_expected {
            true => Ok(Some((status, found))),
            false => Err(FileError::Conflict { found: Some(found) }),
        }
    }

    fn to_trash(&self, folder: &OwnedFd, name: &OsStr) -> Result<(), FileError> {
        let trash = RelativePath::new(TRASH).map_err(|_| FileError::NotFound)?;
        let trash = self.make_folder(Some(&trash))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut kept =
            std::ffi::OsString::from(format!("{}-{:08x}-", now.as_secs(), rand::random::<u32>()));
        kept.push(name);
        Ok(fs::renameat_with(folder, name, &trash, &kept, RenameFlags::NOREPLACE)?)
    }
}

/// A new file in a folder, under a name that nobody uses.
fn create(folder: BorrowedFd<'_>) -> Result<(Temporary<'_>, File), FileError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = format!("{TEMPORARY}{:016x}", rand::random::<u64>());
    let file = fs::openat(folder, &name, flags, Mode::from_raw_mode(0o666))?;
    Ok((Temporary { folder, name }, File::from(file)))
}

/// Gives a file the permissions and, where the system lets it, the owner of the one that it replaces.
fn keep_attributes(file: &File, status: &FileStatus) -> Result<(), FileError> {
    let (user, group) = status.owner;
    let (user, group) = (fs::Uid::from_raw(user), fs::Gid::from_raw(group));
    match fs::fchown(file, Some(user), Some(group)) {
        // Only root may give files away.
        Ok(()) | Err(Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    // After the owner, whose change takes special bits away.
    fs::fchmod(file, Mode::from_raw_mode(status.mode)).map_err(io::Error::from)?;
    Ok(())
}
