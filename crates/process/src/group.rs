//! The process group of one child: signals to all of it, reaping, and the owner tag by which
//! processes that have left the group are found.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, mpsc};
use std::{io, thread};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid, waitpid,
};
use tokio::net::unix::pipe::Receiver;

use crate::memory::memory_of;
use crate::orphan_reaper::registry;

/// The reaper thread: leaders that were killed but have not exited yet, and tags whose processes
/// may have left their group.
static REAPER: LazyLock<mpsc::Sender<Leftover>> = LazyLock::new(|| {
    let (sender, leftovers) = mpsc::channel();
    let _ = thread::Builder::new().name("gantry-reaper".into()).spawn(move || reap_all(&leftovers));
    sender
});

/// How often tagged processes are searched for. Each search finds what the last ones had just
/// started.
const SEARCHES: usize = 10;

/// What may be left of a group.
struct Leftover {
    /// The leader, if it is not reaped.
    leader: Option<Pid>,
    owner_tag: OwnerTag,
}

/// A child that leads a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    /// Before the leader is reaped, the group id cannot be reused.
    reaped: bool,
    owner_tag: OwnerTag,
}

/// Watches a leader without reaping it. A pidfd becomes readable like a pipe, and this is the
/// runtime's safe way to own one and wait for it; nothing is ever read.
#[derive(Debug)]
pub(crate) struct Watch(Receiver);

impl Group {
    pub(crate) fn new(leader: Pid, owner_tag: OwnerTag) -> Self {
        Self { id: leader, reaped: false, owner_tag }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id.as_raw_nonzero().get().unsigned_abs()
    }

    /// The bytes of memory that the leader holds now; none when it has ended.
    pub(crate) fn memory(&self) -> u64 {
        memory_of(self.id())
    }

    /// A watch on the leader.
    pub(crate) fn watch(&self) -> io::Result<Watch> {
        let descriptor = pidfd_open(self.id, PidfdFlags::NONBLOCK)?;
        Receiver::from_owned_fd_unchecked(descriptor).map(Watch)
    }

    /// Whether the leader has ended, and waits to be reaped.
    pub(crate) fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.reaped || !matches!(waitid(WaitId::Pid(self.id), look), Ok(None))
    }

    /// Sends SIGTERM to the group.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends SIGKILL to the group.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if !self.reaped {
            // An error means that no member is left.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// Kills processes that have left the group, in the background.
    pub(crate) fn kill_orphans(&self) {
        // Without the thread, the orphan reaper does it at the end.
        let _ = REAPER.send(Leftover { leader: None, owner_tag: self.owner_tag });
    }

    /// Reaps a leader that has exited. Only after its group was killed, so that a reused id is
    /// never hit.
    pub(crate) fn reap(&mut self) -> io::Result<ExitStatus> {
        let waited = waitpid(Some(self.id), WaitOptions::NOHANG)?;
        let (_, status) = waited.ok_or_else(|| io::Error::other("it has not ended"))?;
        self.reaped = true;
        registry::ended(self.id);
        Ok(ExitStatus::from_raw(status.as_raw()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.kill();
        // A killed process may take a while to exit, above all one with much memory, and must not
        // block a runtime worker.
        let leader = self.reap().is_err().then_some(self.id);
        let leftover = Leftover { leader, owner_tag: self.owner_tag };
        if let Err(mpsc::SendError(leftover)) = REAPER.send(leftover) {
            leftover.wait();
        }
    }
}

/// The reaper thread. A search for tags reads every process of the system, so it is done once for
/// all that have come together.
fn reap_all(leftovers: &mpsc::Receiver<Leftover>) {
    while let Ok(first) = leftovers.recv() {
        let mut owner_tags = HashSet::new();
        for leftover in [first].into_iter().chain(leftovers.try_iter()) {
            leftover.wait();
            owner_tags.insert(leftover.owner_tag);
        }
        for _ in 0..SEARCHES {
            if kill_marked(&owner_tags) == 0 {
                break;
            }
        }
    }
}

impl Leftover {
    /// Reaps a killed leader.
    fn wait(&self) {
        if let Some(leader) = self.leader {
            let _ = waitpid(Some(leader), WaitOptions::empty());
            registry::ended(leader);
        }
    }
}

impl Watch {
    /// Waits for the exit; returns at once after it.
    pub(crate) async fn ended(&self) -> io::Result<()> {
        self.0.readable().await
    }
}

/// The variable with the owner tag, inherited by all descendants.
pub(crate) const VARIABLE: &str = "GANTRY_OWNER";

/// Identifies this process among all past and present ones.
static OWNER: LazyLock<String> = LazyLock::new(|| {
    let random = RandomState::new().hash_one(std::time::SystemTime::now());
    format!("{}-{random:016x}", std::process::id())
});

/// The tag of one child and all its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OwnerTag(u64);

impl OwnerTag {
    /// A new tag.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The value of the variable.
    pub(crate) fn value(self) -> String {
        format!("{}.{}", *OWNER, self.0)
    }
}

/// The common prefix of all tags of this process.
pub(crate) fn owner() -> &'static str {
    &OWNER
}

/// Kills every process with one of these tags.
pub(crate) fn kill_marked(owner_tags: &HashSet<OwnerTag>) -> usize {
    kill_where(&OWNER, |number| number.parse().is_ok_and(|it| owner_tags.contains(&OwnerTag(it))))
}

/// Kills every process with a tag of this owner.
pub(crate) fn kill_owned(owner: &str) -> usize {
    kill_where(owner, |_| true)
}

/// Returns how many were killed.
fn kill_where(owner: &str, is_wanted: impl Fn(&str) -> bool) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).filter(|id| kill_if_tagged(*id, owner, &is_wanted)).count()
}

fn kill_if_tagged(id: Pid, owner: &str, is_wanted: &impl Fn(&str) -> bool) -> bool {
    // Opened first: the process id may be reused before the signal.
    let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else { return false };
    let path = format!("/proc/{}/environ", id.as_raw_nonzero());
    let Ok(environment) = std::fs::read(path) else { return false };
    let mut variables = environment.split(|byte| *byte == 0);
    let number = variables.find_map(|variable| {
        let value =
            std::str::from_utf8(variable).ok()?.strip_prefix(VARIABLE)?.strip_prefix('=')?;
        value.strip_prefix(owner)?.strip_prefix('.')
    });
    number.is_some_and(is_wanted) && pidfd_send_signal(&process, Signal::KILL).is_ok()
}
