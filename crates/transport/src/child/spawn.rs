//! Starting a process. All children are started by one thread that never ends, because the
//! parent-death signal follows the thread that started a child, not the process.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, mpsc};
use std::thread;

use rustix::io::{Errno, FdFlags, dup2, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use super::group::Group;
use super::{NOTICES_VARIABLE, Program};

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

struct Order {
    command: Command,
    answer: mpsc::SyncSender<io::Result<Child>>,
}

/// Starts a program, and gives it with the end of the pipe from which its notices are read.
pub(super) fn spawn(program: &Program) -> io::Result<(Group, OwnedFd)> {
    let (notices, written) = pipe_with(PipeFlags::CLOEXEC)?;
    let mut command = command(program);
    // Kept off the number itself, where a copy onto it would do nothing.
    prepare(&mut command, fcntl_dupfd_cloexec(&written, NOTICES + 1)?);
    drop(written);
    let (answer, answered) = mpsc::sync_channel(1);
    let gone = || io::Error::other("the thread that starts programs is gone");
    SPAWNER.send(Order { command, answer }).map_err(|_| gone())?;
    let leader = answered.recv().map_err(|_| gone())??;
    Ok((Group::new(leader), notices))
}

#[expect(clippy::disallowed_methods, reason = "this is where children are started")]
fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.program);
    command.args(&program.args);
    command.env_clear();
    command.envs(program.env.iter().map(|(name, value)| (name, value)));
    command.env(NOTICES_VARIABLE, NOTICES.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    if let Some(directory) = &program.directory {
        command.current_dir(directory);
    }
    command
}

/// Says what the new process does before it becomes the program.
#[expect(unsafe_code, reason = "only the child itself can ask for its parent-death signal")]
fn prepare(command: &mut Command, notices: OwnedFd) {
    let parent = getpid();
    let inherited: &'static [RawFd] = &INHERITED;
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the signal was asked for.
        if getppid() != Some(parent) {
            return Err(Errno::SRCH.into());
        }
        for descriptor in inherited {
            // SAFETY: the descriptor is used for this one call; if it is closed, the call fails.
            let descriptor = unsafe { BorrowedFd::borrow_raw(*descriptor) };
            let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
        // SAFETY: whatever has this number in the child is replaced and never closed from here.
        let mut third = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(NOTICES) });
        Ok(dup2(&notices, &mut third)?)
    };
    // SAFETY: between fork and exec, the closure makes system calls only: it neither allocates
    // nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// The work of the thread.
fn serve(orders: &mpsc::Receiver<Order>) {
    let mut reserved = None;
    for mut order in orders {
        reserve(&mut reserved);
        let child = order.command.spawn();
        // Its end of the notices must be closed here, or they would never end.
        drop(order.command);
        // Whoever asked is waiting for the answer.
        let _ = order.answer.send(child);
    }
}

/// Keeps the number of the notices taken in this process. The standard library's own pipe, on
/// which a failed start is told, could get it otherwise, and the child would overwrite it.
fn reserve(reserved: &mut Option<File>) {
    if reserved.is_none() {
        // A file gets the lowest number that is free.
        let null = File::open("/dev/null").ok();
        *reserved = null.filter(|null| null.as_raw_fd() == NOTICES);
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
        (descriptor > NOTICES && !closed).then_some(descriptor)
    });
    open.collect()
}
