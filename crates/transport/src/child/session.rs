//! A child that is spoken to line by line for as long as it is wanted. One task owns the process
//! and its pipes; when it ends, for whatever reason, the whole process group has ended.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio::{join, select};

use super::group::{Group, Watch, memory_of};
use super::sink::{Sink, Tail};
use super::{End, LAST_WAIT, Program, StartError, spawn};
use crate::lines::{LineDecoder, to_line};

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Bytes of standard output read after the end, when a process that left the group may still write.
const LAST: usize = 8 << 20;

/// Characters of the last words that an end is told with.
const LAST_WORDS: usize = 300;

/// How much a program that is spoken to line by line may use up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// Bytes of one line. A longer one is skipped, and noted beside standard error.
    pub line: usize,
    /// Lines that may wait, each way.
    pub queue: usize,
    /// Bytes kept from the end of standard error.
    pub stderr: usize,
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
    /// Messages to the program, each written as one line.
    pub outgoing: mpsc::Sender<Bytes>,
    /// Lines from the program; the last item says how it ended.
    pub incoming: mpsc::Receiver<Result<Bytes, String>>,
}

#[derive(Debug)]
struct Shared {
    tail: Mutex<Tail>,
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
        let (outgoing, told) = mpsc::channel(limits.queue.max(1));
        let (heard, incoming) = mpsc::channel(limits.queue.max(1));
        let shared = Arc::new(Shared {
            tail: Mutex::new(Tail::new(limits.stderr)),
            end: watch::Sender::new(None),
            stop: watch::Sender::new(false),
        });
        let id = group.id();
        let talk = Talk {
            watch: group.watch()?,
            group,
            input: Input {
                pipe: Some(Sender::from_owned_fd(ends.stdin)?),
                told,
                rest: Bytes::new(),
            },
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
        let task = tokio::spawn(talk.run());
        Ok((Self { id, shared, task }, SessionLines { outgoing, incoming }))
    }

    /// The number of the process, which is that of its group too.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The bytes of memory that the process holds now; none when it has ended.
    pub fn memory(&self) -> u64 {
        if self.shared.end.borrow().is_some() { 0 } else { memory_of(self.id) }
    }

    /// The end of what it wrote to standard error so far, with the notes between.
    pub fn stderr(&self) -> String {
        self.shared.tail().text()
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
    fn tail(&self) -> std::sync::MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, text: &str) {
        self.tail().take(format!("[gantry] {text}\n").as_bytes());
    }
}

/// What the task owns.
struct Talk {
    group: Group,
    watch: Watch,
    input: Input,
    output: Output,
    stderr: Receiver,
    grace: Duration,
    shared: Arc<Shared>,
}

struct Input {
    /// Gone when nothing more is to be written, which is how the program sees the end.
    pipe: Option<Sender>,
    told: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

struct Output {
    pipe: Receiver,
    decoder: LineDecoder,
    heard: mpsc::Sender<Result<Bytes, String>>,
    chunk: Vec<u8>,
}

impl Talk {
    async fn run(mut self) {
        let mut stop = self.shared.stop.subscribe();
        let ended = select! {
            biased;
            // A watch that fails is found again, and told, by `reap`.
            _ = self.watch.ended() => true,
            _ = stop.wait_for(|stop| *stop) => false,
            // Who closes standard output has nothing more to say.
            () = flow(&mut self.input, &mut self.output, &mut self.stderr, &self.shared) => false,
        };
        if !ended {
            self.input.pipe = None;
            if !self.wait(self.grace).await {
                self.group.ask();
                self.wait(self.grace).await;
            }
        }
        // The leader is not reaped yet, so the group's number cannot belong to anyone else.
        self.group.kill();
        let end = self.reap().await;
        self.finish(end).await;
    }

    /// Lets it go on for a while; says whether it has ended.
    async fn wait(&mut self, time: Duration) -> bool {
        let rest = async {
            flow(&mut self.input, &mut self.output, &mut self.stderr, &self.shared).await;
            pending().await
        };
        select! {
            biased;
            _ = self.watch.ended() => true,
            () = sleep(time) => false,
            () = rest => false,
        }
    }

    async fn reap(&mut self) -> End {
        let id = self.group.id();
        let status = match timeout(LAST_WAIT, self.watch.ended()).await {
            Ok(Ok(())) => self.group.reap(),
            Ok(Err(error)) => Err(error),
            Err(_) => return End::Lost(format!("process {id} was killed but has not ended yet")),
        };
        match status {
            Ok(status) => End::from(status),
            Err(error) => End::Lost(format!("process {id} could not be waited for: {error}")),
        }
    }

    /// Passes on what is left in the pipes, and says how it ended.
    async fn finish(&mut self, end: End) {
        let mut chunk = vec![0; CHUNK];
        while let Ok(length @ 1..) = rustix::io::read(&self.stderr, &mut chunk[..]) {
            self.shared.tail().take(&chunk[..length]);
        }
        let stray = timeout(self.grace, self.output.drain(&self.shared)).await.unwrap_or(true);
        if stray {
            self.group.kill_strays();
        }
        let reason = describe(&end, &self.shared.tail().text());
        self.shared.end.send_replace(Some(end));
        // Whoever hears the lines may have left.
        let _ = timeout(self.grace, self.output.heard.send(Err(reason))).await;
    }
}

/// Moves bytes for as long as it is awaited, and may be dropped and begun again at any time. It
/// ends when the program closes its standard output.
async fn flow(input: &mut Input, output: &mut Output, stderr: &mut Receiver, shared: &Shared) {
    select! {
        () = output.flow(shared) => (),
        _ = async { join!(input.flow(), keep(stderr, shared)) } => (),
    }
}

/// Keeps the end of standard error.
async fn keep(stderr: &mut Receiver, shared: &Shared) {
    let mut chunk = vec![0; 8 << 10];
    loop {
        match stderr.read(&mut chunk).await {
            Ok(length @ 1..) => drop(shared.tail().take(&chunk[..length])),
            _ => return pending().await,
        }
    }
}

impl Input {
    async fn flow(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            if self.rest.is_empty() {
                match self.told.recv().await {
                    Some(message) => self.rest = to_line(&message),
                    None => break,
                }
            }
            // A program that reads no more is about to end, or will be found silent.
            if pipe.write_buf(&mut self.rest).await.is_err() {
                break;
            }
        }
        self.pipe = None;
        pending().await
    }
}

impl Output {
    async fn flow(&mut self, shared: &Shared) {
        loop {
            self.pass(shared).await;
            match self.pipe.read(&mut self.chunk).await {
                Ok(length @ 1..) => self.decoder.feed(&self.chunk[..length]),
                _ => return,
            }
        }
    }

    /// Passes on the lines that are whole. One leaves the decoder only when there is room for it,
    /// so that none is lost when this is dropped.
    async fn pass(&mut self, shared: &Shared) {
        loop {
            let Ok(room) = self.heard.reserve().await else { return };
            match self.decoder.next_line() {
                Some(Ok(line)) => room.send(Ok(line)),
                Some(Err(long)) => shared.note(&long.to_string()),
                None => return,
            }
        }
    }

    /// Passes on what was written before the end. Says whether someone still holds the pipe open.
    async fn drain(&mut self, shared: &Shared) -> bool {
        let mut total = 0;
        while total < LAST {
            self.pass(shared).await;
            match rustix::io::read(&self.pipe, &mut self.chunk[..]) {
                Ok(0) => break,
                Ok(length) => {
                    self.decoder.feed(&self.chunk[..length]);
                    total += length;
                }
                Err(_) => return true,
            }
        }
        if let Some(Ok(line)) = self.decoder.finish() {
            let _ = self.heard.send(Ok(line)).await;
        }
        false
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
    let words = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    match words {
        Some(words) => {
            let words: String = words.chars().take(LAST_WORDS).collect();
            format!("{end}; its last words: {words}")
        }
        None => end,
    }
}
