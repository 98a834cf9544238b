//! What is kept of each tool: sums only, so that what two programs know can be added.

use std::collections::BTreeMap;

/// What is known of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolStatistics {
    /// The tool.
    pub tool: String,
    /// Calls that have ended.
    pub calls: u64,
    /// How long they took together, in microseconds.
    pub micros: u64,
    /// Those that failed, by type of error.
    pub errors: BTreeMap<String, u64>,
    /// How many took at least so many microseconds, and less than the next.
    pub latency: BTreeMap<u64, u64>,
    /// Calls that found a process waiting.
    pub standby_hits: u64,
    /// Calls that found none.
    pub standby_misses: u64,
    /// When the last call ended, in milliseconds since 1970; 0 when there was none.
    pub last_call: u64,
}

impl ToolStatistics {
    /// What has been added since an earlier state of the same counters; none when nothing was.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let added = Self {
            tool: self.tool.clone(),
            calls: self.calls.saturating_sub(earlier.calls),
            micros: self.micros.saturating_sub(earlier.micros),
            errors: grown(&self.errors, &earlier.errors),
            latency: grown(&self.latency, &earlier.latency),
            standby_hits: self.standby_hits.saturating_sub(earlier.standby_hits),
            standby_misses: self.standby_misses.saturating_sub(earlier.standby_misses),
            last_call: self.last_call,
        };
        let counted = added.calls + added.standby_hits + added.standby_misses;
        // Counters are read one by one while calls go on, so that the parts of a call may be seen
        // before its sum.
        let is_new = counted > 0 || !added.errors.is_empty() || !added.latency.is_empty();
        is_new.then_some(added)
    }
}

fn grown<K: Ord + Clone>(now: &BTreeMap<K, u64>, before: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    let added = now.iter().map(|(key, count)| {
        (key.clone(), count.saturating_sub(before.get(key).copied().unwrap_or(0)))
    });
    added.filter(|(_, count)| *count > 0).collect()
}
