//! The process group of one child: watching its leader, signals to all of it, and the reaping.

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

/// Where leaders are sent that were killed but have not ended yet.
static REAPER: LazyLock<mpsc::Sender<Pid>> = LazyLock::new(|| {
    let (sender, leaders) = mpsc::channel::<Pid>();
    let wait = move || leaders.into_iter().for_each(wait_for);
    let _ = thread::Builder::new().name("gantry-reaper".into()).spawn(wait);
    sender
});

/// A child that leads a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    id: Pid,
    /// Until the leader is reaped, nobody else can have the group's number.
    reaped: bool,
}

/// Tells when a leader has ended, and leaves it to be reaped. The descriptor of a process becomes
/// readable like a pipe, and this is the runtime's safe way to own one and wait for that; nothing
/// is ever read from it.
#[derive(Debug)]
pub(super) struct Watch(Receiver);

impl Group {
    pub(super) fn new(leader: Pid) -> Self {
        Self { id: leader, reaped: false }
    }

    pub(super) fn id(&self) -> u32 {
        self.id.as_raw_nonzero().get().unsigned_abs()
    }

    /// A watch on the leader.
    pub(super) fn watch(&self) -> io::Result<Watch> {
        let descriptor = pidfd_open(self.id, PidfdFlags::NONBLOCK)?;
        Receiver::from_owned_fd_unchecked(descriptor).map(Watch)
    }

    /// Whether the leader has ended, and waits to be reaped.
    pub(super) fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.reaped || !matches!(waitid(WaitId::Pid(self.id), look), Ok(None))
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
        if !self.reaped {
            // It fails when no member is left to hear it, which is as well.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// The status of a leader that has ended.
    pub(super) fn reap(&mut self) -> io::Result<ExitStatus> {
        let waited = waitpid(Some(self.id), WaitOptions::NOHANG)?;
        let (_, status) = waited.ok_or_else(|| io::Error::other("it has not ended"))?;
        self.reaped = true;
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
        if self.reap().is_err()
            && let Err(mpsc::SendError(leader)) = REAPER.send(self.id)
        {
            wait_for(leader);
        }
    }
}

/// Waits for the end of a leader that was killed. If that cannot be, there is nothing to be done.
fn wait_for(leader: Pid) {
    let _ = waitpid(Some(leader), WaitOptions::empty());
}

impl Watch {
    /// Waits for the end. Once it has come, this returns at once.
    pub(super) async fn ended(&self) -> io::Result<()> {
        self.0.readable().await
    }
}
