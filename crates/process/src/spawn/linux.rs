//! Makes a process and lets it become a program, without a copy of this one in between: copying
//! the memory of a large gateway takes longer than all the rest.
#![expect(unsafe_code, reason = "the standard library copies a process for what is asked here")]

use std::ffi::{c_char, c_int, c_void};
use std::mem::{ManuallyDrop, zeroed};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::{io, ptr};

use rustix::io::{Errno, FdFlags, dup2, fcntl_setfd};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, chdir, getpid, getppid,
    set_parent_process_death_signal, setrlimit, setsid, waitpid,
};

use super::spec::{ParentLink, SpawnSpec};
use crate::orphan_reaper::registry;
use gantry_transport::descriptors;

/// Bytes of the stack on which a new process runs until it becomes its program.
const STACK: usize = 64 << 10;

/// The highest number of a signal.
const LAST_SIGNAL: c_int = 64;

/// Starts programs. It belongs to a thread on which no signal is handled.
#[derive(Debug)]
pub(crate) struct Spawner {
    stack: Vec<u128>,
    parent: Pid,
}

/// What the new process reads and writes in the memory of this one.
struct Order<'a> {
    spawn_spec: &'a SpawnSpec,
    /// Descriptors that it must not keep.
    inherited: &'a [RawFd],
    parent: Pid,
    /// The pipe of the orphan reaper.
    reaper: Option<&'a OwnedFd>,
    /// Whether the orphan reaper, if there is one, was told of it.
    announced: bool,
    /// Why it could not become the program.
    failed: Option<Errno>,
}

/// A process that has become its program.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) id: Pid,
    /// Whether the orphan reaper, if there is one, knows of it.
    pub(crate) announced: bool,
}

impl Spawner {
    /// Keeps all signals from the calling thread: a handler that ran in a new process would run
    /// in the memory of this one.
    pub(crate) fn new() -> Self {
        // SAFETY: the set is filled before it is read, and only this thread's mask is changed.
        unsafe {
            let mut all = zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
        }
        Self { stack: vec![0; STACK / size_of::<u128>()], parent: getpid() }
    }

    /// Starts a program. Its bond is with this thread: a child ends when the thread does.
    /// It tells the orphan reaper of itself, by its pipe.
    pub(crate) fn start(
        &mut self,
        spawn_spec: &SpawnSpec,
        inherited: &[RawFd],
        reaper: Option<&OwnedFd>,
    ) -> io::Result<Started> {
        let parent = self.parent;
        let mut order =
            Order { spawn_spec, inherited, parent, reaper, announced: true, failed: None };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = self.stack.as_mut_ptr_range().end;
        // SAFETY: this thread stands still until the new process has ended or has become its
        // program, so the stack and the order are used by one of the two at a time, and outlive it.
        let id = unsafe { libc::clone(run, top.cast(), flags, (&raw mut order).cast()) };
        let id = if id < 0 { return Err(io::Error::last_os_error()) } else { Pid::from_raw(id) };
        let id = id.ok_or_else(|| io::Error::other("a process without a number was started"))?;
        match order.failed {
            None => Ok(Started { id, announced: order.announced }),
            Some(error) => {
                waitpid(Some(id), WaitOptions::empty())?;
                registry::ended(id);
                Err(error.into())
            }
        }
    }
}

/// The life of the new process until it is the program. It makes system calls only.
extern "C" fn run(order: *mut c_void) -> c_int {
    // SAFETY: `start` gives its order, and waits.
    let order = unsafe { &mut *order.cast::<Order<'_>>() };
    order.failed = prepare(order).err().or_else(|| Some(become_program(order.spawn_spec)));
    // SAFETY: it ends this process without running anything that belongs to the other.
    unsafe { libc::_exit(127) }
}

fn prepare(order: &mut Order<'_>) -> Result<(), Errno> {
    match order.spawn_spec.parent_link {
        ParentLink::Child => {
            tie(order.parent)?;
            // Before the program can start anything: this gateway may end before its next step. If
            // it fails, the reaper is replaced; the program is started all the same.
            order.announced = order.reaper.is_none_or(|it| registry::announce(it, getpid()));
        }
        ParentLink::Warden => drop(setsid()?),
    }
    for descriptor in order.inherited {
        // SAFETY: the descriptor is used for this one call; if it is closed, the call fails.
        let descriptor = unsafe { BorrowedFd::borrow_raw(*descriptor) };
        let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
    for (number, descriptor) in (0..).zip(&order.spawn_spec.descriptors) {
        // SAFETY: whatever has this number here is replaced and never closed from here.
        let mut target = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number) });
        dup2(descriptor, &mut target)?;
    }
    if let Some(directory) = &order.spawn_spec.directory {
        chdir(directory.as_c_str())?;
    }
    if let Some(memory) = order.spawn_spec.memory {
        // Of its own data, not of addresses: many programs reserve far more than they use.
        let limit = Rlimit { current: Some(memory), maximum: Some(memory) };
        setrlimit(Resource::Data, limit)?;
    }
    if let Some(files) = descriptors::inherited() {
        setrlimit(Resource::Nofile, files)?;
    }
    if order.spawn_spec.parent_link == ParentLink::Child {
        reset_signals();
    }
    Ok(())
}

/// Makes it the leader of a session, and so of a group, of its own, which ends with its parent. A
/// session of its own has no terminal: neither Ctrl-C nor a hang-up reaches it, and it cannot read
/// what is typed for others.
fn tie(parent: Pid) -> Result<(), Errno> {
    setsid()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was asked for.
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH) }
}

/// No signal is handled, ignored or kept from the program.
fn reset_signals() {
    // SAFETY: the table of handlers and the mask are this process's own, and a default one runs
    // no code, nor does one that ignores. Zero is the default handler, without flags and with an empty mask.
    unsafe {
        let default: libc::sigaction = zeroed();
        // A reaper that does not listen has left this signal waiting, and to ignore a signal is to
        // forget it. Unblocked, it would end the program before it begins.
        let mut ignored: libc::sigaction = zeroed();
        ignored.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(libc::SIGPIPE, &raw const ignored, ptr::null_mut());
        for signal in 1..=LAST_SIGNAL {
            libc::sigaction(signal, &raw const default, ptr::null_mut());
        }
        let mut none = zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Returns only if none of the files can be executed, with the reason that says most.
fn become_program(spawn_spec: &SpawnSpec) -> Errno {
    let (arguments, environment) =
        (spawn_spec.arguments.as_slice(), spawn_spec.environment.as_slice());
    let mut reason = Errno::NOENT;
    for file in &spawn_spec.files {
        let error = execute(file.as_ptr(), arguments, environment);
        match error {
            // One place may lack the program, or forbid it, and the next one have it.
            Errno::NOENT | Errno::NOTDIR if spawn_spec.files.len() > 1 => {}
            Errno::ACCESS => reason = error,
            _ => return error,
        }
    }
    reason
}

/// Returns only if it fails.
fn execute(file: *const c_char, arguments: &[*const c_char], variables: &[*const c_char]) -> Errno {
    // SAFETY: the file is a string, both lists end with a null, and the plan owns them all.
    unsafe { libc::execve(file, arguments.as_ptr(), variables.as_ptr()) };
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOENT)
}
