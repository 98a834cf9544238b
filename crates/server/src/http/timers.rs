//! Timers of a connection: a reusable timer, and the deadline of a read with a minimum data rate.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Longer durations would overflow.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// A timer that is kept from one use to the next: to set one is a lock and often a system call, and
/// most are never needed. It is not reset to a later deadline: when it fires too early, it is set
/// again.
#[derive(Debug, Default)]
pub(crate) struct ReusableTimer(Option<Pin<Box<Sleep>>>);

/// A timer that is set.
#[derive(Debug)]
pub(crate) struct Elapsed<'a> {
    sleep: &'a mut Option<Pin<Box<Sleep>>>,
    deadline: Instant,
}

impl ReusableTimer {
    /// Sets it to fire after `time`.
    pub(crate) fn after(&mut self, time: Duration) -> Elapsed<'_> {
        Elapsed { sleep: &mut self.0, deadline: Instant::now() + time.min(NEVER) }
    }
}

impl Future for Elapsed<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(sleep.as_mut().poll(context));
            if sleep.deadline() == deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

/// The deadline of a head or a body: a total time, and a minimum data rate after a grace period, so
/// that no client holds a connection with a byte now and then (slowloris).
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadDeadline {
    started: Instant,
    /// The total time.
    within: Duration,
    /// The time before the rate holds.
    grace: Duration,
    /// Bytes per second; zero for no minimum.
    rate: usize,
}

impl ReadDeadline {
    /// A deadline from now on.
    pub(crate) fn new(within: Duration, grace: Duration, rate: usize) -> Self {
        Self { started: Instant::now(), within, grace, rate }
    }

    /// Extends it by a time in which the server did not read.
    pub(crate) fn extend(&mut self, time: Duration) {
        self.started += time;
    }

    /// How long to wait for the next byte after `received` bytes.
    pub(crate) fn left(&self, received: usize) -> Duration {
        let earned = (received as u64).saturating_mul(1000).checked_div(self.rate as u64);
        let allowed = earned.map(|earned| self.grace + Duration::from_millis(earned));
        let allowed = allowed.unwrap_or(self.within).min(self.within);
        allowed.saturating_sub(self.started.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn it_fires_at_the_last_deadline() {
        let mut timer = ReusableTimer::default();
        for seconds in [5, 1, 3, 2] {
            let start = Instant::now();
            for abandoned in [1, 4, 9] {
                assert!(timer.after(abandoned * SECOND).now_or_never().is_none(), "abandoned");
            }
            timer.after(seconds * SECOND).await;
            assert_eq!(start.elapsed().as_secs(), u64::from(seconds));
            tokio::time::sleep(10 * SECOND).await;
        }
        assert!(timer.after(Duration::MAX).now_or_never().is_none(), "no duration is too long");
    }

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
            let deadline = ReadDeadline::new(30 * SECOND, 5 * SECOND, rate);
            tokio::time::advance(elapsed * SECOND).await;
            assert_eq!(deadline.left(received), left * SECOND, "{received} bytes at {rate}");
        }
    }
}
