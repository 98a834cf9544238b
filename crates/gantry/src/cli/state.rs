//! The state directory: what must outlive a restart.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::exit::{Code, Exit};

/// The key that seals session ids, made on first use.
pub(crate) fn key() -> Result<[u8; 32], Exit> {
    let directory = directory()?;
    let failed = |what: &str, error: std::io::Error| {
        Exit::new(Code::Configuration, format!("cannot {what} {}: {error}", directory.display()))
            .hint("set XDG_STATE_HOME to a directory that can be written")
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .map_err(|error| failed("make the state directory", error))?;
    read_or_make(&directory.join("key")).map_err(|error| failed("keep the key in", error))
}

/// The address of the store.
pub(crate) fn store() -> Result<String, Exit> {
    Ok(format!("sqlite://{}", directory()?.join("gantry.db").display()))
}

fn directory() -> Result<PathBuf, Exit> {
    let given = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let base = given("XDG_STATE_HOME").or_else(|| given("HOME").map(|it| it.join(".local/state")));
    base.map(|base| base.join("gantry")).ok_or_else(|| {
        Exit::new(Code::Configuration, "there is no place for the state directory")
            .hint("set HOME or XDG_STATE_HOME")
    })
}

fn read_or_make(path: &Path) -> std::io::Result<[u8; 32]> {
    match read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => make(path),
        read => read,
    }
}

fn read(path: &Path) -> std::io::Result<[u8; 32]> {
    let mut key = [0; 32];
    File::open(path)?.read_exact(&mut key)?;
    Ok(key)
}

/// Two programs may start at once: the first to name its file wins, and both read the same key.
fn make(path: &Path) -> std::io::Result<[u8; 32]> {
    let mut fresh = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut fresh)?;
    let unique = path.with_extension(std::process::id().to_string());
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unique)?;
    file.write_all(&fresh)?;
    file.sync_all()?;
    let linked = std::fs::hard_link(&unique, path);
    std::fs::remove_file(&unique)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => read(path),
    }
}
