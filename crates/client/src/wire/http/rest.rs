//! The rest of a response that nobody reads any more. Its connection is good again once it ends.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use tokio::time::Instant;

use super::pool::Lane;

/// How long the end of a response may take to come after what was wanted of it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Chunks that are thrown away at most.
const CHUNKS: usize = 16;

/// A response without reader, and the connection that it comes over.
#[derive(Debug)]
pub(super) struct Rest {
    incoming: Incoming,
    lane: Lane,
    since: Instant,
}

impl Rest {
    pub(super) fn new(incoming: Incoming, lane: Lane) -> Self {
        Self { incoming, lane, since: Instant::now() }
    }

    /// The connection if the response has ended by now; the rest again if it still may; nothing,
    /// and the connection closed, if it has more to say than is worth hearing.
    pub(super) fn settle(mut self) -> Result<Lane, Option<Self>> {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..CHUNKS {
            match Pin::new(&mut self.incoming).poll_frame(&mut cx) {
                Poll::Ready(None) => return Ok(self.lane),
                Poll::Ready(Some(Ok(_))) if self.incoming.is_end_stream() => return Ok(self.lane),
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_))) => return Err(None),
                Poll::Pending if self.since.elapsed() > PATIENCE => return Err(None),
                Poll::Pending => return Err(Some(self)),
            }
        }
        Err(None)
    }
}
