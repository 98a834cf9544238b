//! The record as its writers see it: lines go in, and a thread of its own takes care of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

use super::chain::Seal;
use super::error::AuditError;
use super::pen::Pen;
use super::queue::Queue;
use super::settings::AuditSettings;

/// The record of this program. Nothing is made on the disk before there is a line to write.
#[derive(Debug)]
pub struct Journal {
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
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) written: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) is_failing: AtomicBool,
}

/// Where a record is kept and how it is told apart.
#[derive(Clone)]
pub(super) struct Shelf {
    pub(super) folder: PathBuf,
    pub(super) seal: Seal,
    /// Writes a moment as text.
    pub(super) stamp: fn(SystemTime) -> String,
    /// Who writes.
    pub(super) program: String,
}

impl Journal {
    /// A record in a folder. The key is what makes it hard to change; the program is named at the
    /// head of each volume.
    pub fn open(
        folder: PathBuf,
        key: &[u8; 32],
        stamp: fn(SystemTime) -> String,
        program: String,
        settings: AuditSettings,
    ) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::new(settings.waiting, settings.batch));
        let counters = Arc::<Counters>::default();
        let settings = Arc::new(Mutex::new(settings));
        let shelf = Shelf { folder, seal: Seal::new(key), stamp, program };
        let pen = Pen::new(shelf, queue.clone(), counters.clone(), settings.clone());
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = Mutex::new(Some(thread.spawn(move || pen.run())?));
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
        }
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

impl Drop for Journal {
    fn drop(&mut self) {
        // Without this the thread would wait for lines for ever.
        self.queue.close();
    }
}
