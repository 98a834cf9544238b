//! Starts the orphan reaper, watches it, and starts another when it ends. What the reaper does is in
//! `orphan_reaper`.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};
use tracing::warn;

use super::registry::{self, Reaper};
use crate::spawn;
use crate::spawn::linux::Spawner;

/// A reaper that lived this long was not ended by the way it was started: its successor comes at
/// once.
const STEADY: Duration = Duration::from_secs(10);

/// The wait before the next attempt, after the first failure and at most.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(60);

/// Failures in a row.
static FAILURES: AtomicU32 = AtomicU32::new(0);

/// Starts a reaper, if one is wanted, and gives its pipe. Without one, children still have their
/// parent-death signal, so that a failure here is no reason to start nothing.
pub(crate) fn start(spawner: &mut Spawner, inherited: &[RawFd]) -> Option<Arc<OwnedFd>> {
    match attempt(spawner, inherited) {
        Ok(started) => {
            let (id, pipe) = started?;
            watch(Some(id));
            Some(pipe)
        }
        Err(error) => {
            warn!(
                "the orphan reaper cannot be started: {error}; if this gateway is killed now, what \
                 its programs have started stays; check the limits on processes and open files"
            );
            watch(None);
            None
        }
    }
}

fn attempt(spawner: &mut Spawner, inherited: &[RawFd]) -> io::Result<Option<(Pid, Arc<OwnedFd>)>> {
    let Some((spawn_spec, pipe)) = super::spawn_spec()? else { return Ok(None) };
    let id = spawner.start(&spawn_spec, inherited, None)?.id;
    let process = pidfd_open(id, PidfdFlags::empty()).inspect_err(|_| {
        // Before its pipe closes: it would take that for the end of the gateway.
        let _ = kill_process(id, Signal::KILL);
        let _ = waitpid(Some(id), WaitOptions::empty());
    })?;
    let pipe = Arc::new(pipe);
    registry::attach(Reaper { pipe: pipe.clone(), process });
    Ok(Some((id, pipe)))
}

/// Waits for the end of a reaper on a thread of its own, and asks for the next.
fn watch(reaper: Option<Pid>) {
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
        thread::sleep(pause(reaper.is_some() && since.elapsed() >= STEADY));
        spawn::replace_reaper();
    };
    let name = "gantry-watch".to_owned();
    if let Err(error) = thread::Builder::new().name(name).spawn(wait) {
        warn!("the orphan reaper is not watched: {error}; it is not restarted if it ends");
    }
}

/// How long to wait before the next attempt: not at all after a steady life.
fn pause(was_steady: bool) -> Duration {
    if was_steady {
        FAILURES.store(0, Ordering::Relaxed);
        return Duration::ZERO;
    }
    let failures = FAILURES.fetch_add(1, Ordering::Relaxed);
    wait_after(failures)
}

fn wait_after(failures: u32) -> Duration {
    FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit() {
        let cases = [(0, 50), (1, 100), (4, 800), (11, 60_000), (u32::MAX, 60_000)];
        for (failures, milliseconds) in cases {
            assert_eq!(wait_after(failures), Duration::from_millis(milliseconds), "{failures}");
        }
    }
}
