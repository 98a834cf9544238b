//! The control socket of this gateway: how the command line reaches it without a token and without a
//! port that somebody else could listen on. One for each running gateway, HTTP or stdio.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener as StdListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gantry::Server;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use crate::admin::{Admin, Instance};
use crate::exit::Exit;
use crate::{state_dir, tool_sources};

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
        for directory in directories()? {
            match bind(&directory) {
                Ok((path, listener)) => {
                    tracing::debug!(path = %path.display(), "listening on the control socket");
                    let admin = admin.without_token().instance(instance);
                    let serving =
                        server.control(listener, (Admin::PREFIX, Arc::new(admin)), user()).serve();
                    return Ok(Self(Some((path, tokio::spawn(serving)))));
                }
                Err(error) => tracing::warn!(
                    directory = %directory.display(), %error,
                    "the control socket cannot be created in this directory"
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
    make_private(directory)?;
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
        std::iter::once(pid.to_string()).chain(numbered).map(|id| socket(directory, &id));
    let is_free = |path: &PathBuf| UnixStream::connect(path).is_err();
    paths.find(is_free).ok_or_else(|| io::Error::from(ErrorKind::AddrInUse))
}

/// Removes what gateways have left behind that were killed.
fn remove_left_over(directory: &Path) {
    for (_, path) in sockets(directory) {
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

/// How the name of a control socket ends.
const SUFFIX: &str = "sock";

/// Write permission of the group and of others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The user that this process acts for.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The directories that may hold the control socket of this process, the preferred one first. The last
/// is short, for when the paths of the others are longer than a socket address may be.
pub(crate) fn directories() -> Result<Vec<PathBuf>, Exit> {
    let state = state_dir::directory()?;
    Ok(own(&tool_sources::variable, &state, user()))
}

/// The directories in which gateways of this user may have their sockets. Those that were started in
/// another environment may have them elsewhere than this process would: a cron job has no
/// `XDG_RUNTIME_DIR`, and some clients pass on `HOME` and `PATH` alone.
pub(crate) fn searched() -> Result<Vec<PathBuf>, Exit> {
    let state = state_dir::directory()?;
    Ok(all(&tool_sources::variable, &state, user()))
}

fn own(variable: &dyn Fn(&str) -> Option<String>, state: &Path, user: u32) -> Vec<PathBuf> {
    let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|it| it.is_absolute()).map(|it| it.join("gantry"));
    let short = Path::new("/tmp").join(format!("gantry-{user}"));
    runtime.into_iter().chain([state.join("run"), short]).collect()
}

fn all(variable: &dyn Fn(&str) -> Option<String>, state: &Path, user: u32) -> Vec<PathBuf> {
    let runtime = Path::new("/run/user").join(user.to_string()).join("gantry");
    let only_home = |name: &str| variable(name).filter(|_| name == "HOME");
    let default_state = crate::config::state_folder(&only_home).map(|it| it.join("run"));
    let mut all = own(variable, state, user);
    for other in [runtime].into_iter().chain(default_state) {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

/// The path of the socket with this id.
pub(crate) fn socket(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!("{id}.{SUFFIX}"))
}

/// The sockets in a directory, with their ids. A directory that others can write to has none.
pub(crate) fn sockets(directory: &Path) -> Vec<(String, PathBuf)> {
    if !fs::symlink_metadata(directory).is_ok_and(|about| is_private(&about)) {
        return Vec::new();
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<(String, PathBuf)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == SUFFIX))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .filter(|(_, path)| fs::symlink_metadata(path).is_ok_and(|it| is_own_socket(&it)))
        .collect();
    found.sort();
    found
}

/// Makes a directory that only this user can use. One that exists must be this user's.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(directory)?;
    if !about.is_dir() || about.uid() != user() {
        let text = "the directory does not belong to the user who runs the gateway";
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    if about.mode() & 0o777 != 0o700 {
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn is_private(about: &Metadata) -> bool {
    about.is_dir() && about.uid() == user() && about.mode() & WRITABLE_BY_OTHERS == 0
}

fn is_own_socket(about: &Metadata) -> bool {
    about.file_type().is_socket() && about.uid() == user()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_of_other_environments_are_looked_for() {
        const SHORT: &str = "/tmp/gantry-7";
        // The variables, the state directory, and where gateways are looked for.
        type Case =
            (&'static [(&'static str, &'static str)], &'static str, &'static [&'static str]);
        let cases: [Case; 4] = [
            (
                &[("HOME", "/h")],
                "/h/.local/state/gantry",
                &["/h/.local/state/gantry/run", SHORT, "/run/user/7/gantry"],
            ),
            (
                &[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/user/7")],
                "/h/.local/state/gantry",
                &["/run/user/7/gantry", "/h/.local/state/gantry/run", SHORT],
            ),
            (
                &[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r"), ("XDG_STATE_HOME", "/s")],
                "/s/gantry",
                &[
                    "/r/gantry",
                    "/s/gantry/run",
                    SHORT,
                    "/run/user/7/gantry",
                    "/h/.local/state/gantry/run",
                ],
            ),
            (
                &[("XDG_RUNTIME_DIR", "r"), ("XDG_STATE_HOME", "/s")],
                "/s/gantry",
                &["/s/gantry/run", SHORT, "/run/user/7/gantry"],
            ),
        ];
        for (variables, state, expected) in cases {
            let variable = |name: &str| {
                let found = variables.iter().find(|(it, _)| *it == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let found = all(&variable, Path::new(state), 7);
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
            let own = own(&variable, Path::new(state), 7);
            assert!(found.starts_with(&own) && own.last().is_some_and(|it| *it == *SHORT));
        }
    }
}
