//! Starting a process. All children are started by one thread that never ends, because the
//! parent-death signal follows the thread that started a child, not the process.

pub(crate) mod linux;
pub(crate) mod spec;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{LazyLock, mpsc};
use std::thread;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use self::linux::{Spawner, Started};
use self::spec::{ParentLink, SpawnSpec};
use crate::command::{NOTICES_VARIABLE, Program};
use crate::group::Group;
use crate::orphan_reaper::{registry, supervisor};
use crate::owner_tag::{self, OwnerTag};

/// The descriptor on which a child may write notices.
const NOTICES: RawFd = 3;

/// Where to send what is to be started. If the thread cannot be made, its end of the channel is
/// gone, and every start says so.
static SPAWNER: LazyLock<mpsc::SyncSender<Order>> = LazyLock::new(|| {
    let (sender, orders) = mpsc::sync_channel(16);
    let _ = thread::Builder::new().name("gantry-spawner".into()).spawn(move || serve(&orders));
    sender
});

/// Descriptors that this process was started with and that its children would inherit. All
/// that it opens itself are closed by the start of another program.
static INHERITED: LazyLock<Vec<RawFd>> = LazyLock::new(inheritable);

/// What the thread is asked for.
enum Order {
    Program {
        spawn_spec: SpawnSpec,
        answer: mpsc::SyncSender<io::Result<Pid>>,
    },
    /// Another orphan reaper, after the end of the last.
    Reaper,
}

/// Our ends of the standard streams of a child.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) stdin: OwnedFd,
    /// The end from which the child reads, for who wants to see how much it has left there.
    pub(crate) unread: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Starts a program that may write notices, and gives our end of those too.
pub(crate) fn spawn_with_notices(program: &Program) -> io::Result<(Group, Ends, OwnedFd)> {
    let (ends, mut descriptors) = streams()?;
    let (notices, notices_end) = pipe_with(PipeFlags::CLOEXEC)?;
    descriptors.push(above(notices_end)?);
    let number = NOTICES.to_string();
    let group = start(program, descriptors, &[(NOTICES_VARIABLE, &*number)])?;
    Ok((group, ends, notices))
}

/// Starts a program with its standard streams and nothing else.
pub(crate) fn spawn(program: &Program) -> io::Result<(Group, Ends)> {
    let (ends, descriptors) = streams()?;
    Ok((start(program, descriptors, &[])?, ends))
}

/// Both ends of the standard streams; the child's in the order of their numbers.
fn streams() -> io::Result<(Ends, Vec<OwnedFd>)> {
    let (unread, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stdout, stdout_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, stderr_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let descriptors = vec![
        // Kept above the numbers that they get in the child: one copy must not replace the next.
        fcntl_dupfd_cloexec(&unread, NOTICES + 1)?,
        above(stdout_end)?,
        above(stderr_end)?,
    ];
    Ok((Ends { stdin, unread, stdout, stderr }, descriptors))
}

fn start(
    program: &Program,
    descriptors: Vec<OwnedFd>,
    variables: &[(&str, &str)],
) -> io::Result<Group> {
    let owner_tag = OwnerTag::new();
    let value = owner_tag.value();
    let extra = [variables, &[(owner_tag::VARIABLE, &*value)]].concat();
    let spawn_spec = SpawnSpec::new(program, &extra, descriptors, ParentLink::Child)?;
    let (answer, answered) = mpsc::sync_channel(1);
    let gone = || io::Error::other("the thread that starts programs is gone");
    SPAWNER.send(Order::Program { spawn_spec, answer }).map_err(|_| gone())?;
    let leader = answered.recv().map_err(|_| gone())??;
    Ok(Group::new(leader, owner_tag))
}

/// The descriptor, with a number above those of a child.
pub(crate) fn above(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > NOTICES {
        return Ok(descriptor);
    }
    Ok(fcntl_dupfd_cloexec(&descriptor, NOTICES + 1)?)
}

/// Asks for another orphan reaper. It comes before every program that is asked for after it.
pub(crate) fn replace_reaper() {
    // If the thread is gone, nothing is started any more, and there is nothing to reap.
    let _ = SPAWNER.send(Order::Reaper);
}

/// The work of the thread.
fn serve(orders: &mpsc::Receiver<Order>) {
    let mut spawner = Spawner::new();
    // Before the first program, so that the reaper hears of all of them.
    let mut reaper = supervisor::start(&mut spawner, &INHERITED);
    for order in orders {
        let (spawn_spec, answer) = match order {
            Order::Program { spawn_spec, answer } => (spawn_spec, answer),
            Order::Reaper => {
                reaper = supervisor::start(&mut spawner, &INHERITED);
                continue;
            }
        };
        let started = spawner.start(&spawn_spec, &INHERITED, reaper.as_deref());
        // The child's ends of the pipes must be closed here, or they would never end.
        drop(spawn_spec);
        if let Ok(Started { id, announced }) = started {
            registry::began(id, announced);
        }
        // Whoever asked is waiting for the answer.
        let _ = answer.send(started.map(|it| it.id));
    }
}

/// The descriptors above the standard ones that lack the mark to be closed.
fn inheritable() -> Vec<RawFd> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fdinfo") else { return Vec::new() };
    let open = entries.flatten().filter_map(|entry| {
        let descriptor: RawFd = entry.file_name().to_str()?.parse().ok()?;
        let text = std::fs::read_to_string(entry.path()).ok()?;
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
        let closed = flags & rustix::fs::OFlags::CLOEXEC.bits() != 0;
        (descriptor >= NOTICES && !closed).then_some(descriptor)
    });
    open.collect()
}
