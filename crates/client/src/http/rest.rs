//! The rest of a response that nobody reads any more. Its connection is good again once it ends.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::body::Body;

/// How long the end of a response may take to come after what was wanted of it.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Chunks that are thrown away at most.
const CHUNKS: usize = 16;

/// A response without reader.
#[derive(Debug)]
pub(super) struct Rest {
    body: Body,
    since: Instant,
}

impl Rest {
    pub(super) fn new(body: Body) -> Self {
        Self { body, since: Instant::now() }
    }

    /// Reads what has come. The rest again if its end may still come; nothing when it came, and the
    /// connection waits, or when there is more than is worth hearing, and it is closed.
    pub(super) fn settle(mut self) -> Option<Self> {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..CHUNKS {
            let polled = pin!(self.body.chunk()).poll(&mut cx);
            match polled {
                Poll::Ready(Some(Ok(_))) if self.body.has_ended() => return None,
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(None | Some(Err(_))) => return None,
                Poll::Pending if self.since.elapsed() > TIMEOUT => return None,
                Poll::Pending => return Some(self),
            }
        }
        None
    }
}
