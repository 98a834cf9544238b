//! The pauses before a provider is called again that asks for nothing but that: it has too much to
//! do, or works on.

use std::time::Duration;

use tokio::time::sleep;

/// Before the second call.
const FIRST: Duration = Duration::from_millis(100);

/// Whoever waits for long work is not to hear of its end much later.
const AT_MOST: Duration = Duration::from_secs(3);

/// Pauses that double. There is no chance in them: calls that come at different times are sent away
/// and come back at different times.
#[derive(Debug)]
pub(super) struct Pause {
    next: Duration,
}

impl Default for Pause {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Pause {
    /// Rests for longer than the last time.
    pub(super) async fn rest(&mut self) {
        sleep(self.next).await;
        self.next = (self.next * 2).min(AT_MOST);
    }
}
