//! The audit log: one JSON line for each call, in segment files, with a hash chain (HMAC) that
//! shows every line that was changed, removed or moved by someone without the key.
//!
//! It is not in the database, where a row costs more than a whole call: [`AuditLog`] puts lines
//! into a bounded queue, and a thread chains, writes and syncs them. A call that must not proceed
//! unrecorded waits for the sync, and all that wait share one. The members of a line are up to the
//! caller.

mod chain;
mod index;
mod inspect;
mod queue;
mod reader;
mod retention;
mod segment;
mod verify;
mod writer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use chain::Seal;
use queue::Queue;
use writer::AuditWriter;

pub use chain::{Anchor, Position};
pub use reader::{Follower, SegmentFile, segments};
pub use retention::Removal;
pub use verify::{Condition, Finding, Report, SegmentReport, Span, verify};

/// The audit log of this program. Nothing is made on the disk before there is a line to write.
#[derive(Debug)]
pub struct AuditLog {
    queue: Arc<Queue>,
    counters: Arc<Counters>,
    settings: Arc<Mutex<AuditSettings>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What became of the lines so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Lines in the audit log.
    pub written: u64,
    /// Lines that were lost, because there was no room to keep them until they could be written.
    pub dropped: u64,
    /// Whether the audit log can not be written at present.
    pub is_failing: bool,
    /// Whether the log is larger than it may be, and too young to be removed.
    pub is_over: bool,
    /// Whether the log does not go on from where it was: it was emptied, cut or replaced.
    pub is_cut: bool,
}

#[derive(Debug, Default)]
struct Counters {
    written: AtomicU64,
    dropped: AtomicU64,
    is_failing: AtomicBool,
    is_over: AtomicBool,
    is_cut: AtomicBool,
    /// How far the log is on the disk.
    position: Mutex<Option<Position>>,
}

/// Where an audit log is kept and how it is told apart.
#[derive(Clone)]
struct AuditDir {
    folder: PathBuf,
    seal: Seal,
    /// Writes a moment as text.
    stamp: fn(SystemTime) -> String,
    /// Who writes.
    program: String,
    /// How far the list of segments was when that was last noted.
    anchor: Option<Anchor>,
}

impl AuditLog {
    /// A record in a folder. The key is what makes it hard to change; the program is named at the
    /// head of each segment. The anchors say how far the log was, as far as that is known.
    pub fn open(
        folder: PathBuf,
        key: &[u8; 32],
        stamp: fn(SystemTime) -> String,
        program: String,
        settings: AuditSettings,
        anchors: &[Anchor],
    ) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::new(settings.waiting, settings.batch));
        let counters = Arc::<Counters>::default();
        let settings = Arc::new(Mutex::new(settings));
        let anchor = anchors.iter().find(|anchor| anchor.file == index::FILE).cloned();
        let dir = AuditDir { folder, seal: Seal::new(key), stamp, program, anchor };
        let writer = AuditWriter::new(dir, queue.clone(), counters.clone(), settings.clone());
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = Mutex::new(Some(thread.spawn(move || writer.run())?));
        Ok(Self { queue, counters, settings, thread })
    }

    /// Takes a line, the inside of a JSON object, to be written soon. Never waits.
    pub fn note(&self, line: &[u8]) {
        self.queue.push(line);
    }

    /// Takes a line, and ends when it is durable, or with the reason why it is not.
    pub fn keep(&self, line: &[u8]) -> impl Future<Output = Result<(), AuditError>> + Send + use<> {
        let told = self.queue.push_waiting(line);
        async move { told.await.unwrap_or(Err(AuditError::Closed)) }
    }

    /// Changes how long and how much is kept, from the next segment on.
    pub fn configure(&self, change: impl FnOnce(&mut AuditSettings)) {
        change(&mut self.settings.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What became of the lines so far.
    pub fn kept(&self) -> Kept {
        Kept {
            written: self.counters.written.load(Ordering::Relaxed),
            dropped: self.counters.dropped.load(Ordering::Relaxed),
            is_failing: self.counters.is_failing.load(Ordering::Relaxed),
            is_over: self.is_over(),
            is_cut: self.counters.is_cut.load(Ordering::Relaxed),
        }
    }

    /// Whether the log is larger than it may be, and too young to be removed.
    pub fn is_over(&self) -> bool {
        self.counters.is_over.load(Ordering::Relaxed)
    }

    /// How far the log is on the disk; none if nothing was written, or if the log does not go on
    /// from where it was.
    pub fn position(&self) -> Option<Position> {
        self.counters.position.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes what is left, ends the segment and waits for that. What comes later is lost.
    pub fn close(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the audit log writer ended early; records were lost");
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        // Without this the thread would wait for lines for ever.
        self.queue.close();
    }
}

/// Why the audit log cannot be written or read. Every call that waits for one write is told the same.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuditError {
    /// A file cannot be written.
    #[error("`{}` cannot be written: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Arc<std::io::Error>,
    },
    /// A file cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Arc<std::io::Error>,
    },
    /// Another program holds the list of segments for longer than we wait.
    #[error("`{}` is locked by another program; retry when that one has ended", .0.display())]
    Locked(PathBuf),
    /// More waits to be written than may.
    #[error("{0} bytes of audit records wait to be written, which is the limit")]
    Crowded(usize),
    /// The audit log has been closed.
    #[error("the audit log is closed")]
    Closed,
}

impl AuditError {
    fn write(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Write { path, source: Arc::new(source) }
    }

    fn read(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Read { path, source: Arc::new(source) }
    }
}

/// Every limit of the audit log, with its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// How long segments are kept after they were closed.
    pub retain: Duration,
    /// How many bytes all segments may have together; the oldest go first.
    pub size: u64,
    /// How old a segment must be before it is removed for size: what a caller does in a few minutes
    /// must not remove what it did before.
    pub min_age: Duration,
    /// How often it is looked whether something can be removed, while there is too much.
    pub review: Duration,
    /// How large a segment may become before the next is begun.
    pub segment: u64,
    /// How old a segment may become before the next is begun: only whole segments can be removed.
    pub age: Duration,
    /// Bytes of lines that may wait to be written.
    pub waiting: usize,
    /// How long lines are gathered that nobody waits for.
    pub gather: Duration,
    /// How many bytes of lines are gathered at most.
    pub batch: usize,
    /// How often what was written is made durable when nobody waits for it.
    pub sync: Duration,
    /// How large the list of segments may become before it is written again.
    pub index: u64,
    /// How long to wait for another program that changes the list of segments.
    pub busy: Duration,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            retain: Duration::from_secs(90 * 24 * 3600),
            size: 1 << 30,
            min_age: Duration::from_secs(7 * 24 * 3600),
            review: Duration::from_secs(60),
            segment: 64 << 20,
            age: Duration::from_secs(24 * 3600),
            waiting: 4 << 20,
            gather: Duration::from_millis(50),
            batch: 64 << 10,
            sync: Duration::from_secs(1),
            index: 1 << 20,
            busy: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests;
