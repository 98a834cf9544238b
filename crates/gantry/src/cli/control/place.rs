//! Where control sockets are kept: in a directory that belongs to this user and that nobody else can
//! write to. The one place that knows user ids and file modes.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::cli::exit::Exit;
use crate::cli::{state, tool_sources};

/// How the name of a control socket ends.
const SUFFIX: &str = "sock";

/// Write permission of the group and of others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The user that this process acts for.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The directories that may hold control sockets of this user, the preferred one first. The last is
/// short, for when the paths of the others are longer than a socket address may be.
pub(crate) fn directories() -> Result<Vec<PathBuf>, Exit> {
    let runtime = tool_sources::variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|it| it.is_absolute()).map(|it| it.join("gantry"));
    let short = Path::new("/tmp").join(format!("gantry-{}", user()));
    Ok(runtime.into_iter().chain([state::directory()?.join("run"), short]).collect())
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
        let text = "it is not a directory of the user who runs the gateway";
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
