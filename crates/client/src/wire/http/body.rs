//! The body of a response, read piece by piece or whole, within a limit.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use super::origin::Origin;
use super::pool::{Lane, Pool};
use super::rest::Rest;
use crate::error::ClientError;

/// The body of a response. Dropped before its end it closes the connection; at its end the
/// connection waits for the next request.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    lane: Option<Lane>,
    pool: Arc<Pool>,
    origin: Arc<Origin>,
}

impl Body {
    pub(super) fn new(
        incoming: Incoming,
        lane: Lane,
        pool: &Arc<Pool>,
        origin: &Arc<Origin>,
    ) -> Self {
        let body = Self { incoming, lane: Some(lane), pool: pool.clone(), origin: origin.clone() };
        body.at_end()
    }

    /// The next piece; none at the end. Nothing is lost when the future is dropped.
    pub(crate) async fn chunk(&mut self) -> Option<Result<Bytes, ClientError>> {
        loop {
            let frame = match self.incoming.frame().await {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Some(Err(self.broken(&error))),
                None => {
                    self.release();
                    return None;
                }
            };
            if self.incoming.is_end_stream() {
                self.release();
            }
            if let Ok(data) = frame.into_data() {
                return Some(Ok(data));
            }
        }
    }

    /// All of it, if it is no longer than the limit.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Bytes, ClientError> {
        let declared = self.incoming.size_hint().lower();
        if usize::try_from(declared).is_ok_and(|declared| declared <= limit) {
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

    /// Nothing more of it is wanted: when it ends soon, the connection is used again.
    pub(crate) fn leave(self) {
        let Some(lane) = self.lane else { return };
        match Rest::new(self.incoming, lane).settle() {
            Ok(lane) => self.pool.give(lane),
            Err(Some(rest)) => self.pool.give_rest(rest),
            Err(None) => {}
        }
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

    fn at_end(mut self) -> Self {
        if self.incoming.is_end_stream() {
            self.release();
        }
        self
    }

    fn release(&mut self) {
        if let Some(lane) = self.lane.take() {
            self.pool.give(lane);
        }
    }

    fn broken(&self, error: &hyper::Error) -> ClientError {
        ClientError::Lost(format!("the connection to `{}` broke: {error}", self.origin))
    }

    fn too_long(&self, limit: usize) -> ClientError {
        ClientError::Malformed(format!(
            "`{}` sends more than the {limit} bytes that one message may have",
            self.origin
        ))
    }
}
