//! The counters of one tool.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::histogram::{Counters, Histogram};
use super::outcome_class::{ERROR_TYPES, OutcomeClass};

/// What is known of one tool since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolStatistics {
    /// Its name.
    pub name: String,
    /// Calls that have ended.
    pub calls: u64,
    /// Those that failed, by type of error.
    pub errors: BTreeMap<String, u64>,
    /// How long they took, a person's answers included.
    pub latency: Histogram,
    /// Calls that found a process waiting for them.
    pub standby_hits: u64,
    /// Calls that found none.
    pub standby_misses: u64,
    /// When the last call ended.
    pub last_call: Option<SystemTime>,
}

/// The counters of one tool. Nothing here locks or allocates while a call is counted.
#[derive(Debug)]
pub(crate) struct ToolMetrics {
    pub(super) name: String,
    /// Whether it has rows of its own in the metrics.
    pub(super) labelled: bool,
    errors: [AtomicU64; ERROR_TYPES.len()],
    latency: Counters,
    standby_hits: AtomicU64,
    standby_misses: AtomicU64,
    /// Milliseconds since 1970; 0 before the first call.
    last_call: AtomicU64,
}

impl ToolMetrics {
    pub(super) fn new(name: &str, labelled: bool) -> Self {
        Self {
            name: name.to_owned(),
            labelled,
            errors: Default::default(),
            latency: Counters::default(),
            standby_hits: AtomicU64::new(0),
            standby_misses: AtomicU64::new(0),
            last_call: AtomicU64::new(0),
        }
    }

    /// Counts one call. One that ended with questions goes on later and is counted then.
    pub(crate) fn record(&self, outcome_class: OutcomeClass, took: Duration) {
        if outcome_class == OutcomeClass::InputRequired {
            return;
        }
        if let Some(error_type) = outcome_class.error_type() {
            let index = ERROR_TYPES.iter().position(|known| *known == error_type).unwrap_or(0);
            self.errors[index].fetch_add(1, Relaxed);
        }
        self.latency.record(took);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last_call.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Counts whether a process was waiting for a call.
    pub(crate) fn note_standby(&self, hit: bool) {
        let counter = if hit { &self.standby_hits } else { &self.standby_misses };
        counter.fetch_add(1, Relaxed);
    }

    pub(super) fn statistics(&self) -> ToolStatistics {
        let errors = ERROR_TYPES.iter().zip(&self.errors);
        let errors = errors.map(|(name, count)| ((*name).to_owned(), count.load(Relaxed)));
        let latency = self.latency.read();
        let last_call = match self.last_call.load(Relaxed) {
            0 => None,
            millis => UNIX_EPOCH.checked_add(Duration::from_millis(millis)),
        };
        ToolStatistics {
            name: self.name.clone(),
            calls: latency.count(),
            errors: errors.filter(|(_, count)| *count > 0).collect(),
            latency,
            standby_hits: self.standby_hits.load(Relaxed),
            standby_misses: self.standby_misses.load(Relaxed),
            last_call,
        }
    }
}

impl ToolStatistics {
    /// Adds what is known of another tool, or of the same one elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        for (error_type, count) in &other.errors {
            *self.errors.entry(error_type.clone()).or_default() += count;
        }
        self.latency.merge(&other.latency);
        self.standby_hits += other.standby_hits;
        self.standby_misses += other.standby_misses;
        self.last_call = self.last_call.max(other.last_call);
    }
}
