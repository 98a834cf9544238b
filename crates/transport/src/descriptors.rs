//! The limit of open files (`RLIMIT_NOFILE`). A server raises its own; children get back the
//! inherited one, because programs that use `select` break above 1,024 descriptors.

use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than any server here can use. Some systems have no hard limit worth the name, and the
/// kernel refuses what is above its own.
const MOST: u64 = 1 << 20;

/// The limit that this process was started with, if it was changed.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit to the hard one. Gives what is in force then.
pub fn raise() -> Result<u64, Errno> {
    let inherited = getrlimit(Resource::Nofile);
    let target = inherited.maximum.unwrap_or(MOST).min(MOST);
    if inherited.current.is_none_or(|current| current >= target) {
        return Ok(limit());
    }
    // Before it changes: a child that is started right after must find it.
    let _ = INHERITED.set(inherited);
    setrlimit(Resource::Nofile, Rlimit { current: Some(target), ..inherited })?;
    Ok(limit())
}

/// How many files may be open at once.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The limit that a child process must get back; none if it was not changed.
pub fn inherited() -> Option<Rlimit> {
    INHERITED.get().copied()
}
