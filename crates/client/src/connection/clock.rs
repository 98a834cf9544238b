//! How long a request may hear nothing, and how long it may take in all. Both stand still while a
//! question is open.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Far enough away to never come.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

#[derive(Debug)]
pub(super) struct Clock {
    silence: Duration,
    at_most: Duration,
    heard: Instant,
    began: Instant,
    stopped: Option<Instant>,
    /// Kept from one wait to the next: to set a timer anew costs more than to look at it again.
    alarm: Pin<Box<Sleep>>,
}

impl Clock {
    pub(super) fn start(silence: Duration, at_most: Duration) -> Self {
        let now = Instant::now();
        let alarm = Box::pin(sleep_until(now + silence.min(at_most).min(NEVER)));
        Self { silence, at_most, heard: now, began: now, stopped: None, alarm }
    }

    /// Something was heard.
    pub(super) fn hear(&mut self) {
        self.heard = Instant::now();
    }

    /// Stands still.
    pub(super) fn stop(&mut self) {
        self.stopped.get_or_insert_with(Instant::now);
    }

    /// Goes on.
    pub(super) fn resume(&mut self) {
        if let Some(stopped) = self.stopped.take() {
            self.began += stopped.elapsed();
            self.heard = Instant::now();
        }
    }

    /// Whether it stands still.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Waits until one of the two has run out, and says how long that was.
    pub(super) async fn run_out(&mut self) -> Duration {
        let silent = self.heard + self.silence.min(NEVER);
        let over = self.began + self.at_most.min(NEVER);
        let first = silent.min(over);
        if self.alarm.deadline() != first {
            self.alarm.as_mut().reset(first);
        }
        self.alarm.as_mut().await;
        if over <= silent { self.at_most } else { self.silence }
    }
}
