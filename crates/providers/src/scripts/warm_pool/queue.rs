//! The processes that wait for the calls of one tool, and how many there should be: one more after
//! each call that found none, fewer when some were not needed for a while, none when nobody calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gantry_process::Child;

use super::Wish;
use crate::file_fingerprint::FileFingerprint;
use crate::scripts::manifest::Manifest;

/// A process that ends sooner than this has not waited, but means not to.
const SHORT: Duration = Duration::from_secs(10);

/// So many of those in a row, and no more are started.
const MOST_DEATHS: usize = 3;

/// A process that was started ahead.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) child: Child,
    /// The code that it runs.
    pub(super) fingerprint: FileFingerprint,
    pub(super) since: Instant,
    /// Bytes of memory when last looked at.
    pub(super) memory: u64,
}

/// The processes of one tool.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) manifest: Arc<Manifest>,
    pub(super) wish: Wish,
    pub(super) waiting: VecDeque<Waiter>,
    /// How many are being started.
    pub(super) starting: usize,
    pub(super) last_call: Instant,
    /// Bytes of memory of the largest when last looked at, none of which may be left.
    pub(super) size: u64,
    /// How many should wait.
    wanted: usize,
    /// Whether a call has shown that the tool reads its input.
    proven: bool,
    deaths: usize,
    /// The fewest that waited since the time beside it.
    least: (usize, Instant),
    fingerprint: Option<FileFingerprint>,
}

impl Queue {
    pub(super) fn new(manifest: Arc<Manifest>) -> Self {
        let (wish, now) = (Wish::of(&manifest), Instant::now());
        Self {
            manifest,
            wish,
            waiting: VecDeque::new(),
            starting: 0,
            last_call: now,
            size: 0,
            wanted: wish.floor(),
            proven: wish != Wish::WhenProven,
            deaths: 0,
            least: (0, now),
            fingerprint: None,
        }
    }

    /// Turns to another manifest or other code: what waits is old, and what was learned too.
    fn renew(
        &mut self,
        manifest: &Arc<Manifest>,
        fingerprint: Option<FileFingerprint>,
    ) -> Vec<Waiter> {
        let old = self.waiting.drain(..).collect();
        let starting = self.starting;
        *self = Self { starting, fingerprint, ..Self::new(manifest.clone()) };
        old
    }

    /// Sees that what waits is what would be started now. Gives what does not.
    pub(super) fn compare(
        &mut self,
        manifest: &Arc<Manifest>,
        fingerprint: Option<FileFingerprint>,
    ) -> Vec<Waiter> {
        let same = Arc::ptr_eq(&self.manifest, manifest) || self.manifest == *manifest;
        let seen = self.fingerprint.is_none() || self.fingerprint == fingerprint;
        if !(same && seen) {
            return self.renew(manifest, fingerprint);
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
        let taken = self.first().map(|waiter| waiter.child);
        self.least.0 = self.least.0.min(self.waiting.len());
        if taken.is_some() {
            self.deaths = 0;
            self.wanted = self.wanted.max(1);
        } else {
            self.wanted = (self.wanted + 1).min(most);
        }
        taken
    }

    /// The one that has waited longest and lives. A call waits for this, so that no more are looked
    /// at than need be.
    fn first(&mut self) -> Option<Waiter> {
        while let Some(waiter) = self.waiting.pop_front() {
            if !waiter.child.has_ended() {
                return Some(waiter);
            }
            self.ended(&waiter);
        }
        None
    }

    /// Removes those that have ended.
    pub(super) fn bury(&mut self) {
        let (ended, living): (VecDeque<_>, _) =
            self.waiting.drain(..).partition(|waiter| waiter.child.has_ended());
        self.waiting = living;
        ended.iter().for_each(|waiter| self.ended(waiter));
    }

    fn ended(&mut self, waiter: &Waiter) {
        if waiter.since.elapsed() < SHORT {
            self.died();
        }
    }

    /// A process could not be started, or ended at once.
    pub(super) fn died(&mut self) {
        self.deaths += 1;
        if self.deaths == MOST_DEATHS {
            let tool = &self.manifest.name;
            tracing::warn!(%tool, "its processes end before they are called; none will wait until it changes");
        }
    }

    /// What a call has shown.
    pub(super) fn learn(&mut self, input_read: bool) {
        if self.wish == Wish::WhenProven {
            self.proven = input_read;
        }
    }

    /// How many more should be started.
    pub(super) fn missing(&self, most: usize) -> usize {
        if !self.proven || self.deaths >= MOST_DEATHS {
            return 0;
        }
        self.wanted.min(most).saturating_sub(self.waiting.len() + self.starting)
    }

    /// Wants fewer when some were not needed, and gives those that need not wait any longer.
    pub(super) fn shrink(&mut self, idle: Duration) -> Vec<Waiter> {
        let floor = self.wish.floor();
        if self.last_call.elapsed() >= idle {
            self.wanted = floor;
        } else if self.least.1.elapsed() >= idle / 4 {
            let needed = self.wanted.saturating_sub(self.least.0);
            self.wanted = needed.max(floor).max(1.min(self.wanted));
            self.least = (self.waiting.len(), Instant::now());
        }
        self.waiting.drain(self.wanted.min(self.waiting.len())..).collect()
    }

    /// Looks at how much memory those that wait hold.
    pub(super) fn measure(&mut self) {
        for waiter in &mut self.waiting {
            waiter.memory = waiter.child.memory();
        }
        self.size = self.waiting.iter().map(|waiter| waiter.memory).max().unwrap_or(self.size);
    }

    /// Bytes of memory of all that wait.
    pub(super) fn memory(&self) -> u64 {
        self.waiting.iter().map(|waiter| waiter.memory).sum()
    }

    /// Processes that wait or soon will.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.starting
    }
}
