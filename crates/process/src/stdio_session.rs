//! A child that is spoken to line by line for as long as it is wanted. One task owns the process
//! and its pipes; when it ends, for whatever reason, the whole process group has ended.

mod line_writer;
mod skipped_response;
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
use crate::group::memory_of_tree;
use crate::output::{Sink, Tail};
use crate::spawn;
use gantry_transport::Throttle;
use gantry_transport::lines::LineDecoder;
use line_writer::LineWriter;
pub use line_writer::{FlushGuard, LineSender};
pub use skipped_response::SKIPPED;
use stderr_summary::last_words;
use stdio_task::{CHUNK, Input, Output, StdioTask};

/// What notes of ours begin with.
const NOTE: &str = "[gantry]";

/// How much a program that is spoken to line by line may use up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// Bytes of one line. A longer one is skipped, and noted beside standard error.
    pub line: usize,
    /// Lines that may wait, each way.
    pub queue: usize,
    /// Bytes kept from the end of standard error.
    pub stderr: usize,
    /// Bytes of standard error that are read in a second; beyond, the program has to wait.
    pub stderr_rate: u32,
    /// How many seconds' worth of them may come at once.
    pub stderr_burst: u32,
    /// How long it may take to end when its input ends, and again when it is asked to.
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
    /// Holds standard error to its rate.
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
        Self::begin(program, limits).map_err(|error| StartError::new(program, error))
    }

    fn begin(program: &Program, limits: &SessionLimits) -> io::Result<(Self, SessionLines)> {
        let (group, ends) = spawn::spawn(program)?;
        let (queue, told) = mpsc::channel(limits.queue.max(1));
        let writer = Arc::new(LineWriter::new(Sender::from_owned_fd(ends.stdin)?));
        let outgoing = LineSender::new(queue, writer.clone());
        let (heard, incoming) = mpsc::channel(limits.queue.max(1));
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
            input: Input { writer, told },
            output: Output {
                pipe: Receiver::from_owned_fd(ends.stdout)?,
                decoder: LineDecoder::new(limits.line),
                heard,
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

    /// The line of what it wrote to standard error that most likely says what is wrong.
    pub fn last_words(&self) -> Option<String> {
        last_words(&self.stderr())
    }

    /// Adds a line of our own to what it wrote to standard error.
    pub fn note(&self, text: &str) {
        self.shared.note(text);
    }

    /// Waits until the process has ended and nothing is left of its group.
    pub async fn ended(&self) -> End {
        let mut ends = self.shared.end.subscribe();
        match ends.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(End::TimedOut),
            Err(_) => End::Lost("nobody watches the process any more".into()),
        }
    }

    /// Ends its input, waits, asks it to end, waits again, and kills it.
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
        self.tail().take(format!("{NOTE} {text}\n").as_bytes());
    }
}

/// How it ended, and the last it wrote to standard error.
fn describe(end: &End, stderr: &str) -> String {
    let end = match end {
        End::Exited(status) => format!("the program ended with status {status}"),
        End::Signalled(signal) => format!("the program was ended by signal {signal}"),
        End::TimedOut => "the program took too long".to_owned(),
        End::Lost(reason) => reason.clone(),
    };
    match last_words(stderr) {
        Some(words) => format!("{end}; its last words: {words}"),
        None => end,
    }
}
