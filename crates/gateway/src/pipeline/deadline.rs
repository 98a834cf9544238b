//! The timeout of a call, and the backoff between two attempts at a provider that is busy. Time in which
//! the client is asked for input does not count.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::context::CallContext;
use crate::error::{CallError, ErrorKind};
use crate::provider::Outcome;

/// How long a call may run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    /// While a client waits for it.
    pub(crate) usual: Duration,
    /// When it runs by itself. Never less than usual.
    pub(crate) task: Duration,
}

/// The deadline is paused while an input request is open, so it is checked only this often.
const PAUSED: Duration = Duration::from_secs(1);

/// However long a call has waited for its server to start, it may run for so long.
const LEAST: Duration = Duration::from_secs(5);

impl Deadline {
    /// What is left for a call that has waited for so long.
    pub(crate) fn left_after(self, waited: Duration) -> Duration {
        self.usual.saturating_sub(waited).max(LEAST.min(self.usual))
    }

    /// Runs the call, and drops it when its time is up. What it has waited for its server before
    /// counts too.
    pub(crate) async fn run(
        self,
        context: &CallContext,
        waited: Duration,
        mut call: Pin<&mut impl Future<Output = Outcome>>,
    ) -> Outcome {
        let started = Instant::now();
        let mut left = self.left_after(waited);
        let waited = self.usual - left;
        loop {
            if let Ok(outcome) = timeout(left, call.as_mut()).await {
                return outcome;
            }
            let worked = waited + started.elapsed().saturating_sub(context.waited());
            let limit = self.limit(context);
            left = limit.saturating_sub(worked);
            if context.is_asking() {
                left = left.max(PAUSED);
            }
            if left.is_zero() {
                return Err(exceeded(limit));
            }
        }
    }

    fn limit(self, context: &CallContext) -> Duration {
        if context.is_task() { self.task.max(self.usual) } else { self.usual }
    }
}

fn exceeded(limit: Duration) -> CallError {
    let text =
        format!("the call did not finish within {limit:?}; raise the timeout if it needs longer");
    CallError::new(ErrorKind::Timeout, text)
}
