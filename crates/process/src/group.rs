//! The process group of one child: watching its leader, signals to all of it, and the reaping.

use std::collections::HashSet;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{LazyLock, mpsc};
use std::thread;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, pidfd_open,
    waitid, waitpid,
};
use tokio::net::unix::pipe::Receiver;

use crate::orphan_reaper::registry;
use crate::owner_tag::{OwnerTag, kill_marked};

/// Where leaders are sent that were killed but have not ended yet, and marks whose processes may
/// have left their group.
static REAPER: LazyLock<mpsc::Sender<Rest>> = LazyLock::new(|| {
    let (sender, rests) = mpsc::channel();
    let _ = thread::Builder::new().name("gantry-reaper".into()).spawn(move || reap_all(&rests));
    sender
});

/// How often those with a mark are looked for. Each time finds what the last had just started.
const LOOKS: usize = 10;

/// What may be left of a group.
struct Rest {
    /// The leader, if it is not reaped.
    leader: Option<Pid>,
    owner_tag: OwnerTag,
}

/// A child that leads a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    /// Until the leader is reaped, nobody else can have the group's number.
    reaped: bool,
    owner_tag: OwnerTag,
}

/// Tells when a leader has ended, and leaves it to be reaped. The descriptor of a process becomes
/// readable like a pipe, and this is the runtime's safe way to own one and wait for that; nothing
/// is ever read from it.
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

    /// Asks every member to end.
    pub(crate) fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every member.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if !self.reaped {
            // It fails when no member is left to hear it, which is as well.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// Ends those that have left the group, in the background.
    pub(crate) fn kill_orphans(&self) {
        // If nobody can do it, the warden will.
        let _ = REAPER.send(Rest { leader: None, owner_tag: self.owner_tag });
    }

    /// The status of a leader that has ended.
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
        // A killed process may take a while to end, most of all one with much memory, and a
        // worker of the runtime must not stand still for it.
        let leader = self.reap().is_err().then_some(self.id);
        let rest = Rest { leader, owner_tag: self.owner_tag };
        if let Err(mpsc::SendError(rest)) = REAPER.send(rest) {
            rest.wait();
        }
    }
}

/// The work of the thread. To look for marks takes a look at every process there is, so that it is
/// done once for all that have come together.
fn reap_all(rests: &mpsc::Receiver<Rest>) {
    while let Ok(first) = rests.recv() {
        let mut owner_tags = HashSet::new();
        for rest in [first].into_iter().chain(rests.try_iter()) {
            rest.wait();
            owner_tags.insert(rest.owner_tag);
        }
        for _ in 0..LOOKS {
            if kill_marked(&owner_tags) == 0 {
                break;
            }
        }
    }
}

impl Rest {
    /// Waits for the end of a leader that was killed. If that cannot be, there is nothing to do.
    fn wait(&self) {
        if let Some(leader) = self.leader {
            let _ = waitpid(Some(leader), WaitOptions::empty());
            registry::ended(leader);
        }
    }
}

impl Watch {
    /// Waits for the end. Once it has come, this returns at once.
    pub(crate) async fn ended(&self) -> io::Result<()> {
        self.0.readable().await
    }
}

/// The most processes of one tree whose memory is counted.
const COUNTED: usize = 512;

/// The bytes of memory that a process and all its descendants hold now. Pages that several of them
/// share count for each; a descendant whose parent has ended is not found.
pub(crate) fn memory_of_tree(process: u32) -> u64 {
    let (mut total, mut counted) = (0, 0);
    let mut open = vec![process];
    while let Some(id) = open.pop() {
        total += memory_of(id);
        counted += 1;
        if counted + open.len() < COUNTED {
            open.extend(children_of(id));
        }
    }
    total
}

/// The processes that one has started itself.
fn children_of(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let listed = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    listed
        .flat_map(|ids| ids.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The bytes of memory that a process holds now; none when there is no such process.
pub(crate) fn memory_of(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm"));
    let pages = text.ok().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
