//! The state directory: what must outlive a restart.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gantry_policy::Token;

use crate::config::Config;
use crate::exit::{Code, Exit};

/// The key that seals session ids, made on first use.
pub(crate) fn key() -> Result<[u8; 32], Exit> {
    let kept = keep("key", |random| random.to_vec())?;
    kept.try_into().map_err(|_| spoilt("key"))
}

/// The token of who administers the gateway, made on first use.
pub(crate) fn token() -> Result<String, Exit> {
    let hexadecimal = |random: [u8; 32]| random.iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = keep(TOKEN, |random| String::into_bytes(hexadecimal(random)))?;
    let token = String::from_utf8(kept).map_err(|_| spoilt(TOKEN))?.trim().to_owned();
    if token.len() < 32 { Err(spoilt(TOKEN)) } else { Ok(token) }
}

const TOKEN: &str = "admin-token";

/// Where the token is.
pub(crate) fn token_file() -> Result<PathBuf, Exit> {
    Ok(directory()?.join(TOKEN))
}

/// The token of the user's own clients, made on first use.
pub(crate) fn client_token() -> Result<Token, Exit> {
    let kept = keep(CLIENT, |_| Token::random().expose().as_bytes().to_vec())?;
    let text = String::from_utf8(kept).unwrap_or_default();
    Token::parse(text.trim()).ok_or_else(|| spoilt(CLIENT))
}

/// The token of the user's own clients, if there is one.
pub(crate) fn find_client_token() -> Result<Option<Token>, Exit> {
    let text = std::fs::read_to_string(client_file()?).unwrap_or_default();
    Ok(Token::parse(text.trim()))
}

/// Where that token is.
pub(crate) fn client_file() -> Result<PathBuf, Exit> {
    Ok(directory()?.join(CLIENT))
}

const CLIENT: &str = "client-token";

/// A folder with a file for each address where a gateway of this state directory listens.
pub(crate) fn doors() -> Result<PathBuf, Exit> {
    Ok(directory()?.join("listening"))
}

/// Where tools are kept that were registered while the gateway ran.
pub(crate) fn tools() -> Result<PathBuf, Exit> {
    Ok(directory()?.join("tools"))
}

/// Where the last known lists of servers are kept.
pub(crate) fn servers() -> Result<PathBuf, Exit> {
    Ok(directory()?.join("servers"))
}

/// Where the record of calls is kept.
pub(crate) fn audit() -> Result<PathBuf, Exit> {
    Ok(directory()?.join("audit"))
}

/// Where pins are kept when no lock file stands beside the configuration.
pub(crate) fn pins() -> Result<PathBuf, Exit> {
    Ok(directory()?.join("pins"))
}

/// The address of the store.
pub(crate) fn store(config: Option<&Config>) -> Result<String, Exit> {
    match config.and_then(|config| config.state.clone()) {
        Some(address) => Ok(address),
        None => Ok(format!("sqlite://{}", directory()?.join("gantry.db").display())),
    }
}

/// What a file of the state directory holds, made from random bytes when it is not there.
fn keep(name: &str, make: impl FnOnce([u8; 32]) -> Vec<u8>) -> Result<Vec<u8>, Exit> {
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
    let kept = read_or_make(&directory.join(name), make);
    kept.map_err(|error| failed(&format!("keep the {name} in"), error))
}

fn spoilt(name: &str) -> Exit {
    let text = format!("the file `{name}` in the state directory is invalid");
    Exit::new(Code::Configuration, text).hint("remove it, and a new one is created")
}

/// The state directory.
pub(crate) fn directory() -> Result<PathBuf, Exit> {
    crate::config::state_folder(&crate::tool_sources::variable).ok_or_else(|| {
        Exit::new(Code::Configuration, "the place of the state directory is unknown")
            .hint("set HOME or XDG_STATE_HOME")
    })
}

fn read_or_make(path: &Path, make: impl FnOnce([u8; 32]) -> Vec<u8>) -> std::io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => begin(path, make),
        read => read,
    }
}

/// Two programs may start at once: the first to name its file wins, and both read the same.
fn begin(path: &Path, make: impl FnOnce([u8; 32]) -> Vec<u8>) -> std::io::Result<Vec<u8>> {
    let mut random = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let unique = path.with_extension(std::process::id().to_string());
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unique)?;
    file.write_all(&make(random))?;
    file.sync_all()?;
    let linked = std::fs::hard_link(&unique, path);
    std::fs::remove_file(&unique)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => std::fs::read(path),
    }
}
