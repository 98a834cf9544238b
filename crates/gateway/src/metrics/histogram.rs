//! How long things took, as counts in buckets: small, mergeable, and true to about 6 %.
//!
//! Each doubling of the time is cut into eight equal steps; below eight microseconds each has a
//! bucket of its own. Adding two histograms is adding their counts.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Steps in a doubling, as a power of two.
const STEP_BITS: u32 = 3;
const STEPS: usize = 1 << STEP_BITS;
/// The last doubling begins here, as a power of two: 19 hours. What takes longer is in the last
/// bucket.
const LAST_DOUBLING: u32 = 36;
const BUCKETS: usize = (LAST_DOUBLING - STEP_BITS + 2) as usize * STEPS;

/// How long things took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Counts by bucket; those that are 0 are not there.
    counts: BTreeMap<usize, u64>,
    sum: Duration,
}

impl Histogram {
    /// Counts one.
    pub fn record(&mut self, took: Duration) {
        *self.counts.entry(bucket(micros(took))).or_default() += 1;
        self.sum += took;
    }

    /// Adds everything that another has counted.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.counts {
            *self.counts.entry(*bucket).or_default() += count;
        }
        self.sum += other.sum;
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How long they took together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// How many took less than that, as far as whole buckets can tell.
    pub fn count_below(&self, bound: Duration) -> u64 {
        self.counts.range(..bucket(micros(bound))).map(|(_, count)| count).sum()
    }

    /// The time within which that part of all ended, such as 0.99; none when nothing was counted.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * part.clamp(0.0, 1.0)).ceil().max(1.0);
        let mut seen = 0;
        self.counts.iter().find_map(|(bucket, count)| {
            seen += count;
            (seen as f64 >= wanted).then(|| Duration::from_micros(middle(*bucket)))
        })
    }

    /// The counts, each with the microseconds at which its bucket begins, in rising order.
    pub fn encode(&self) -> Vec<(u64, u64)> {
        self.counts.iter().map(|(bucket, count)| (begin(*bucket), *count)).collect()
    }

    /// A histogram from counts that were encoded, even with other buckets than these.
    pub fn decode(encoded: impl IntoIterator<Item = (u64, u64)>, sum: Duration) -> Self {
        let mut decoded = Self { sum, ..Self::default() };
        for (micros, count) in encoded.into_iter().filter(|(_, count)| *count > 0) {
            *decoded.counts.entry(bucket(micros)).or_default() += count;
        }
        decoded
    }
}

/// A histogram that many threads count in without a lock.
#[derive(Debug)]
pub(super) struct Counters {
    counts: [AtomicU64; BUCKETS],
    micros: AtomicU64,
}

impl Counters {
    pub(super) fn record(&self, took: Duration) {
        let micros = micros(took);
        self.counts[bucket(micros)].fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
    }

    pub(super) fn read(&self) -> Histogram {
        let counts = self.counts.iter().map(|count| count.load(Relaxed)).enumerate();
        Histogram {
            counts: counts.filter(|(_, count)| *count > 0).collect(),
            sum: Duration::from_micros(self.micros.load(Relaxed)),
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; BUCKETS], micros: AtomicU64::new(0) }
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// The bucket of a time.
fn bucket(micros: u64) -> usize {
    if micros < STEPS as u64 {
        return micros as usize;
    }
    let doubling = micros.ilog2();
    if doubling > LAST_DOUBLING {
        return BUCKETS - 1;
    }
    let step = (micros >> (doubling - STEP_BITS)) as usize % STEPS;
    (doubling - STEP_BITS + 1) as usize * STEPS + step
}

/// The first microsecond of a bucket.
fn begin(bucket: usize) -> u64 {
    match bucket / STEPS {
        0 => bucket as u64,
        row => ((STEPS + bucket % STEPS) as u64) << (row - 1),
    }
}

/// What stands for all times of a bucket.
fn middle(bucket: usize) -> u64 {
    match bucket / STEPS {
        0 => bucket as u64,
        row => begin(bucket) + (1 << (row - 1)) / 2,
    }
}

#[cfg(test)]
mod tests;
