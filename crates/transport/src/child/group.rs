//! The process group of one child: watching its leader, signals to all of it, and the reaping.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::{LazyLock, mpsc};
use std::thread;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::net::unix::pipe::Receiver;

/// Where leaders are sent that were killed but have not ended yet.
static REAPER: LazyLock<mpsc::Sender<Child>> = LazyLock::new(|| {
    let (sender, leaders) = mpsc::channel::<Child>();
    let wait = move || leaders.into_iter().for_each(|mut leader| drop(leader.wait()));
    let _ = thread::Builder::new().name("gantry-reaper".into()).spawn(wait);
    sender
});

/// A child that leads a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    id: Pid,
    /// Gone when it is reaped. Until then nobody else can have the group's number.
    leader: Option<Child>,
}

/// Tells when a leader has ended, and leaves it to be reaped. The descriptor of a process becomes
/// readable like a pipe, and this is the runtime's safe way to own one and wait for that; nothing
/// is ever read from it.
#[derive(Debug)]
pub(super) struct Watch(Receiver);

impl Group {
    pub(super) fn new(leader: Child) -> Self {
        Self { id: Pid::from_child(&leader), leader: Some(leader) }
    }

    pub(super) fn id(&self) -> u32 {
        self.id.as_raw_nonzero().get().unsigned_abs()
    }

    /// A watch on the leader.
    pub(super) fn watch(&self) -> io::Result<Watch> {
        let descriptor = pidfd_open(self.id, PidfdFlags::NONBLOCK)?;
        Receiver::from_owned_fd_unchecked(descriptor).map(Watch)
    }

    /// Standard input, output and error, once.
    pub(super) fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
        let leader = self.leader.as_mut()?;
        Some((leader.stdin.take()?, leader.stdout.take()?, leader.stderr.take()?))
    }

    /// Asks every member to end.
    pub(super) fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every member.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if self.leader.is_some() {
            // It fails when no member is left to hear it, which is as well.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// The status of a leader that has ended.
    pub(super) fn reap(&mut self) -> io::Result<ExitStatus> {
        let waited = self.leader.as_mut().map(Child::try_wait).transpose()?.flatten();
        let status = waited.ok_or_else(|| io::Error::other("it has not ended"))?;
        self.leader = None;
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        // A killed process may take a while to end, most of all one with much memory, and a
        // worker of the runtime must not stand still for it.
        if self.reap().is_err()
            && let Some(leader) = self.leader.take()
            && let Err(mpsc::SendError(mut leader)) = REAPER.send(leader)
        {
            let _ = leader.wait();
        }
    }
}

impl Watch {
    /// Waits for the end. Once it has come, this returns at once.
    pub(super) async fn ended(&self) -> io::Result<()> {
        self.0.readable().await
    }
}
