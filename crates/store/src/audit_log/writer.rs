//! The writer thread: gathers lines, appends and syncs them, and keeps them when they cannot be
//! written now.

mod rotation;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::index::Contents;
use super::queue::{Batch, Queue, Waiter};
use super::segment::Segment;
use super::{AuditDir, AuditError, AuditSettings, Counters};

pub(super) use rotation::{is_left, rest};

/// How long to wait before a write that failed is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// The state of the thread.
pub(super) struct AuditWriter {
    dir: AuditDir,
    queue: Arc<Queue>,
    counters: Arc<Counters>,
    settings: Arc<Mutex<AuditSettings>>,
    segment: Option<Segment>,
    /// Lines that are not written yet, each with a line's end.
    backlog: Vec<u8>,
    /// Lines that were lost and not told of.
    dropped: u64,
    /// Since when something is written and not durable.
    unsynced: Option<Instant>,
    /// Whether the name of the segment is durable.
    is_directory_synced: bool,
    /// What the list of segments said when it was last in hand.
    contents: Option<Arc<Contents>>,
    /// When to look again whether something can be removed, while there is too much.
    review_at: Option<Instant>,
}

impl AuditWriter {
    pub(super) fn new(
        dir: AuditDir,
        queue: Arc<Queue>,
        counters: Arc<Counters>,
        settings: Arc<Mutex<AuditSettings>>,
    ) -> Self {
        Self {
            dir,
            queue,
            counters,
            settings,
            segment: None,
            backlog: Vec::new(),
            dropped: 0,
            unsynced: None,
            is_directory_synced: false,
            contents: None,
            review_at: None,
        }
    }

    /// Writes until the journal is closed.
    pub(super) fn run(mut self) {
        loop {
            let settings = self.settings();
            let (batch, is_last) = self.queue.take(self.max_wait(&settings), settings.gather);
            let waiters = self.accept_batch(batch, settings.waiting);
            let is_due = self.unsynced.is_some_and(|since| since.elapsed() >= settings.sync);
            let written = match waiters.is_empty() {
                true => self.write(&settings, is_due),
                false => self.write(&settings, true).and_then(|()| self.sync_directory()),
            };
            self.report_state(&written);
            if self.review_at.is_some_and(|at| Instant::now() >= at) {
                self.review_at = Some(Instant::now() + settings.review);
                if let Err(error) = self.review(&settings) {
                    tracing::warn!(%error, "nothing can be removed from the audit log now");
                }
            }
            for waiter in waiters {
                // A call that was given up does not listen.
                let _ = waiter.send(written.clone());
            }
            if is_last {
                return self.finish();
            }
        }
    }

    /// How long nothing has to be done if no line comes.
    fn max_wait(&self, settings: &AuditSettings) -> Option<Duration> {
        if !self.backlog.is_empty() {
            return Some(RETRY);
        }
        let synced = self.unsynced.map(|since| settings.sync.saturating_sub(since.elapsed()));
        let reviewed = self.review_at.map(|at| at.saturating_duration_since(Instant::now()));
        synced.into_iter().chain(reviewed).min()
    }

    /// Takes over what was gathered, if there is room for it; who waits in vain is told so.
    fn accept_batch(&mut self, batch: Batch, room: usize) -> Vec<Waiter> {
        let mut lost = batch.dropped;
        let mut waiters = batch.waiters;
        // What is gathered is bounded by itself; only what could not be written adds up.
        if self.backlog.is_empty() {
            self.backlog = batch.text;
        } else if self.backlog.len() + batch.text.len() <= room {
            self.backlog.extend_from_slice(&batch.text);
        } else {
            lost += memchr::memchr_iter(b'\n', &batch.text).count() as u64;
            for waiter in std::mem::take(&mut waiters) {
                let _ = waiter.send(Err(AuditError::Crowded(self.backlog.len())));
            }
        }
        if lost > 0 {
            if self.dropped == 0 {
                tracing::error!(
                    "audit records are being dropped: the audit log cannot be written fast enough"
                );
            }
            self.dropped += lost;
            self.counters.dropped.fetch_add(lost, Ordering::Relaxed);
        }
        waiters
    }

    /// Writes what there is, and makes it durable if that is wanted.
    fn write(&mut self, settings: &AuditSettings, sync: bool) -> Result<(), AuditError> {
        if !self.backlog.is_empty() {
            self.ensure_segment(settings)?;
            let segment = self.segment.as_mut().ok_or(AuditError::Closed)?;
            segment.append(&self.backlog, self.dropped)?;
            let lines = memchr::memchr_iter(b'\n', &self.backlog).count() as u64;
            self.counters.written.fetch_add(lines, Ordering::Relaxed);
            self.backlog.clear();
            self.dropped = 0;
            self.unsynced.get_or_insert_with(Instant::now);
        }
        match (&self.segment, self.unsynced) {
            (Some(segment), Some(_)) if sync => {
                let synced = segment.sync();
                self.unsynced = None;
                if synced.is_err() {
                    // What the kernel could not write it may have forgotten: another segment is
                    // begun, and this one is judged as one that was left.
                    self.segment = None;
                } else {
                    self.publish();
                }
                synced
            }
            _ => Ok(()),
        }
    }

    fn report_state(&self, written: &Result<(), AuditError>) {
        let was_failing = self.counters.is_failing.swap(written.is_err(), Ordering::Relaxed);
        match written {
            Err(error) if !was_failing => {
                tracing::error!(%error, "the audit log cannot be written; free disk space or repair the folder");
            }
            Ok(()) if was_failing => tracing::info!("the audit log is written again"),
            _ => {}
        }
    }

    fn finish(mut self) {
        let lost = self.dropped + memchr::memchr_iter(b'\n', &self.backlog).count() as u64;
        if lost > 0 {
            tracing::error!(records = lost, "stopping; audit records were lost");
        }
        if let Err(error) = self.close() {
            tracing::error!(%error, "the audit log was not closed cleanly");
        }
        self.publish();
    }

    fn settings(&self) -> AuditSettings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn now(&self) -> String {
        (self.dir.stamp)(SystemTime::now())
    }
}
