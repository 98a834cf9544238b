//! A program that serves one call: its input goes in, its output comes out, both bounded. However it
//! ends, its whole process group ends with it and the process is reaped.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use bytes::Bytes;
use tokio::select;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::command::{Program, StartError};
use crate::group::{Group, Watch};
use crate::output::Pipes;
use crate::spawn;

/// How long to wait for a killed process to exit.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits of one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildLimits {
    /// Bytes on standard output. More than that ends the call.
    pub stdout: usize,
    /// Bytes of the end of standard error that are kept.
    pub stderr: usize,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Notices that may be queued. One that finds no room is dropped, so that a slow reader never
    /// delays the work.
    pub notices: usize,
    /// Bytes of one notice. A longer one is dropped.
    pub notice: usize,
}

impl Default for ChildLimits {
    fn default() -> Self {
        Self {
            stdout: 1 << 20,
            stderr: 8 << 10,
            grace: Duration::from_secs(2),
            notices: 64,
            notice: 64 << 10,
        }
    }
}

/// A running child. Dropping it kills its process group and reaps it.
#[derive(Debug)]
pub struct Child(Box<Inner>);

/// Boxed, since a child is moved often.
#[derive(Debug)]
struct Inner {
    group: Group,
    watch: Watch,
    pipes: Pipes,
    notices: Option<mpsc::Receiver<Bytes>>,
    grace: Duration,
}

/// The output and exit of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Standard output, up to the limit.
    pub stdout: Bytes,
    /// Whether it wrote more than that.
    pub stdout_overflow: bool,
    /// Whether it read anything of its input.
    pub input_read: bool,
    /// The end of standard error; invalid UTF-8 is replaced.
    pub stderr: String,
    /// How it ended.
    pub end: End,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Exit status.
    Exited(i32),
    /// By this signal. A child that wrote too much was killed.
    Signalled(i32),
    /// It was killed after its timeout.
    TimedOut,
    /// Its exit is unknown, for this reason.
    Lost(String),
}

/// Why waiting for a child ended.
#[derive(PartialEq, Eq)]
enum Stop {
    Ended,
    /// Enough or too much output.
    OutputComplete,
    TimedOut,
}

impl Child {
    /// Starts a program. Must be called within a tokio runtime with timers and sockets.
    pub fn start(program: &Program, limits: &ChildLimits) -> Result<Self, StartError> {
        let start = || {
            let (group, ends, written) = spawn::spawn_with_notices(program)?;
            let watch = group.watch()?;
            let (sender, notices) = mpsc::channel(limits.notices.max(1));
            let pipes = Pipes::new(ends, written, limits, sender)?;
            let (notices, grace) = (Some(notices), limits.grace);
            Ok(Self(Box::new(Inner { group, watch, pipes, notices, grace })))
        };
        start().map_err(|error| StartError::new(program, error))
    }

    /// The process id, which is also the group id.
    pub fn id(&self) -> u32 {
        self.0.group.id()
    }

    /// Waits for the exit, whether the input was written or not.
    pub async fn ended(&self) -> io::Result<()> {
        self.0.watch.ended().await
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.0.group.has_ended()
    }

    /// Resident memory in bytes; none after the exit.
    pub fn memory(&self) -> u64 {
        self.0.group.memory()
    }

    /// The lines that the child writes to file descriptor 3. They come while
    /// [`finish`](Self::finish) is awaited, and end with it. The first receiver gets them all; any
    /// other is closed.
    pub fn notices(&mut self) -> mpsc::Receiver<Bytes> {
        self.0.notices.take().unwrap_or_else(|| mpsc::channel(1).1)
    }

    /// Writes the input and waits for the first line of standard output. None if the child exits,
    /// writes too much or exceeds `timeout` before. [`finish`](Self::finish) without input then
    /// takes the child to its end.
    pub async fn first_line(&mut self, input: Bytes, timeout: Duration) -> Option<Bytes> {
        self.0.pipes.set_input(input);
        self.0.pipes.stop_at_line(true);
        let stop = self.run(timeout).await;
        self.0.pipes.stop_at_line(false);
        if stop == Stop::OutputComplete { self.0.pipes.line() } else { None }
    }

    /// Writes the input and waits for the exit: the exit status is part of the contract of a tool.
    /// After `timeout` the group gets SIGTERM, and SIGKILL after the grace. Dropping the future
    /// kills it at once.
    pub async fn finish(mut self, input: Bytes, timeout: Duration) -> Finished {
        self.0.pipes.set_input(input);
        let stop = self.run(timeout).await;
        if stop == Stop::TimedOut {
            self.0.group.terminate();
            // Output is still read: a full pipe would keep it from exiting.
            self.run(self.0.grace).await;
        }
        // The leader is not reaped yet, so the group's number cannot belong to anyone else.
        self.0.group.kill();
        let Inner { group, watch, .. } = &mut *self.0;
        let end = reap(group, watch).await;
        // All output is in the pipes by now. A process that has left the group may hold them open
        // for ever, so nothing more is awaited. An open pipe is the sign of such a process: to look
        // for one after every call would mean a look at every process of the system.
        if self.0.pipes.drain() {
            self.0.group.kill_orphans();
        }
        let input_read = self.0.pipes.was_read();
        let (stdout, stdout_overflow, stderr) = self.0.pipes.into_output();
        let end = if stop == Stop::TimedOut { End::TimedOut } else { end };
        Finished { stdout, stdout_overflow, input_read, stderr, end }
    }

    /// Pumps the pipes. The timer is polled first: output that is always ready must not use up the
    /// coop budget before it.
    async fn run(&mut self, timeout: Duration) -> Stop {
        select! {
            biased;
            // An error of the watch is found again, and reported, by `reap`.
            _ = self.0.watch.ended() => Stop::Ended,
            () = sleep(timeout) => Stop::TimedOut,
            () = self.0.pipes.pump() => Stop::OutputComplete,
        }
    }
}

/// Reaps the leader of a killed group, and returns how it ended.
pub(crate) async fn reap(group: &mut Group, watch: &mut Watch) -> End {
    let id = group.id();
    let status = match timeout(KILL_TIMEOUT, watch.ended()).await {
        Ok(Ok(())) => group.reap(),
        Ok(Err(error)) => Err(error),
        Err(_) => return End::Lost(format!("process {id} was killed but has not ended yet")),
    };
    match status {
        Ok(status) => End::from(status),
        Err(error) => End::Lost(format!("process {id} could not be waited for: {error}")),
    }
}

impl From<ExitStatus> for End {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            (None, None) => Self::Lost(format!("the process ended with {status}")),
        }
    }
}
