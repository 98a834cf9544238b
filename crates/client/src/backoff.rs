//! Exponential backoff with jitter.

use std::time::Duration;

use rand::RngExt;

/// Waits that double from attempt to attempt, each shortened by a random part so that many clients
/// do not retry at once.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_double_up_to_the_most_there_is() {
        let backoff =
            Backoff { first: Duration::from_millis(100), at_most: Duration::from_secs(1) };
        let longest = [(0, 100), (1, 100), (2, 200), (3, 400), (4, 800), (5, 1000), (99, 1000)];
        for (failures, longest) in longest {
            let longest = Duration::from_millis(longest);
            let waits: HashSet<_> = (0..100).map(|_| backoff.after(failures)).collect();
            let within = |wait: &Duration| (longest / 2..=longest).contains(wait);
            assert!(waits.iter().all(within), "{failures}: {waits:?}");
            // Chance is to set them apart.
            assert!(waits.len() > 10, "{failures}: {waits:?}");
        }
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_allowed_and_none_shrinks_for_long(
            first in 100_u64..100_000_000,
            at_most in 0_u64..100_000_000,
            failures in any::<u32>(),
        ) {
            let at_most = Duration::from_millis(at_most);
            let backoff = Backoff { first: Duration::from_millis(first), at_most };
            let wait = backoff.after(failures);
            prop_assert!(wait <= at_most);
            // What chance takes away, at most half, the next failure gives back; but for a rounding.
            let next = backoff.after(failures.saturating_add(1)) + Duration::from_nanos(1);
            prop_assert!(next >= wait || next >= at_most / 2, "{wait:?}, then {next:?}");
        }
    }
}
