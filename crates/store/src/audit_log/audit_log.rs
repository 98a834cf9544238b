//! The record as its writers see it: lines go in, and a thread of its own takes care of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

use super::anchor::{Anchor, Position};
use super::chain::Seal;
use super::error::AuditError;
use super::index;
use super::queue::Queue;
use super::settings::AuditSettings;
use super::writer::AuditWriter;

/// The record of this program. Nothing is made on the disk before there is a line to write.
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
    /// Lines in the record.
    pub written: u64,
    /// Lines that were lost, because there was no room to keep them until they could be written.
    pub dropped: u64,
    /// Whether the record can not be written at present.
    pub is_failing: bool,
    /// Whether the log is larger than it may be, and too young to be removed.
    pub is_over: bool,
    /// Whether the log does not go on from where it was: it was emptied, cut or replaced.
    pub is_cut: bool,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) written: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) is_failing: AtomicBool,
    pub(super) is_over: AtomicBool,
    pub(super) is_cut: AtomicBool,
    /// How far the log is on the disk.
    pub(super) position: Mutex<Option<Position>>,
}

/// Where a record is kept and how it is told apart.
#[derive(Clone)]
pub(super) struct AuditDir {
    pub(super) folder: PathBuf,
    pub(super) seal: Seal,
    /// Writes a moment as text.
    pub(super) stamp: fn(SystemTime) -> String,
    /// Who writes.
    pub(super) program: String,
    /// How far the list of segments was when that was last noted.
    pub(super) anchor: Option<Anchor>,
}

impl AuditLog {
    /// A record in a folder. The key is what makes it hard to change; the program is named at the
    /// head of each volume. The anchors say how far the log was, as far as that is known.
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

    /// Changes how long and how much is kept, from the next volume on.
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

    /// Writes what is left, ends the volume and waits for that. What comes later is lost.
    pub fn close(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer of the audit record ended early; records were lost");
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        // Without this the thread would wait for lines for ever.
        self.queue.close();
    }
}
