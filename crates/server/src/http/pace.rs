//! How slowly bytes may come: each part of a request has a time in all, and a minimum data rate
//! after a grace period, so that nobody holds a connection with a byte now and then.

use std::time::Duration;

use tokio::time::Instant;

/// The pace of a head or a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    begun: Instant,
    /// The time for all of it.
    within: Duration,
    /// The time before the rate counts.
    grace: Duration,
    /// Bytes a second; none for no minimum.
    rate: usize,
}

impl Pace {
    /// Begins now.
    pub(crate) fn new(within: Duration, grace: Duration, rate: usize) -> Self {
        Self { begun: Instant::now(), within, grace, rate }
    }

    /// Leaves out time in which nobody read.
    pub(crate) fn excuse(&mut self, time: Duration) {
        self.begun += time;
    }

    /// How much longer to wait for the next byte after so many.
    pub(crate) fn left(&self, received: usize) -> Duration {
        let earned = (received as u64).saturating_mul(1000).checked_div(self.rate as u64);
        let allowed = earned.map(|earned| self.grace + Duration::from_millis(earned));
        let allowed = allowed.unwrap_or(self.within).min(self.within);
        allowed.saturating_sub(self.begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn bytes_buy_time_up_to_the_time_in_all() {
        let cases = [
            // rate, received, elapsed, left
            (100, 0, 0, 5),
            (100, 0, 5, 0),
            (100, 1000, 5, 10),
            (100, 1000, 15, 0),
            (100, 1_000_000, 10, 20),
            (100, usize::MAX, 30, 0),
            (0, 0, 10, 20),
            (0, 0, 31, 0),
        ];
        for (rate, received, elapsed, left) in cases {
            let pace = Pace::new(30 * SECOND, 5 * SECOND, rate);
            tokio::time::advance(elapsed * SECOND).await;
            assert_eq!(pace.left(received), left * SECOND, "{received} bytes at {rate}");
        }
    }
}
