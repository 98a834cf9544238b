//! The control socket of this gateway: how the command line reaches it without a token and without a
//! port that somebody else could listen on. One for each running gateway, HTTP or stdio.

pub(crate) mod place;

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gantry::{Admin, Instance, Server};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use super::exit::Exit;

/// How long the file of a socket that is being set up may exist before it counts as left over.
const SETTING_UP: Duration = Duration::from_secs(60);

/// Gateways that may have the same process id, in different containers that share a directory.
const SAME_ID: usize = 16;

/// A control socket that is being served. Its file is removed when this is dropped; a gateway that is
/// killed leaves it behind, and the next one to look removes it.
#[derive(Debug)]
pub(crate) struct Control(Option<(PathBuf, JoinHandle<()>)>);

impl Control {
    /// Serves administration on a control socket from now on. A gateway that cannot have one still
    /// serves its clients.
    pub(crate) fn open(server: &Server, admin: Admin, instance: Instance) -> Result<Self, Exit> {
        for directory in place::directories()? {
            match bind(&directory) {
                Ok((path, listener)) => {
                    tracing::debug!(path = %path.display(), "listening on the control socket");
                    let admin = admin.without_token().instance(instance);
                    let serving = server.control(listener, admin, place::user()).serve();
                    return Ok(Self(Some((path, tokio::spawn(serving)))));
                }
                Err(error) => tracing::warn!(
                    directory = %directory.display(), %error,
                    "cannot have the control socket in this directory"
                ),
            }
        }
        tracing::warn!(
            "there is no control socket: `gantry approve`, `status` and the like cannot reach this \
             gateway; set XDG_RUNTIME_DIR to a short path that only you can write to"
        );
        Ok(Self(None))
    }

    /// Waits for requests in progress. The server must have been told to stop.
    pub(crate) async fn stop(mut self) {
        if let Some((path, serving)) = self.0.take() {
            remove(&path);
            let _ = serving.await;
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if let Some((path, serving)) = &self.0 {
            remove(path);
            serving.abort();
        }
    }
}

/// Listens in a directory. The socket appears under its name when it can be connected to, so that
/// nobody takes one that is being set up for one that was left behind.
fn bind(directory: &Path) -> io::Result<(PathBuf, UnixListener)> {
    let pid = std::process::id();
    let draft = directory.join(format!("{pid}.new"));
    place::make_private(directory)?;
    remove_left_over(directory);
    let path = free(directory, pid)?;
    // A path that is too long is refused here, before anything is made.
    SocketAddr::from_pathname(&path)?;
    remove(&draft);
    let listener = StdListener::bind(&draft)?;
    let named = fs::set_permissions(&draft, Permissions::from_mode(0o600))
        .and_then(|()| fs::rename(&draft, &path))
        .and_then(|()| listener.set_nonblocking(true))
        .and_then(|()| UnixListener::from_std(listener));
    match named {
        Ok(listener) => Ok((path, listener)),
        Err(error) => {
            remove(&draft);
            remove(&path);
            Err(error)
        }
    }
}

/// A path on which nobody listens.
fn free(directory: &Path, pid: u32) -> io::Result<PathBuf> {
    let numbered = (2..=SAME_ID).map(|number| format!("{pid}-{number}"));
    let mut paths =
        std::iter::once(pid.to_string()).chain(numbered).map(|id| place::socket(directory, &id));
    let is_free = |path: &PathBuf| UnixStream::connect(path).is_err();
    paths.find(is_free).ok_or_else(|| io::Error::from(ErrorKind::AddrInUse))
}

/// Removes what gateways have left behind that were killed.
fn remove_left_over(directory: &Path) {
    for (_, path) in place::sockets(directory) {
        if UnixStream::connect(&path).is_err_and(|error| is_stale(&error)) {
            remove(&path);
        }
    }
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    for file in files.filter(|file| file.path().extension().is_some_and(|it| it == "new")) {
        let age =
            file.metadata().and_then(|it| it.modified()).ok().and_then(|it| it.elapsed().ok());
        if age.is_some_and(|age| age > SETTING_UP) {
            remove(&file.path());
        }
    }
}

/// Whether an error says that nobody listens any more.
pub(crate) fn is_stale(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionRefused
}

/// Removes the file of a socket. One that is gone already is as good.
pub(crate) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}
