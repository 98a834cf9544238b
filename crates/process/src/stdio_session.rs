//! A stdio session: a child that exchanges lines over stdin and stdout for as long as it is wanted.
//! One task owns the process and its pipes; when it ends, for whatever reason, the whole process
//! group has ended.

mod line_writer;
mod stderr_summary;
mod stdio_task;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::child::End;
use crate::command::{Program, StartError};
use crate::memory::memory_of_tree;
use crate::output::{Sink, Tail};
use crate::spawn;
use gantry_transport::Throttle;
use gantry_transport::lines::LineDecoder;
use line_writer::LineWriter;
pub use line_writer::{FlushGuard, LineSender};
use stderr_summary::stderr_summary;
pub use stdio_task::SKIPPED;
use stdio_task::{CHUNK, Input, Output, StdioTask};

/// The prefix of our own lines in the captured standard error.
const NOTE_PREFIX: &str = "[gantry]";

/// Limits of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// Bytes of one line. A longer one is skipped, and noted in the captured standard error.
    pub line: usize,
    /// Lines that may be queued in each direction.
    pub queue: usize,
    /// Bytes of the end of standard error that are kept.
    pub stderr: usize,
    /// Rate limit for standard error in bytes a second; beyond it, the program has to wait.
    pub stderr_rate: u32,
    /// The burst, in seconds of that rate.
    pub stderr_burst: u32,
    /// How long to wait after the end of its input, and again after SIGTERM.
    pub grace: Duration,
}

/// A running program. Dropping it kills its process group and reaps it.
#[derive(Debug)]
pub struct Session {
    id: u32,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// The two directions of a session.
#[derive(Debug)]
pub struct SessionLines {
    /// Messages to the program.
    pub outgoing: LineSender,
    /// Lines from the program; the last item says how it ended.
    pub incoming: mpsc::Receiver<Result<Bytes, String>>,
}

#[derive(Debug)]
struct Shared {
    tail: Mutex<Tail>,
    /// Rate limit of standard error.
    stderr: Throttle,
    end: watch::Sender<Option<End>>,
    stop: watch::Sender<bool>,
}

impl Session {
    /// Starts a program. Must be called within a tokio runtime with timers and sockets.
    pub fn start(
        program: &Program,
        limits: &SessionLimits,
    ) -> Result<(Self, SessionLines), StartError> {
        Self::spawn_session(program, limits).map_err(|error| StartError::new(program, error))
    }

    fn spawn_session(
        program: &Program,
        limits: &SessionLimits,
    ) -> io::Result<(Self, SessionLines)> {
        let (group, ends) = spawn::spawn(program)?;
        let (queue, queued) = mpsc::channel(limits.queue.max(1));
        let writer = Arc::new(LineWriter::new(Sender::from_owned_fd(ends.stdin)?));
        let outgoing = LineSender::new(queue, writer.clone());
        let (lines, incoming) = mpsc::channel(limits.queue.max(1));
        let shared = Arc::new(Shared {
            tail: Mutex::new(Tail::new(limits.stderr)),
            stderr: Throttle::new(limits.stderr_rate, limits.stderr_burst),
            end: watch::Sender::new(None),
            stop: watch::Sender::new(false),
        });
        let id = group.id();
        let stdio_task = StdioTask {
            watch: group.watch()?,
            group,
            input: Input { writer, queued },
            output: Output {
                pipe: Receiver::from_owned_fd(ends.stdout)?,
                decoder: LineDecoder::new(limits.line),
                lines,
                chunk: vec![0; CHUNK],
            },
            stderr: Receiver::from_owned_fd(ends.stderr)?,
            grace: limits.grace,
            shared: shared.clone(),
        };
        let task = tokio::spawn(stdio_task.run());
        Ok((Self { id, shared, task }, SessionLines { outgoing, incoming }))
    }

    /// The number of the process, which is that of its group too.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The bytes of memory that the process and all that it started hold now; none when it has ended.
    pub fn memory(&self) -> u64 {
        if self.shared.end.borrow().is_some() { 0 } else { memory_of_tree(self.id) }
    }

    /// The end of what it wrote to standard error so far, with the notes between.
    pub fn stderr(&self) -> String {
        self.shared.tail().text()
    }

    /// Whether, and for how long, standard error is held to its rate.
    pub fn stderr_throttle(&self) -> &Throttle {
        &self.shared.stderr
    }

    /// The line of its standard error that most likely names the reason of a failure.
    pub fn stderr_summary(&self) -> Option<String> {
        stderr_summary(&self.stderr())
    }

    /// Adds a line of ours to the captured standard error.
    pub fn note(&self, text: &str) {
        self.shared.note(text);
    }

    /// Waits until the process has exited and its group is gone.
    pub async fn ended(&self) -> End {
        let mut ends = self.shared.end.subscribe();
        match ends.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(End::TimedOut),
            Err(_) => End::Lost("the process is no longer watched".into()),
        }
    }

    /// Closes its input, waits, sends SIGTERM, waits again, and kills it.
    pub async fn stop(&self) -> End {
        self.shared.stop.send_replace(true);
        self.ended().await
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The group is dropped with the task, and so killed.
        self.task.abort();
    }
}

impl Shared {
    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, text: &str) {
        self.tail().write(format!("{NOTE_PREFIX} {text}\n").as_bytes());
    }
}

/// How it ended, with the most relevant line of standard error.
fn describe(end: &End, stderr: &str) -> String {
    let end = match end {
        End::Exited(status) => format!("the program ended with status {status}"),
        End::Signalled(signal) => format!("the program was killed by signal {signal}"),
        End::TimedOut => "the program took too long".to_owned(),
        End::Lost(reason) => reason.clone(),
    };
    match stderr_summary(stderr) {
        Some(words) => format!("{end}; stderr: {words}"),
        None => end,
    }
}
