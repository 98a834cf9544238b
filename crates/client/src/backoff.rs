//! How long to wait before the next try.

use std::time::Duration;

use rand::RngExt;

/// Waits that double from try to try, each shortened by chance so that many do not come at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    /// Before the second try.
    pub first: Duration,
    /// Never more than this.
    pub at_most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(250), at_most: Duration::from_secs(30) }
    }
}

impl Backoff {
    /// The wait after so many failures in a row.
    pub fn after(&self, failures: u32) -> Duration {
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(20));
        doubled.min(self.at_most).mul_f64(rand::rng().random_range(0.5..=1.0))
    }
}
