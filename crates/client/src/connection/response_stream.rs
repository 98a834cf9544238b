//! The messages of one request: over HTTP from its own response, over a pipe from its mailbox only.

use super::dispatch::decode;
use std::future::pending;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gantry_process::FlushGuard;
use gantry_protocol::jsonrpc::{self, Incoming, Message, Response};
use gantry_transport::Offload;
use http::{HeaderName, HeaderValue};
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::yield_now;

use super::connection_inner::{ConnectionInner, Transport};
use super::dispatch::Decoded;
use super::response::rpc_error;
use crate::error::{ClientError, HttpError};
use crate::transport::streamable_http::{MessageStream, Posted, StreamItem};

/// The messages of one request.
pub(super) struct ResponseStream {
    state: State,
    /// A large message that is being decoded on another thread.
    decoding: Option<Offload<Decoded>>,
    /// The session id in the response.
    pub(super) session: Option<String>,
    /// The HTTP status of a refusal.
    pub(super) refused: Option<u16>,
}

/// The next item.
pub(super) enum ResponseEvent {
    /// A message, possibly invalid.
    Message(Decoded),
    /// The server closed the stream and wants a reconnection after this time, which happens.
    HangUp(Duration),
}

enum State {
    /// With the guard that flushes the lines of several calls at once.
    Mailbox(Option<FlushGuard>),
    Posting(BoxFuture<'static, Result<Posted, ClientError>>),
    Stream(MessageStream),
    Done,
}

impl ResponseStream {
    /// Sends a request. Over HTTP nothing is sent until the stream is polled.
    pub(super) async fn send(
        inner: &ConnectionInner,
        message: Bytes,
        headers: Vec<(HeaderName, HeaderValue)>,
    ) -> Result<Self, ClientError> {
        let state = match &inner.transport {
            Transport::Pipe { outgoing, .. } => {
                // With other calls in flight their lines may be written together.
                let sent = match inner.pending_requests.in_flight() > 1 {
                    true => outgoing.gather(message),
                    false => outgoing.try_send(message).map(|()| None),
                };
                match sent {
                    Ok(flush_guard) => State::Mailbox(flush_guard),
                    Err(TrySendError::Full(message)) => {
                        if Box::pin(outgoing.send(message)).await.is_err() {
                            return Err(Box::pin(inner.send_failed()).await);
                        }
                        State::Mailbox(None)
                    }
                    Err(TrySendError::Closed(_)) => return Err(Box::pin(inner.send_failed()).await),
                }
            }
            Transport::Http { http, .. } => {
                let http = Arc::clone(http);
                State::Posting(Box::pin(async move { http.post(message, &headers).await }))
            }
        };
        Ok(Self { state, decoding: None, session: None, refused: None })
    }

    /// A stream that is already open.
    pub(super) fn from_stream(messages: MessageStream) -> Self {
        Self { state: State::Stream(messages), decoding: None, session: None, refused: None }
    }

    /// The next message; none at the end. Cancel safe.
    pub(super) async fn next(
        &mut self,
        inner: &ConnectionInner,
    ) -> Result<Option<Decoded>, ClientError> {
        loop {
            match self.next_event(inner).await? {
                Some(ResponseEvent::Message(decoded)) => return Ok(Some(decoded)),
                Some(ResponseEvent::HangUp(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// The same, including hang-ups of the server.
    pub(super) async fn next_event(
        &mut self,
        inner: &ConnectionInner,
    ) -> Result<Option<ResponseEvent>, ClientError> {
        loop {
            if let Some(decoding) = &mut self.decoding {
                let decoded = decoding.await;
                self.decoding = None;
                return Ok(Some(ResponseEvent::Message(decoded)));
            }
            match &mut self.state {
                State::Mailbox(flush_guard) => {
                    if flush_guard.is_some() {
                        // Let other tasks of this thread add their lines before the flush.
                        yield_now().await;
                        *flush_guard = None;
                    }
                    return pending().await;
                }
                State::Done => return Ok(None),
                State::Posting(posting) => {
                    let read_posted = posting.await;
                    self.state = State::Done;
                    let read_posted = read_posted.map_err(|error| inner.seen(error))?;
                    let body = self.read_posted(inner, read_posted)?;
                    self.decoding = body.map(|body| decode(inner, body));
                }
                State::Stream(messages) => {
                    inner.flood.ready().await;
                    match messages.next().await.transpose().map_err(|error| inner.seen(error))? {
                        Some(StreamItem::Message(text)) => {
                            self.decoding = Some(decode(inner, text));
                        }
                        Some(StreamItem::HangUp(retry)) => {
                            return Ok(Some(ResponseEvent::HangUp(retry)));
                        }
                        None => return Ok(None),
                    }
                }
            }
        }
    }

    /// The response has arrived: leaves the rest of the stream to the connection pool.
    pub(super) fn finish(&mut self) {
        if let State::Stream(messages) = mem::replace(&mut self.state, State::Done) {
            messages.done();
        }
    }

    fn read_posted(
        &mut self,
        inner: &ConnectionInner,
        read_posted: Posted,
    ) -> Result<Option<Bytes>, ClientError> {
        match read_posted {
            Posted::Answer { body, session } => {
                self.session = session;
                Ok(Some(body))
            }
            Posted::Stream { messages, session } => {
                self.session = session;
                self.state = State::Stream(messages);
                Ok(None)
            }
            Posted::Accepted => {
                let text = "the server accepted the request without a response";
                Err(ClientError::Malformed(text.to_owned()))
            }
            Posted::Refused { status, retry_after, body } => {
                self.refused = Some(status);
                Err(refusal(inner, status, retry_after, &body))
            }
        }
    }
}

/// The error for an HTTP status. A JSON-RPC error in the body has more detail, except for statuses
/// that ask for a retry.
fn refusal(
    inner: &ConnectionInner,
    status: u16,
    retry_after: Option<Duration>,
    body: &Bytes,
) -> ClientError {
    let decoded = jsonrpc::decode(body.clone(), inner.settings.message);
    let error = match decoded {
        Ok(Incoming::Single(Message::Response(Response { outcome: Err(error), .. }))) => {
            rpc_error(&error).ok()
        }
        _ => None,
    };
    match error {
        Some(error) if !matches!(status, 429 | 502 | 503) => ClientError::Answered(error),
        error => {
            let refusal = HttpError { status, retry_after, error, is_unsent: false, attempts: 1 };
            ClientError::Http(Box::new(refusal))
        }
    }
}
