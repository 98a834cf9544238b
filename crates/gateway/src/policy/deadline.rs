//! No call runs for ever. Time spent waiting for the client's answers is not the tool's.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::error::{CallError, ErrorKind};
use crate::exchange::Exchange;
use crate::reply::Outcome;

/// How long a call may run.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(pub Duration);

/// While a question is open the clock stands still, so it is looked at only this often.
const PAUSED: Duration = Duration::from_secs(1);

impl Deadline {
    /// Runs the call, and drops it when its time is up.
    pub async fn run(self, exchange: &Exchange, call: impl Future<Output = Outcome>) -> Outcome {
        let mut call = pin!(call);
        let started = Instant::now();
        let mut left = self.0;
        loop {
            if let Ok(outcome) = timeout(left, &mut call).await {
                return outcome;
            }
            let worked = started.elapsed().saturating_sub(exchange.waited());
            left = self.0.saturating_sub(worked);
            if exchange.is_asking() {
                left = left.max(PAUSED);
            }
            if left.is_zero() {
                return Err(self.exceeded());
            }
        }
    }

    fn exceeded(self) -> CallError {
        let text = format!(
            "the call did not finish within {:?}; raise the timeout if it needs longer",
            self.0
        );
        CallError::new(ErrorKind::Timeout, text)
    }
}
