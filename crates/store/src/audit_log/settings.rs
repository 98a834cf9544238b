//! The limits of the record.

use std::time::Duration;

/// Every limit of the record, with its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// How long volumes are kept after they were closed.
    pub retain: Duration,
    /// How many bytes all volumes may have together; the oldest go first.
    pub size: u64,
    /// How old a segment must be before it is removed for size: what a caller does in a few minutes
    /// must not remove what it did before.
    pub min_age: Duration,
    /// How often it is looked whether something can be removed, while there is too much.
    pub review: Duration,
    /// How large a volume may become before the next is begun.
    pub segment: u64,
    /// How old a volume may become before the next is begun: only whole volumes can be removed.
    pub age: Duration,
    /// Bytes of lines that may wait to be written.
    pub waiting: usize,
    /// How long lines are gathered that nobody waits for.
    pub gather: Duration,
    /// How many bytes of lines are gathered at most.
    pub batch: usize,
    /// How often what was written is made durable when nobody waits for it.
    pub sync: Duration,
    /// How large the list of volumes may become before it is written anew.
    pub index: u64,
    /// How long to wait for another program that changes the list of volumes.
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
