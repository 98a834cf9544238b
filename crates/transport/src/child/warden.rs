//! A small process that outlives this one, however it ends, and then ends whatever it has left.
//! The parent-death signal reaches the children only; their own children are reached by this.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::pipe::{PipeFlags, pipe_with};

use super::plan::{Bond, Plan};
use super::spawn::above;
use super::{Program, mark};

/// Between two looks for processes that are still there.
const PAUSE: Duration = Duration::from_millis(5);

/// The word that makes this program a warden.
static WORD: OnceLock<&'static str> = OnceLock::new();

/// Has a warden started when the first child is: this same program, with `word` and a second word
/// as its arguments, which must then call [`stand_guard`] with the second.
pub fn guard_with(word: &'static str) {
    // Only the first one counts: a warden may be there already.
    let _ = WORD.set(word);
}

/// What a warden does: waits until its gateway is gone, by whatever end, and kills every process
/// that belonged to it. It returns when none is left.
pub fn stand_guard(owner: &str) {
    // Nothing is ever written; the other end closes when the gateway ends.
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    while mark::kill_owned(owner) > 0 {
        sleep(PAUSE);
    }
}

/// What starts the warden, and the end of the pipe that it watches; nothing if none is wanted.
pub(super) fn plan() -> io::Result<Option<(Plan, OwnedFd)>> {
    let Some(word) = WORD.get() else { return Ok(None) };
    let (watched, held) = pipe_with(PipeFlags::CLOEXEC)?;
    let null = || open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let descriptors = vec![above(watched)?, above(null()?)?, above(null()?)?];
    // The file may have been replaced by a newer one since; the kernel still has this one.
    let own = std::env::current_exe().ok().filter(|it| it.exists());
    let program = Program {
        program: own.unwrap_or_else(|| PathBuf::from("/proc/self/exe")),
        args: vec![(*word).to_owned(), mark::owner().to_owned()],
        env: Vec::new(),
        directory: Some(PathBuf::from("/")),
        memory: None,
    };
    Ok(Some((Plan::new(&program, &[], descriptors, Bond::Warden)?, held)))
}
