//! A rate limit with backpressure: a source is read no faster than its rate, so that the writer has
//! to wait. It also reports whether, and for how long, that has been the case.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// A source that was not held back for this long is calm again.
const CALM: Duration = Duration::from_secs(2);

/// A rate limit in units per second. Charges are paid off over time; the reader waits while it owes
/// more than the burst.
#[derive(Debug)]
pub struct Throttle {
    /// Units in a second.
    rate: u32,
    burst: Duration,
    state: Mutex<State>,
    held_back: Notify,
}

#[derive(Debug)]
struct State {
    /// When everything charged so far is paid off.
    paid: Instant,
    /// When holding back began, and when it was last necessary.
    held: Option<(Instant, Instant)>,
}

impl Throttle {
    /// So many units in a second; as many at once as `burst` seconds allow.
    pub fn new(rate: u32, burst: u32) -> Self {
        let burst = Duration::from_secs(u64::from(burst));
        let state = Mutex::new(State { paid: Instant::now(), held: None });
        Self { rate: rate.max(1), burst, state, held_back: Notify::new() }
    }

    /// Charges some units.
    pub fn charge(&self, units: usize) {
        let cost = Duration::from_secs_f64(units as f64 / f64::from(self.rate));
        let mut state = self.state();
        state.paid = state.paid.max(Instant::now()) + cost;
    }

    /// Waits until the rate allows to go on. It may be dropped while it waits.
    pub async fn ready(&self) {
        if let Some(until) = self.owed() {
            sleep_until(until).await;
        }
    }

    /// Waits until the source is held back for the first time.
    pub async fn held_back(&self) {
        self.held_back.notified().await;
    }

    /// For how long the source has been held back; none if it is not.
    pub fn pressure(&self) -> Option<Duration> {
        let (since, last) = self.state().held?;
        (last.elapsed() < CALM).then(|| since.elapsed())
    }

    fn owed(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut state = self.state();
        let until = state.paid.checked_sub(self.burst).filter(|until| *until > now)?;
        let since = match state.held {
            Some((since, last)) if now < last + CALM => since,
            _ => {
                self.held_back.notify_one();
                now
            }
        };
        state.held = Some((since, until));
        Some(until)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_source_is_held_to_its_rate() {
        let cases = [
            // What is charged, how often, and after how many milliseconds all of it has passed.
            (1, 10, 0),
            (20, 1, 0),
            (30, 1, 1000),
            (1, 50, 3000),
            (500, 1, 48_000),
        ];
        for (units, times, expected) in cases {
            let (throttle, start) = (Throttle::new(10, 2), Instant::now());
            for _ in 0..times {
                throttle.charge(units);
                throttle.ready().await;
            }
            let took = start.elapsed().as_millis();
            assert!(took.abs_diff(expected) < 50, "{times} times {units}: {took} ms");
            assert_eq!(throttle.pressure().is_some(), expected > 0, "{times} times {units}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_goes_on_is_told_from_one_that_is_calm_again() {
        let throttle = Throttle::new(10, 1);
        for _ in 0..100 {
            throttle.charge(10);
            throttle.ready().await;
        }
        throttle.held_back().await;
        assert!(throttle.pressure().is_some_and(|it| it > Duration::from_secs(90)));
        tokio::time::sleep(CALM * 2).await;
        assert_eq!(throttle.pressure(), None);
        throttle.charge(100);
        throttle.ready().await;
        assert!(throttle.pressure().is_some_and(|it| it < Duration::from_secs(20)));
    }
}
