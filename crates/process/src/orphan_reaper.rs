//! The orphan reaper: a small process that outlives this one, however it ends, and kills what it
//! has left. The parent-death signal reaches children, but not grandchildren. The reaper is started
//! before the first child with a pipe on which every process group is registered and unregistered,
//! and which closes when this process ends; then it kills all registered groups, and all processes
//! with the owner tag. A process that was started with a cleared environment in a group of its own
//! escapes both.
//!
//! This process watches the reaper: if it dies, or misses a registration because it does not read,
//! another is started and told of every live group (`registry`). Without a reaper programs still
//! start.

pub(crate) mod registry;

use std::collections::HashSet;
use std::io::{self, Read};
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, waitpid,
};
use tracing::warn;

use self::registry::Reaper;
use crate::command::Program;
use crate::spawn::linux::Spawner;
use crate::spawn::linux::{ParentLink, SpawnSpec};
use crate::spawn::move_above_child_fds;
use crate::{group, spawn};

/// Between two searches for processes that are still there.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The argument that makes this program an orphan reaper.
static REAPER_ARGUMENT: OnceLock<&'static str> = OnceLock::new();

/// Enables the orphan reaper, started before the first child: this same program, with `argument`
/// and a second argument, with which it must call [`run_orphan_reaper`].
pub fn enable_orphan_reaper(argument: &'static str) {
    // The first call wins: a reaper may run already.
    let _ = REAPER_ARGUMENT.set(argument);
}

/// Runs as the orphan reaper: waits until the gateway has ended, and kills every registered group
/// and every process with its owner tag. Returns when none is left.
pub fn run_orphan_reaper(owner: &str) {
    for group in remaining(io::stdin().lock()) {
        // An error means that the group is empty.
        let _ = kill_process_group(group, Signal::KILL);
    }
    while group::kill_owned(owner) > 0 {
        sleep(POLL_INTERVAL);
    }
}

/// The groups that were registered and not unregistered when the gateway ended.
fn remaining(mut registrations: impl Read) -> HashSet<Pid> {
    let mut groups = HashSet::new();
    let mut number = [0; size_of::<i32>()];
    while registrations.read_exact(&mut number).is_ok() {
        let number = i32::from_ne_bytes(number);
        match (number.checked_abs().and_then(Pid::from_raw), number > 0) {
            (Some(group), true) => drop(groups.insert(group)),
            (Some(group), false) => drop(groups.remove(&group)),
            (None, _) => {}
        }
    }
    groups
}

/// The spec of the reaper process and our end of its pipe; none if it is not enabled.
pub(crate) fn spawn_spec() -> io::Result<Option<(SpawnSpec, OwnedFd)>> {
    let Some(argument) = REAPER_ARGUMENT.get() else { return Ok(None) };
    let (reaper_end, registry_end) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&registry_end, OFlags::NONBLOCK)?;
    let null = || open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let descriptors = vec![
        move_above_child_fds(reaper_end)?,
        move_above_child_fds(null()?)?,
        move_above_child_fds(null()?)?,
    ];
    // The file may have been replaced by an update; the kernel still has this one.
    let own = std::env::current_exe().ok().filter(|it| it.exists());
    let program = Program {
        program: own.unwrap_or_else(|| PathBuf::from("/proc/self/exe")),
        args: vec![(*argument).to_owned(), group::owner().to_owned()],
        env: Vec::new(),
        directory: Some(PathBuf::from("/")),
        memory: None,
    };
    Ok(Some((SpawnSpec::new(&program, &[], descriptors, ParentLink::OrphanReaper)?, registry_end)))
}

/// A reaper that lived this long did not die of its start, and is replaced at once.
const STEADY: Duration = Duration::from_secs(10);

/// The delays before a restart: the first one, and the longest.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(60);

/// Consecutive failures.
static FAILURES: AtomicU32 = AtomicU32::new(0);

/// Starts the reaper, if enabled, and returns its pipe. Without one, children still have their
/// parent-death signal, so a failure here must not prevent a spawn.
pub(crate) fn start_reaper(spawner: &mut Spawner, inherited: &[RawFd]) -> Option<Arc<OwnedFd>> {
    match try_start_reaper(spawner, inherited) {
        Ok(started) => {
            let (id, pipe) = started?;
            watch_reaper(Some(id));
            Some(pipe)
        }
        Err(error) => {
            warn!(
                "the orphan reaper cannot be started: {error}; if this gateway is killed now, what \
                 its programs have started stays; check the limits on processes and open files"
            );
            watch_reaper(None);
            None
        }
    }
}

fn try_start_reaper(
    spawner: &mut Spawner,
    inherited: &[RawFd],
) -> io::Result<Option<(Pid, Arc<OwnedFd>)>> {
    let Some((spawn_spec, pipe)) = spawn_spec()? else { return Ok(None) };
    let id = spawner.start(&spawn_spec, inherited, None)?.id;
    let process = pidfd_open(id, PidfdFlags::empty()).inspect_err(|_| {
        // Before its pipe closes, which it would take for the end of the gateway.
        let _ = kill_process(id, Signal::KILL);
        let _ = waitpid(Some(id), WaitOptions::empty());
    })?;
    let pipe = Arc::new(pipe);
    registry::attach(Reaper { pipe: pipe.clone(), process });
    Ok(Some((id, pipe)))
}

/// Watchdog: waits for the exit of the reaper on a thread of its own, and requests the next.
fn watch_reaper(reaper: Option<Pid>) {
    let wait = move || {
        let since = Instant::now();
        if let Some(id) = reaper {
            let status = waitpid(Some(id), WaitOptions::empty());
            let how = match status.ok().flatten().map(|(_, status)| status) {
                Some(status) if status.signaled() => {
                    format!("by signal {}", status.terminating_signal().unwrap_or_default())
                }
                Some(status) => format!("with status {}", status.exit_status().unwrap_or_default()),
                None => "in an unknown way".to_owned(),
            };
            warn!("the orphan reaper (process {id}) ended {how}; starting another");
        }
        sleep(restart_delay(reaper.is_some() && since.elapsed() >= STEADY));
        spawn::replace_reaper();
    };
    let name = "gantry-watch".to_owned();
    if let Err(error) = thread::Builder::new().name(name).spawn(wait) {
        warn!("the orphan reaper is not watched: {error}; it is not restarted if it ends");
    }
}

/// The delay before a restart: none after a long life.
fn restart_delay(was_steady: bool) -> Duration {
    if was_steady {
        FAILURES.store(0, Ordering::Relaxed);
        return Duration::ZERO;
    }
    let failures = FAILURES.fetch_add(1, Ordering::Relaxed);
    delay_after(failures)
}

fn delay_after(failures: u32) -> Duration {
    FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST)
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
        for (registrations, expected) in cases {
            let bytes: Vec<u8> =
                registrations.iter().flat_map(|number| number.to_ne_bytes()).collect();
            let expected: HashSet<_> =
                expected.iter().filter_map(|it| Pid::from_raw(*it)).collect();
            assert_eq!(remaining(&bytes[..]), expected, "{registrations:?}");
        }
    }
}

#[cfg(test)]
mod supervisor_tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit() {
        let cases = [(0, 50), (1, 100), (4, 800), (11, 60_000), (u32::MAX, 60_000)];
        for (failures, milliseconds) in cases {
            assert_eq!(delay_after(failures), Duration::from_millis(milliseconds), "{failures}");
        }
    }
}
