//! The body of a response, read piece by piece or whole, within a limit.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gantry_transport::LARGE;
use gantry_transport::http1::Framing;
use tokio::time::Instant;

use super::head::Head;
use super::http1_connection::Http1Connection;
use super::origin::Origin;
use super::pool::Pool;
use crate::error::ClientError;

/// The body of a response. Dropped before its end it closes the connection; at its end the
/// connection waits for the next request.
#[derive(Debug)]
pub(crate) struct Body {
    /// Gone at the end.
    connection: Option<Box<Http1Connection>>,
    framing: Framing,
    lasts: bool,
    /// Bytes since the last yield.
    unyielded: usize,
    pool: Arc<Pool>,
    origin: Arc<Origin>,
}

impl Body {
    pub(super) fn new(
        connection: Box<Http1Connection>,
        head: &Head,
        pool: &Arc<Pool>,
        origin: &Arc<Origin>,
    ) -> Self {
        let mut body = Self {
            connection: Some(connection),
            framing: head.framing,
            lasts: head.lasts,
            unyielded: 0,
            pool: pool.clone(),
            origin: origin.clone(),
        };
        body.release_at_end();
        body
    }

    /// The next piece; none at the end. Nothing is lost when the future is dropped.
    pub(crate) async fn chunk(&mut self) -> Option<Result<Bytes, ClientError>> {
        // A server that sends without a pause would keep the thread for megabytes at a time.
        if self.unyielded > LARGE {
            self.unyielded = 0;
            tokio::task::yield_now().await;
        }
        let piece = self.connection.as_mut()?.piece(&mut self.framing).await;
        match piece {
            Ok(Some(piece)) => {
                self.unyielded += piece.len();
                self.release_at_end();
                Some(Ok(piece))
            }
            Ok(None) => {
                self.release_at_end();
                self.connection = None;
                None
            }
            Err(error) => {
                self.connection = None;
                let origin = &self.origin;
                let text = format!("the connection to `{origin}` broke: {error}");
                Some(Err(ClientError::Lost(text)))
            }
        }
    }

    /// All of it, if it is no longer than the limit.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Bytes, ClientError> {
        if usize::try_from(self.framing.at_least()).is_ok_and(|declared| declared <= limit) {
            return self.gather(limit).await?.ok_or_else(|| self.too_long(limit));
        }
        Err(self.too_long(limit))
    }

    /// Its beginning: enough to say what went wrong.
    pub(crate) async fn beginning(mut self, limit: usize) -> Bytes {
        let mut all = BytesMut::new();
        while let Some(Ok(chunk)) = self.chunk().await {
            let room = limit - all.len();
            all.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if all.len() == limit {
                break;
            }
        }
        all.freeze()
    }

    /// Leaves the rest unread: if it ends soon, the connection is reused.
    pub(crate) fn leave(self) {
        if self.connection.is_some() {
            let pool = self.pool.clone();
            if let Some(rest) = UnreadBody::new(self).settle() {
                pool.drain_later(rest);
            }
        }
    }

    /// Whether nothing more will come, and the connection is elsewhere.
    pub(super) fn has_ended(&self) -> bool {
        self.connection.is_none()
    }

    async fn gather(&mut self, limit: usize) -> Result<Option<Bytes>, ClientError> {
        let Some(first) = self.chunk().await.transpose()? else { return Ok(Some(Bytes::new())) };
        if first.len() > limit {
            return Ok(None);
        }
        // Most answers come in one piece, which needs no copy.
        let Some(second) = self.chunk().await.transpose()? else { return Ok(Some(first)) };
        let mut all = BytesMut::with_capacity((first.len() + second.len()) * 2);
        all.extend_from_slice(&first);
        all.extend_from_slice(&second);
        while all.len() <= limit {
            match self.chunk().await.transpose()? {
                Some(chunk) => all.extend_from_slice(&chunk),
                None => return Ok(Some(all.freeze())),
            }
        }
        Ok(None)
    }

    fn release_at_end(&mut self) {
        if self.framing.has_ended()
            && let Some(connection) = self.connection.take()
            && self.lasts
            && !connection.has_more()
        {
            self.pool.give(connection);
        }
    }

    fn too_long(&self, limit: usize) -> ClientError {
        ClientError::Malformed(format!(
            "`{}` sends more than the {limit} bytes that one message may have",
            self.origin
        ))
    }
}

/// How long the end of an unread response may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Chunks that are discarded at most.
const CHUNKS: usize = 16;

/// A response that nobody reads any more. Its connection is reusable once it ends.
#[derive(Debug)]
pub(super) struct UnreadBody {
    body: Body,
    since: Instant,
}

impl UnreadBody {
    pub(super) fn new(body: Body) -> Self {
        Self { body, since: Instant::now() }
    }

    /// Reads what has arrived. Returns itself if the end may still come; nothing if the end came,
    /// and the connection is pooled, or if there is too much left, and it is closed.
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
