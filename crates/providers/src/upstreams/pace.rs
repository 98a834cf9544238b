//! How often lists are read anew because the server says that they changed. A few times at once is
//! common while a server starts; one that says it all the time is asked once a second.

use std::time::Duration;

use tokio::time::Instant;

/// Time between two readings in the long run.
const INTERVAL: Duration = Duration::from_secs(1);

/// Readings that may follow each other without that.
const BURST: u32 = 20;

/// When lists may be read again.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When all readings so far would have happened at the usual interval.
    paid: Option<Instant>,
}

impl Pace {
    /// How long to wait before the next reading, which is counted.
    pub(super) fn next(&mut self, now: Instant) -> Duration {
        let paid = self.paid.map_or(now, |paid| paid.max(now));
        self.paid = Some(paid + INTERVAL);
        (paid - now).saturating_sub(INTERVAL * BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_changes_are_read_once_a_second() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let start = now;
        for reading in 0..100 {
            now += pace.next(now);
            let expected = INTERVAL * u32::saturating_sub(reading, BURST);
            assert_eq!(now - start, expected, "{reading}");
        }
        now += INTERVAL * BURST * 2;
        assert_eq!(pace.next(now), Duration::ZERO);
    }
}
