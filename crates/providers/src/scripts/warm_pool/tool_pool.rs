//! The warm pool of one tool, and how many processes it should hold: one more after each call that
//! found none, fewer when some were not needed for a while, none when nobody calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gantry_process::Child;

use super::StandbyMode;
use crate::file_fingerprint::FileFingerprint;
use crate::scripts::manifest::Manifest;

/// A process that ends sooner than this has not waited, but means not to.
const EARLY_EXIT: Duration = Duration::from_secs(10);

/// So many of those in a row, and no more are started.
const MAX_EARLY_EXITS: usize = 3;

/// A process that was started ahead.
#[derive(Debug)]
pub(super) struct StandbyProcess {
    pub(super) child: Child,
    /// The code that it runs.
    pub(super) fingerprint: FileFingerprint,
    pub(super) since: Instant,
    /// Bytes of memory when last looked at.
    pub(super) memory: u64,
}

/// The processes of one tool.
#[derive(Debug)]
pub(super) struct ToolPool {
    pub(super) manifest: Arc<Manifest>,
    pub(super) mode: StandbyMode,
    pub(super) waiting: VecDeque<StandbyProcess>,
    /// How many are being started.
    pub(super) starting: usize,
    pub(super) last_call: Instant,
    /// Bytes of memory of the largest when last looked at, none of which may be left.
    pub(super) size: u64,
    /// How many should wait.
    target: usize,
    /// Whether a call has shown that the tool reads its input.
    input_proven: bool,
    early_exits: usize,
    /// The fewest that waited since the time beside it.
    fewest_waiting: (usize, Instant),
    fingerprint: Option<FileFingerprint>,
}

impl ToolPool {
    pub(super) fn new(manifest: Arc<Manifest>) -> Self {
        let (mode, now) = (StandbyMode::of(&manifest), Instant::now());
        Self {
            manifest,
            mode,
            waiting: VecDeque::new(),
            starting: 0,
            last_call: now,
            size: 0,
            target: mode.minimum(),
            input_proven: mode != StandbyMode::WhenProven,
            early_exits: 0,
            fewest_waiting: (0, now),
            fingerprint: None,
        }
    }

    /// Turns to another manifest or other code: what waits is old, and what was learned too.
    fn reset(
        &mut self,
        manifest: &Arc<Manifest>,
        fingerprint: Option<FileFingerprint>,
    ) -> Vec<StandbyProcess> {
        let old = self.waiting.drain(..).collect();
        let starting = self.starting;
        *self = Self { starting, fingerprint, ..Self::new(manifest.clone()) };
        old
    }

    /// Sees that what waits is what would be started now. Gives what does not.
    pub(super) fn discard_outdated(
        &mut self,
        manifest: &Arc<Manifest>,
        fingerprint: Option<FileFingerprint>,
    ) -> Vec<StandbyProcess> {
        let same = Arc::ptr_eq(&self.manifest, manifest) || self.manifest == *manifest;
        let seen = self.fingerprint.is_none() || self.fingerprint == fingerprint;
        if !(same && seen) {
            return self.reset(manifest, fingerprint);
        }
        self.fingerprint = fingerprint;
        if self.waiting.iter().all(|it| Some(it.fingerprint) == fingerprint) {
            return Vec::new();
        }
        let (fresh, old) =
            self.waiting.drain(..).partition(|it| Some(it.fingerprint) == fingerprint);
        self.waiting = fresh;
        Vec::from(old)
    }

    /// The process that has waited longest, for a call. If there is none, more will wait.
    pub(super) fn take(&mut self, most: usize) -> Option<Child> {
        self.last_call = Instant::now();
        let taken = self.first().map(|process| process.child);
        self.fewest_waiting.0 = self.fewest_waiting.0.min(self.waiting.len());
        if taken.is_some() {
            self.early_exits = 0;
            self.target = self.target.max(1);
        } else {
            self.target = (self.target + 1).min(most);
        }
        taken
    }

    /// The one that has waited longest and lives. A call waits for this, so that no more are looked
    /// at than need be.
    fn first(&mut self) -> Option<StandbyProcess> {
        while let Some(process) = self.waiting.pop_front() {
            if !process.child.has_ended() {
                return Some(process);
            }
            self.ended(&process);
        }
        None
    }

    /// Removes those that have ended.
    pub(super) fn remove_dead(&mut self) {
        let (ended, living): (VecDeque<_>, _) =
            self.waiting.drain(..).partition(|process| process.child.has_ended());
        self.waiting = living;
        ended.iter().for_each(|process| self.ended(process));
    }

    fn ended(&mut self, process: &StandbyProcess) {
        if process.since.elapsed() < EARLY_EXIT {
            self.record_early_exit();
        }
    }

    /// A process could not be started, or ended at once.
    pub(super) fn record_early_exit(&mut self) {
        self.early_exits += 1;
        if self.early_exits == MAX_EARLY_EXITS {
            let tool = &self.manifest.name;
            tracing::warn!(%tool, "standby processes exit before they are used; standby disabled for this tool until its manifest changes");
        }
    }

    /// What a call has shown.
    pub(super) fn record_input_read(&mut self, input_read: bool) {
        if self.mode == StandbyMode::WhenProven {
            self.input_proven = input_read;
        }
    }

    /// How many more should be started.
    pub(super) fn missing(&self, most: usize) -> usize {
        if !self.input_proven || self.early_exits >= MAX_EARLY_EXITS {
            return 0;
        }
        self.target.min(most).saturating_sub(self.waiting.len() + self.starting)
    }

    /// Wants fewer when some were not needed, and gives those that need not wait any longer.
    pub(super) fn shrink(&mut self, idle: Duration) -> Vec<StandbyProcess> {
        let minimum = self.mode.minimum();
        if self.last_call.elapsed() >= idle {
            self.target = minimum;
        } else if self.fewest_waiting.1.elapsed() >= idle / 4 {
            let needed = self.target.saturating_sub(self.fewest_waiting.0);
            self.target = needed.max(minimum).max(1.min(self.target));
            self.fewest_waiting = (self.waiting.len(), Instant::now());
        }
        self.waiting.drain(self.target.min(self.waiting.len())..).collect()
    }

    /// Looks at how much memory those that wait hold.
    pub(super) fn measure(&mut self) {
        for process in &mut self.waiting {
            process.memory = process.child.memory();
        }
        self.size = self.waiting.iter().map(|process| process.memory).max().unwrap_or(self.size);
    }

    /// Bytes of memory of all that wait.
    pub(super) fn memory(&self) -> u64 {
        self.waiting.iter().map(|process| process.memory).sum()
    }

    /// Processes that wait or soon will.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.starting
    }
}
