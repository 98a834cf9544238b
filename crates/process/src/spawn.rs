//! Spawns child processes. One thread that never ends spawns them all, because the parent-death
//! signal follows the thread that spawned a child, not the process.

pub(crate) mod linux;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{LazyLock, mpsc};
use std::thread;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use self::linux::{ParentLink, SpawnSpec};
use self::linux::{Spawner, Started};
use crate::command::{NOTICES_VARIABLE, Program};
use crate::group::Group;
use crate::group::{self, OwnerTag};
use crate::orphan_reaper::{self, registry};

/// The descriptor for notices in the child.
const NOTICES: RawFd = 3;

/// The spawner thread. If it cannot be created, every spawn reports so.
static SPAWNER: LazyLock<mpsc::SyncSender<SpawnRequest>> = LazyLock::new(|| {
    let (sender, requests) = mpsc::sync_channel(16);
    let _ =
        thread::Builder::new().name("gantry-spawner".into()).spawn(move || run_spawner(&requests));
    sender
});

/// Descriptors that this process inherited and its children must not. Those that it opens itself
/// are closed on exec.
static INHERITED: LazyLock<Vec<RawFd>> = LazyLock::new(inheritable);

/// A request to the spawner thread.
enum SpawnRequest {
    Program {
        spawn_spec: SpawnSpec,
        answer: mpsc::SyncSender<io::Result<Pid>>,
    },
    /// Start another orphan reaper.
    Reaper,
}

/// Our ends of the standard streams of a child.
#[derive(Debug)]
pub(crate) struct ParentEnds {
    pub(crate) stdin: OwnedFd,
    /// The child's end of stdin, to see how much is unread.
    pub(crate) unread: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Spawns a program with a pipe for notices.
pub(crate) fn spawn_with_notices(program: &Program) -> io::Result<(Group, ParentEnds, OwnedFd)> {
    let (ends, mut descriptors) = streams()?;
    let (notices, notices_end) = pipe_with(PipeFlags::CLOEXEC)?;
    descriptors.push(move_above_child_fds(notices_end)?);
    let number = NOTICES.to_string();
    let group = start(program, descriptors, &[(NOTICES_VARIABLE, &*number)])?;
    Ok((group, ends, notices))
}

/// Spawns a program with its standard streams only.
pub(crate) fn spawn(program: &Program) -> io::Result<(Group, ParentEnds)> {
    let (ends, descriptors) = streams()?;
    Ok((start(program, descriptors, &[])?, ends))
}

/// Both ends of the standard streams; the child's in the order of their numbers.
fn streams() -> io::Result<(ParentEnds, Vec<OwnedFd>)> {
    let (unread, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stdout, stdout_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, stderr_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let descriptors = vec![
        // Moved above the numbers that they get in the child: one dup2 must not replace the next
        // descriptor.
        fcntl_dupfd_cloexec(&unread, NOTICES + 1)?,
        move_above_child_fds(stdout_end)?,
        move_above_child_fds(stderr_end)?,
    ];
    Ok((ParentEnds { stdin, unread, stdout, stderr }, descriptors))
}

fn start(
    program: &Program,
    descriptors: Vec<OwnedFd>,
    variables: &[(&str, &str)],
) -> io::Result<Group> {
    let owner_tag = OwnerTag::new();
    let value = owner_tag.value();
    let extra = [variables, &[(group::VARIABLE, &*value)]].concat();
    let spawn_spec = SpawnSpec::new(program, &extra, descriptors, ParentLink::Child)?;
    let (answer, answered) = mpsc::sync_channel(1);
    let gone = || io::Error::other("the thread that starts programs is gone");
    SPAWNER.send(SpawnRequest::Program { spawn_spec, answer }).map_err(|_| gone())?;
    let leader = answered.recv().map_err(|_| gone())??;
    Ok(Group::new(leader, owner_tag))
}

/// The descriptor, with a number above those of a child.
pub(crate) fn move_above_child_fds(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > NOTICES {
        return Ok(descriptor);
    }
    Ok(fcntl_dupfd_cloexec(&descriptor, NOTICES + 1)?)
}

/// Starts another orphan reaper, before every program that is requested after it.
pub(crate) fn replace_reaper() {
    // Without the thread nothing is spawned any more, and there is nothing to reap.
    let _ = SPAWNER.send(SpawnRequest::Reaper);
}

/// The spawner thread.
fn run_spawner(requests: &mpsc::Receiver<SpawnRequest>) {
    let mut spawner = Spawner::new();
    // Before the first program, so that the reaper knows of all of them.
    let mut reaper = orphan_reaper::start_reaper(&mut spawner, &INHERITED);
    for request in requests {
        let (spawn_spec, answer) = match request {
            SpawnRequest::Program { spawn_spec, answer } => (spawn_spec, answer),
            SpawnRequest::Reaper => {
                reaper = orphan_reaper::start_reaper(&mut spawner, &INHERITED);
                continue;
            }
        };
        let started = spawner.start(&spawn_spec, &INHERITED, reaper.as_deref());
        // The child's ends must be closed here, or the pipes would never end.
        drop(spawn_spec);
        if let Ok(Started { id, registered }) = started {
            registry::started(id, registered);
        }
        // The requester is waiting.
        let _ = answer.send(started.map(|it| it.id));
    }
}

/// The descriptors above the standard ones without close-on-exec.
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
