//! A small process that outlives this one, however it ends, and then ends whatever it has left.
//! The parent-death signal reaches the children only; their own children are reached by this.

pub(crate) mod registry;
pub(crate) mod supervisor;

use std::collections::HashSet;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::command::Program;
use crate::owner_tag;
use crate::spawn::above;
use crate::spawn::spec::{ParentLink, SpawnSpec};

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
/// that belonged to it: all groups that it had, and all who carry its mark. It returns when none is
/// left.
pub fn stand_guard(owner: &str) {
    for group in remaining(io::stdin().lock()) {
        // It fails when the group is empty, which is as well.
        let _ = kill_process_group(group, Signal::KILL);
    }
    while owner_tag::kill_owned(owner) > 0 {
        sleep(PAUSE);
    }
}

/// The groups that had begun and not ended when the gateway did.
fn remaining(mut told: impl Read) -> HashSet<Pid> {
    let mut groups = HashSet::new();
    let mut number = [0; size_of::<i32>()];
    while told.read_exact(&mut number).is_ok() {
        let number = i32::from_ne_bytes(number);
        match (number.checked_abs().and_then(Pid::from_raw), number > 0) {
            (Some(group), true) => drop(groups.insert(group)),
            (Some(group), false) => drop(groups.remove(&group)),
            (None, _) => {}
        }
    }
    groups
}

/// What starts the warden, and the end of the pipe that it watches; nothing if none is wanted.
pub(crate) fn spawn_spec() -> io::Result<Option<(SpawnSpec, OwnedFd)>> {
    let Some(word) = WORD.get() else { return Ok(None) };
    let (watched, held) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&held, OFlags::NONBLOCK)?;
    let null = || open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let descriptors = vec![above(watched)?, above(null()?)?, above(null()?)?];
    // The file may have been replaced by a newer one since; the kernel still has this one.
    let own = std::env::current_exe().ok().filter(|it| it.exists());
    let program = Program {
        program: own.unwrap_or_else(|| PathBuf::from("/proc/self/exe")),
        args: vec![(*word).to_owned(), owner_tag::owner().to_owned()],
        env: Vec::new(),
        directory: Some(PathBuf::from("/")),
        memory: None,
    };
    Ok(Some((SpawnSpec::new(&program, &[], descriptors, ParentLink::Warden)?, held)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_have_not_ended_remain() {
        let cases: [(&[i32], &[i32]); 5] = [
            (&[], &[]),
            (&[7, 8], &[7, 8]),
            (&[7, 8, -7], &[8]),
            (&[7, -7, 7], &[7]),
            (&[0, -9, i32::MIN, 5], &[5]),
        ];
        for (told, expected) in cases {
            let bytes: Vec<u8> = told.iter().flat_map(|number| number.to_ne_bytes()).collect();
            let expected: HashSet<_> =
                expected.iter().filter_map(|it| Pid::from_raw(*it)).collect();
            assert_eq!(remaining(&bytes[..]), expected, "{told:?}");
        }
    }
}
