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
use crate::pipes::Pipes;
use crate::spawn;

/// How long the kernel may take to end a process that was killed.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// How much one child may use up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildLimits {
    /// Bytes on standard output. More than that ends the call.
    pub stdout: usize,
    /// Bytes kept from the end of standard error.
    pub stderr: usize,
    /// The time between asking a child to end and killing it.
    pub grace: Duration,
    /// Notices that may wait to be taken. One that finds no room is dropped, so that a slow
    /// reader never holds up the work.
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
pub struct Child(Box<Body>);

/// What a child is made of. On the heap, since it is handed on from one to the next.
#[derive(Debug)]
struct Body {
    group: Group,
    watch: Watch,
    pipes: Pipes,
    notices: Option<mpsc::Receiver<Bytes>>,
    grace: Duration,
}

/// What a child left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// What it wrote to standard output, at most as much as the limit.
    pub stdout: Bytes,
    /// Whether it wrote more than that.
    pub stdout_overflow: bool,
    /// Whether it read anything of its input.
    pub input_read: bool,
    /// The end of what it wrote to standard error; what is not UTF-8 is replaced.
    pub stderr: String,
    /// How it ended.
    pub end: End,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal. A child that wrote too much was killed.
    Signalled(i32),
    /// It was stopped, because it took too long.
    TimedOut,
    /// Nobody knows, and this is why.
    Lost(String),
}

/// Why a child is no longer waited for.
#[derive(PartialEq, Eq)]
enum Stop {
    Ended,
    /// It wrote all that is wanted, or more.
    Written,
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
            Ok(Self(Box::new(Body { group, watch, pipes, notices, grace })))
        };
        start().map_err(|error| StartError::new(program, error))
    }

    /// The number of the process, which is that of its group too.
    pub fn id(&self) -> u32 {
        self.0.group.id()
    }

    /// Waits until the process has ended, whether it was given its input or not.
    pub async fn ended(&self) -> io::Result<()> {
        self.0.watch.ended().await
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.0.group.has_ended()
    }

    /// The bytes of memory that the process holds now; none when it has ended.
    pub fn memory(&self) -> u64 {
        self.0.group.memory()
    }

    /// The lines that the child writes to file descriptor 3. They come while
    /// [`finish`](Self::finish) is awaited, and end with it. The first receiver gets them all; any
    /// other is closed.
    pub fn notices(&mut self) -> mpsc::Receiver<Bytes> {
        self.0.notices.take().unwrap_or_else(|| mpsc::channel(1).1)
    }

    /// Gives the child its input and waits until it has written a line to standard output. If it
    /// ends, writes too much or takes longer than `timeout` before that, there is none; whatever
    /// came, [`finish`](Self::finish) without input takes the child to its end.
    pub async fn first_line(&mut self, input: Bytes, timeout: Duration) -> Option<Bytes> {
        self.0.pipes.give(input);
        self.0.pipes.stop_at_line(true);
        let stop = self.run(timeout).await;
        self.0.pipes.stop_at_line(false);
        if stop == Stop::Written { self.0.pipes.line() } else { None }
    }

    /// Gives the child its input and waits for its end. After `timeout` the group is asked to
    /// end, and killed when its grace is over. Dropping the future kills it at once.
    pub async fn finish(mut self, input: Bytes, timeout: Duration) -> Finished {
        self.0.pipes.give(input);
        let stop = self.run(timeout).await;
        if stop == Stop::TimedOut {
            self.0.group.ask();
            // Its last words are still read: a full pipe would keep it from ending.
            self.run(self.0.grace).await;
        }
        // The leader is not reaped yet, so the group's number cannot belong to anyone else.
        self.0.group.kill();
        let Body { group, watch, .. } = &mut *self.0;
        let end = reap(group, watch).await;
        // What was written before the end is in the pipes by now. A process that has left the
        // group may hold them open for ever, so nothing more is waited for. Most often this is how
        // it is found out: to look for such a process after every call would cost too much.
        if self.0.pipes.drain() {
            self.0.group.kill_orphans();
        }
        let input_read = self.0.pipes.was_read();
        let (stdout, stdout_overflow, stderr) = self.0.pipes.into_output();
        let end = if stop == Stop::TimedOut { End::TimedOut } else { end };
        Finished { stdout, stdout_overflow, input_read, stderr, end }
    }

    /// Lets the child work. The timer comes before the pipes: a flood that is always ready to be
    /// read must not use up the task's turn before the timer is asked.
    async fn run(&mut self, timeout: Duration) -> Stop {
        select! {
            biased;
            // A watch that fails is found again, and told, by `end`.
            _ = self.0.watch.ended() => Stop::Ended,
            () = sleep(timeout) => Stop::TimedOut,
            () = self.0.pipes.flow() => Stop::Written,
        }
    }
}

/// Reaps the leader of a killed group, and says how it ended.
pub(crate) async fn reap(group: &mut Group, watch: &mut Watch) -> End {
    let id = group.id();
    let status = match timeout(LAST_WAIT, watch.ended()).await {
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
