//! Keeps the orphan reaper informed of the process groups that are alive, over a pipe. The groups
//! are kept here too, so that a reaper that takes another's place learns of all of them.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, pidfd_send_signal};

/// The one registry of this process. It is locked for one write that cannot block, so that the
/// reaper hears of every end after its beginning, also while it is replaced.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

/// The groups that are alive, and who must know of them.
#[derive(Debug)]
struct Registry {
    live: BTreeSet<i32>,
    reaper: Option<Reaper>,
}

/// A running orphan reaper.
#[derive(Debug)]
pub(crate) struct Reaper {
    /// Where it is told of groups. It closes when this process ends.
    pub(crate) pipe: Arc<OwnedFd>,
    /// Its process descriptor: unlike a number, it can never mean another process.
    pub(crate) process: OwnedFd,
}

/// Tells the reaper of a group that has begun, from within the new process itself: the gateway may
/// end before its next step. It makes one system call and allocates nothing. Says whether the
/// reaper will hear of it.
pub(crate) fn announce(pipe: &OwnedFd, group: Pid) -> bool {
    write(pipe, group.as_raw_nonzero().get())
}

/// Remembers a group that has begun; `announced` is whether the reaper knows of it.
pub(crate) fn began(group: Pid, announced: bool) {
    registry().began(group.as_raw_nonzero().get(), announced);
}

/// Tells the reaper that the number of a group may soon belong to someone else.
pub(crate) fn ended(group: Pid) {
    registry().ended(group.as_raw_nonzero().get());
}

/// Puts a reaper in the place of the last one, and tells it of all groups that are alive.
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

    fn began(&mut self, group: i32, announced: bool) {
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

    /// Ends a reaper that has missed something, so that another is started and told everything: with
    /// a false picture it would leave processes, or kill a group that has a number anew.
    fn replace(&self) {
        if let Some(reaper) = &self.reaper {
            // It fails when the reaper is dead, which is as well.
            let _ = pidfd_send_signal(&reaper.process, Signal::KILL);
        }
    }
}

/// The pipe does not block: a reaper that does not read must not hold up the gateway.
fn write(pipe: &OwnedFd, number: i32) -> bool {
    let bytes = number.to_ne_bytes();
    // Fewer bytes than a pipe writes at once, so that they go in whole or not at all.
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
        registry.began(7, true);
        registry.began(8, false);
        registry.ended(7);
        let (_child, reaper, read) = stand_in();
        registry.attach(reaper);
        registry.ended(8);
        registry.began(9, true);
        drop(registry);
        let mut told = Vec::new();
        std::fs::File::from(read).read_to_end(&mut told).unwrap();
        let numbers = told.chunks(4).map(|it| i32::from_ne_bytes(it.try_into().unwrap()));
        // What began after it was attached has announced itself.
        assert_eq!(numbers.collect::<Vec<_>>(), [8, -8]);
    }

    #[tokio::test]
    async fn a_reaper_that_misses_something_is_ended() {
        type Step = fn(&mut Registry, Reaper);
        let steps: [(&str, Step); 4] = [
            ("a beginning", |registry, reaper| {
                registry.attach(reaper);
                registry.began(7, false);
            }),
            ("an end, its pipe full", |registry, reaper| {
                fill(&reaper);
                registry.attach(reaper);
                registry.ended(7);
            }),
            ("all, its pipe full", |registry, reaper| {
                registry.began(7, true);
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
