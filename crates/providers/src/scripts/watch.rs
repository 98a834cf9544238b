//! Watches folders with inotify, for hot reload of tools and of the configuration. inotify says
//! that something happened, not what; the caller compares fingerprints.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::net::unix::pipe::Receiver;

/// What may make a tool, change one or take one away. A file that is being written counts when it
/// is closed.
const WATCHED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB);

/// A watch on folders, with the queue from which the kernel's
/// messages are read. It is read like a pipe, and this is the runtime's safe way to own one.
#[derive(Debug)]
pub struct Watch(Receiver);

impl Watch {
    /// Watches nothing yet. Needs a runtime with sockets.
    pub fn new() -> io::Result<Self> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self(Receiver::from_owned_fd_unchecked(descriptor)?))
    }

    /// Watches folders and those right below them, as they are there now; what is watched already
    /// stays so.
    pub(super) fn add(&self, folders: &[PathBuf]) -> io::Result<()> {
        for folder in folders {
            self.add_one(folder)?;
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    self.add_one(&entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// Watches one folder, if it is there.
    pub fn add_one(&self, folder: &Path) -> io::Result<()> {
        match inotify::add_watch(&self.0, folder, WATCHED) {
            // One that has just gone away, or cannot be read, has nothing to tell.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS) => Ok(()),
            added => Ok(added.map(drop)?),
        }
    }

    /// Waits until something has happened. What it was does not matter: all is looked at again.
    pub async fn changed(&self) -> io::Result<()> {
        let mut events = [0; 4096];
        loop {
            self.0.readable().await?;
            match self.0.try_read(&mut events) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}
