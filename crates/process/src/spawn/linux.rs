//! Spawns a process with `clone` and shared memory (like `vfork`), not `fork`: copying the page
//! tables of a large gateway takes longer than everything else. Until `execve` the child runs in
//! the memory of the gateway, so it makes system calls only, allocates nothing, and all that it
//! needs is prepared before. The spawner thread blocks all signals, so that no handler runs in the
//! child.
#![expect(unsafe_code, reason = "the standard library copies a process for what is asked here")]

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::mem::{ManuallyDrop, zeroed};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{io, ptr};

use gantry_transport::descriptors;
use rustix::io::{Errno, FdFlags, dup2, fcntl_setfd};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, chdir, getpid, getppid,
    set_parent_process_death_signal, setrlimit, setsid, waitpid,
};

use crate::command::Program;
use crate::orphan_reaper::registry;

/// Stack of the child until `execve`.
const STACK: usize = 64 << 10;

/// The highest number of a signal.
const LAST_SIGNAL: c_int = 64;

/// Spawns programs. It belongs to a thread on which no signal is handled.
#[derive(Debug)]
pub(crate) struct Spawner {
    stack: Vec<u128>,
    parent: Pid,
}

/// Shared with the child until `execve`.
struct ChildContext<'a> {
    spawn_spec: &'a SpawnSpec,
    /// Descriptors that the child must not keep.
    inherited: &'a [RawFd],
    parent: Pid,
    /// The pipe of the orphan reaper.
    reaper: Option<&'a OwnedFd>,
    /// Whether it registered itself with the orphan reaper, if there is one.
    registered: bool,
    /// Why it could not become the program.
    failed: Option<Errno>,
}

/// A process after `execve`.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) id: Pid,
    /// Whether the orphan reaper, if there is one, knows of it.
    pub(crate) registered: bool,
}

impl Spawner {
    /// Blocks all signals on the calling thread: a handler in the child would run in the memory of
    /// this process.
    pub(crate) fn new() -> Self {
        // SAFETY: the set is filled before it is read, and only this thread's mask is changed.
        unsafe {
            let mut all = zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
        }
        Self { stack: vec![0; STACK / size_of::<u128>()], parent: getpid() }
    }

    /// Spawns a program, tied to this thread: a child gets SIGKILL when the thread ends. It
    /// registers itself with the orphan reaper.
    pub(crate) fn start(
        &mut self,
        spawn_spec: &SpawnSpec,
        inherited: &[RawFd],
        reaper: Option<&OwnedFd>,
    ) -> io::Result<Started> {
        let parent = self.parent;
        let mut context =
            ChildContext { spawn_spec, inherited, parent, reaper, registered: true, failed: None };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = self.stack.as_mut_ptr_range().end;
        // SAFETY: this thread stands still until the new process has ended or has become its
        // program, so the stack and the order are used by one of the two at a time, and outlive it.
        let id = unsafe { libc::clone(child_main, top.cast(), flags, (&raw mut context).cast()) };
        let id = if id < 0 { return Err(io::Error::last_os_error()) } else { Pid::from_raw(id) };
        let id = id.ok_or_else(|| io::Error::other("a process without a number was started"))?;
        match context.failed {
            None => Ok(Started { id, registered: context.registered }),
            Some(error) => {
                waitpid(Some(id), WaitOptions::empty())?;
                registry::ended(id);
                Err(error.into())
            }
        }
    }
}

/// The child until `execve`. System calls only.
extern "C" fn child_main(context: *mut c_void) -> c_int {
    // SAFETY: `start` gives its order, and waits.
    let context = unsafe { &mut *context.cast::<ChildContext<'_>>() };
    context.failed = prepare(context).err().or_else(|| Some(become_program(context.spawn_spec)));
    // SAFETY: it ends this process without running anything that belongs to the other.
    unsafe { libc::_exit(127) }
}

fn prepare(context: &mut ChildContext<'_>) -> Result<(), Errno> {
    match context.spawn_spec.parent_link {
        ParentLink::Child => {
            become_session_leader(context.parent)?;
            // Before the program can start anything, since this gateway may be killed before its
            // next step: whatever the program starts is then in a group that the reaper knows. If
            // it fails, the reaper is replaced; a failed registration never fails a spawn.
            context.registered =
                context.reaper.is_none_or(|it| registry::register_in_child(it, getpid()));
        }
        ParentLink::OrphanReaper => drop(setsid()?),
    }
    for descriptor in context.inherited {
        // SAFETY: the descriptor is used for this one call; if it is closed, the call fails.
        let descriptor = unsafe { BorrowedFd::borrow_raw(*descriptor) };
        let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
    for (number, descriptor) in (0..).zip(&context.spawn_spec.descriptors) {
        // SAFETY: whatever has this number here is replaced and never closed from here.
        let mut target = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number) });
        dup2(descriptor, &mut target)?;
    }
    if let Some(directory) = &context.spawn_spec.directory {
        chdir(directory.as_c_str())?;
    }
    if let Some(memory) = context.spawn_spec.memory {
        // `RLIMIT_DATA`, not the address space: many programs reserve far more than they use.
        let limit = Rlimit { current: Some(memory), maximum: Some(memory) };
        setrlimit(Resource::Data, limit)?;
    }
    if let Some(files) = descriptors::inherited() {
        setrlimit(Resource::Nofile, files)?;
    }
    if context.spawn_spec.parent_link == ParentLink::Child {
        reset_signals();
    }
    Ok(())
}

/// Makes the child the leader of a session and a process group of its own, with the parent-death
/// signal. A session of its own has no terminal: neither Ctrl-C nor SIGHUP reaches it, and it
/// cannot read what is typed for others.
fn become_session_leader(parent: Pid) -> Result<(), Errno> {
    setsid()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was requested.
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH) }
}

/// Resets all signal handlers and the mask.
fn reset_signals() {
    // SAFETY: the table of handlers and the mask are this process's own, and a default one runs
    // no code, nor does one that ignores. Zero is the default handler, without flags and with an empty mask.
    unsafe {
        let default: libc::sigaction = zeroed();
        // A reaper that does not read has left SIGPIPE pending, and to ignore a signal discards it.
        // Unblocked, it would end the program before it begins.
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

/// Returns only if none of the files can be executed, with the most specific error.
fn become_program(spawn_spec: &SpawnSpec) -> Errno {
    let (arguments, environment) =
        (spawn_spec.arguments.as_slice(), spawn_spec.environment.as_slice());
    let mut reason = Errno::NOENT;
    for file in &spawn_spec.files {
        let error = execute(file.as_ptr(), arguments, environment);
        match error {
            // One directory of the path may lack the program, or forbid it, and the next one have
            // it.
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

/// The search path when the environment has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program, prepared for the spawn.
#[derive(Debug)]
pub(crate) struct SpawnSpec {
    /// The files to try in order.
    pub(crate) files: Vec<CString>,
    pub(crate) arguments: Strings,
    pub(crate) environment: Strings,
    pub(crate) directory: Option<CString>,
    pub(crate) memory: Option<u64>,
    /// The child's ends of the pipes, in the order of their numbers there.
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) parent_link: ParentLink,
}

/// How a new process is tied to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentLink {
    /// It leads a session and a group of its own, and ends with this process.
    Child,
    /// It leads a session of its own and outlives this process; no signal but SIGKILL reaches it.
    OrphanReaper,
}

/// Strings as the kernel takes them.
#[derive(Debug)]
pub(crate) struct Strings {
    pointers: Vec<*const c_char>,
    /// What the pointers point into.
    _owned: Vec<CString>,
}

#[expect(unsafe_code, reason = "the pointers point to the heap and move with their owner")]
// SAFETY: nothing but the strings' owner can reach what the pointers point to.
unsafe impl Send for Strings {}

impl SpawnSpec {
    pub(crate) fn new(
        program: &Program,
        extra: &[(&str, &str)],
        descriptors: Vec<OwnedFd>,
        parent_link: ParentLink,
    ) -> io::Result<Self> {
        let arguments = program.args.iter().map(OsStr::new);
        let arguments = [program.program.as_os_str()].into_iter().chain(arguments);
        // The kernel accepts duplicate names. The last one wins, and ours over all.
        let given = program.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let variables: BTreeMap<&str, &str> = given.chain(extra.iter().copied()).collect();
        let files =
            files(&program.program, variables.get("PATH").copied().unwrap_or(DEFAULT_PATH))?;
        let environment = variables.iter().map(|(name, value)| format!("{name}={value}"));
        let directory = program.directory.as_ref().map(|it| string(it.as_os_str())).transpose()?;
        Ok(Self {
            files,
            arguments: Strings::new(arguments.map(string))?,
            environment: Strings::new(environment.map(|it| string(OsStr::new(&it))))?,
            directory,
            memory: program.memory,
            descriptors,
            parent_link,
        })
    }
}

impl Strings {
    fn new(strings: impl Iterator<Item = io::Result<CString>>) -> io::Result<Self> {
        let owned: Vec<CString> = strings.collect::<io::Result<_>>()?;
        let pointers = owned.iter().map(|it| it.as_ptr()).chain([ptr::null()]).collect();
        Ok(Self { pointers, _owned: owned })
    }

    /// The pointers, ending with a null.
    pub(crate) fn as_slice(&self) -> &[*const c_char] {
        &self.pointers
    }
}

/// Candidates for the program: its path, or one in each directory of the search path.
fn files(program: &Path, path: &str) -> io::Result<Vec<CString>> {
    if program.as_os_str().is_empty() || program.as_os_str().as_bytes().contains(&b'/') {
        return Ok(vec![string(program.as_os_str())?]);
    }
    path.split(':').map(|place| string(Path::new(place).join(program).as_os_str())).collect()
}

fn string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}
