//! The live process groups, and their registration with the orphan reaper over a pipe. They are
//! kept here too, so that a restarted reaper learns of all of them.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, pidfd_send_signal};

/// The registry of this process. It is locked during one write that cannot block, so that the
/// reaper sees the end of each group after its start, also while it is replaced.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

/// The live groups, and the reaper that must know of them.
#[derive(Debug)]
struct Registry {
    live: BTreeSet<i32>,
    reaper: Option<Reaper>,
}

/// A running orphan reaper.
#[derive(Debug)]
pub(crate) struct Reaper {
    /// The pipe for registrations. It closes when this process ends.
    pub(crate) pipe: Arc<OwnedFd>,
    /// Its pidfd: unlike a process id, it cannot be reused.
    pub(crate) process: OwnedFd,
}

/// Registers a group from within the new process itself, since the gateway may end before its next
/// step. One system call, no allocation. Returns whether the reaper will see it.
pub(crate) fn register_in_child(pipe: &OwnedFd, group: Pid) -> bool {
    write(pipe, group.as_raw_nonzero().get())
}

/// Records a group; `registered` is whether the reaper knows of it.
pub(crate) fn started(group: Pid, announced: bool) {
    registry().started(group.as_raw_nonzero().get(), announced);
}

/// Unregisters a group, whose id may be reused soon.
pub(crate) fn ended(group: Pid) {
    registry().ended(group.as_raw_nonzero().get());
}

/// Replaces the reaper, and registers all live groups with the new one.
pub(crate) fn attach(reaper: Reaper) {
    registry().attach(reaper);
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    const fn new() -> Self {
        Self { live: BTreeSet::new(), reaper: None }
    }

    fn started(&mut self, group: i32, announced: bool) {
        self.live.insert(group);
        if !announced {
            self.replace();
        }
    }

    fn ended(&mut self, group: i32) {
        self.live.remove(&group);
        if self.reaper.as_ref().is_some_and(|reaper| !write(&reaper.pipe, -group)) {
            self.replace();
        }
    }

    fn attach(&mut self, reaper: Reaper) {
        let is_informed = self.live.iter().all(|group| write(&reaper.pipe, *group));
        self.reaper = Some(reaper);
        if !is_informed {
            self.replace();
        }
    }

    /// Kills a reaper that has missed something, so that another is started and told everything:
    /// with a wrong list it would leave processes, or kill a group with a reused id.
    fn replace(&self) {
        if let Some(reaper) = &self.reaper {
            // An error means that it is dead already.
            let _ = pidfd_send_signal(&reaper.process, Signal::KILL);
        }
    }
}

/// The pipe does not block: a reaper that does not read must not block the gateway.
fn write(pipe: &OwnedFd, number: i32) -> bool {
    let bytes = number.to_ne_bytes();
    // Less than `PIPE_BUF`, so that it is written whole or not at all.
    rustix::io::write(pipe, &bytes).is_ok_and(|written| written == bytes.len())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use bytes::Bytes;
    use rustix::pipe::{PipeFlags, pipe_with};
    use rustix::process::{PidfdFlags, pidfd_open};

    use super::*;
    use crate::tests::{KILL, LONG, shell};
    use crate::{Child, ChildLimits, End};

    /// A process in the place of a reaper, with the two ends of its pipe.
    fn stand_in() -> (Child, Reaper, OwnedFd) {
        let child = Child::start(&shell("exec sleep 1000"), &ChildLimits::default()).unwrap();
        let id = Pid::from_raw(child.id().cast_signed()).unwrap();
        let process = pidfd_open(id, PidfdFlags::empty()).unwrap();
        let (read, pipe) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        (child, Reaper { pipe: Arc::new(pipe), process }, read)
    }

    fn fill(reaper: &Reaper) {
        while write(&reaper.pipe, 1) {}
    }

    #[tokio::test]
    async fn a_new_reaper_hears_of_all_that_are_alive() {
        let mut registry = Registry::new();
        registry.started(7, true);
        registry.started(8, false);
        registry.ended(7);
        let (_child, reaper, read) = stand_in();
        registry.attach(reaper);
        registry.ended(8);
        registry.started(9, true);
        drop(registry);
        let mut registered = Vec::new();
        std::fs::File::from(read).read_to_end(&mut registered).unwrap();
        let numbers = registered.chunks(4).map(|it| i32::from_ne_bytes(it.try_into().unwrap()));
        // What began after it was attached has announced itself.
        assert_eq!(numbers.collect::<Vec<_>>(), [8, -8]);
    }

    #[tokio::test]
    async fn a_reaper_that_misses_something_is_ended() {
        type Step = fn(&mut Registry, Reaper);
        let steps: [(&str, Step); 4] = [
            ("a beginning", |registry, reaper| {
                registry.attach(reaper);
                registry.started(7, false);
            }),
            ("an end, its pipe full", |registry, reaper| {
                fill(&reaper);
                registry.attach(reaper);
                registry.ended(7);
            }),
            ("all, its pipe full", |registry, reaper| {
                registry.started(7, true);
                fill(&reaper);
                registry.attach(reaper);
            }),
            ("an end, its pipe closed", |registry, reaper| {
                let closed = pipe_with(PipeFlags::CLOEXEC).unwrap().1;
                registry.attach(Reaper { pipe: Arc::new(closed), ..reaper });
                registry.ended(7);
            }),
        ];
        for (what, step) in steps {
            let (child, reaper, _read) = stand_in();
            step(&mut Registry::new(), reaper);
            let end = child.finish(Bytes::new(), LONG).await.end;
            assert_eq!(end, End::Signalled(KILL), "{what}");
        }
    }
}
