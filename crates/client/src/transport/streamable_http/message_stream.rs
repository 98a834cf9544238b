//! The messages of one SSE stream, resumed with `Last-Event-ID` where it broke, if the server
//! supports it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gantry_transport::sse::{Event, EventDecoder};
use http::StatusCode;

use super::Shared;
use crate::error::ClientError;
use crate::http::{Body, Head, Kind};

/// Attempts to resume a stream.
const TRIES: u32 = 5;
/// The wait before that if the server sets none.
const RETRY: Duration = Duration::from_secs(1);
/// The shortest wait, whatever the server sets.
const PAUSE: Duration = Duration::from_millis(50);

/// Messages of a stream, one JSON text each. Dropping it closes the connection, which cancels the
/// request at a modern server.
pub(crate) struct MessageStream {
    shared: Arc<Shared>,
    state: StreamState,
    /// Boxed: it is large beside everything else that can come of a message.
    decoder: Box<EventDecoder>,
    last_id: Option<String>,
    /// The reconnection time that the server set.
    retry: Option<Duration>,
    failures: u32,
    /// A hang-up of the server that was not reported yet.
    hung_up: Option<Duration>,
}

/// An item of a stream.
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// A JSON text.
    Message(Bytes),
    /// The server closed the stream and wants a reconnection after this time, which happens.
    HangUp(Duration),
}

enum StreamState {
    Open(Body),
    /// Kept across polls, so that a cancelled read does not start it again.
    Resuming(BoxFuture<'static, Result<(Head, Body), ClientError>>),
    Ended,
}

impl MessageStream {
    pub(super) fn new(shared: Arc<Shared>, body: Body) -> Self {
        let decoder = Box::new(EventDecoder::new(shared.limit));
        let state = StreamState::Open(body);
        Self { shared, state, decoder, last_id: None, retry: None, failures: 0, hung_up: None }
    }

    /// The next item; none when the stream has ended normally. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Result<StreamItem, ClientError>> {
        while !matches!(self.state, StreamState::Ended) {
            if let Some(retry) = self.hung_up.take() {
                return Some(Ok(StreamItem::HangUp(retry)));
            }
            match self.decoder.next_event() {
                Ok(Some(event)) => match self.take(event) {
                    Some(message) => return Some(Ok(StreamItem::Message(message))),
                    None => continue,
                },
                Ok(None) => {}
                Err(error) => {
                    return Some(Err(self.end(ClientError::Malformed(error.to_string()))));
                }
            }
            if let Err(error) = self.read().await {
                return Some(Err(self.end(error)));
            }
        }
        None
    }

    /// The response has arrived. The connection is reused if the stream ends soon.
    pub(crate) fn done(self) {
        if let StreamState::Open(body) = self.state {
            body.leave();
        }
    }

    /// Reads more, or waits for the resumption.
    async fn read(&mut self) -> Result<(), ClientError> {
        match &mut self.state {
            StreamState::Open(body) => match body.chunk().await {
                Some(Ok(bytes)) => self.decoder.feed(&bytes),
                Some(Err(error)) => self.resume(Some(error))?,
                None => self.resume(None)?,
            },
            StreamState::Resuming(response) => {
                let response = response.await;
                self.resume_with(response)?;
            }
            StreamState::Ended => {}
        }
        Ok(())
    }

    fn take(&mut self, event: Event) -> Option<Bytes> {
        self.failures = 0;
        if event.id.is_some() {
            self.last_id = event.id.filter(|id| !id.is_empty());
        }
        if let Some(milliseconds) = event.retry {
            self.retry = Some(Duration::from_millis(milliseconds));
        }
        let is_message = event.name.as_deref().is_none_or(|name| name == "message");
        (is_message && !event.data.is_empty()).then_some(event.data)
    }

    /// Prepares the resumption of a stream that ended. Without one, a broken connection is an
    /// error.
    fn resume(&mut self, error: Option<ClientError>) -> Result<(), ClientError> {
        let (true, Some(id)) = (self.shared.negotiated().resumes, self.last_id.clone()) else {
            self.state = StreamState::Ended;
            return error.map_or(Ok(()), Err);
        };
        if self.failures == TRIES {
            let last =
                error.map_or_else(|| "it ends without a message".to_owned(), |it| it.to_string());
            return Err(ClientError::Lost(format!(
                "a stream of `{}` could not be resumed in {TRIES} attempts: {last}",
                self.shared.http.origin()
            )));
        }
        let retry = self.retry.unwrap_or(RETRY).max(PAUSE);
        let wait = match self.failures {
            0 => retry,
            failures => retry.max(self.shared.backoff.after(failures)),
        };
        self.hung_up = self.retry.filter(|_| self.failures == 0 && error.is_none());
        self.failures += 1;
        // A partial event is sent again by the server.
        *self.decoder = EventDecoder::new(self.shared.limit);
        let shared = self.shared.clone();
        self.state = StreamState::Resuming(Box::pin(async move {
            tokio::time::sleep(wait).await;
            shared.get(Some(&id)).await
        }));
        Ok(())
    }

    fn resume_with(
        &mut self,
        response: Result<(Head, Body), ClientError>,
    ) -> Result<(), ClientError> {
        let (head, body) = match response {
            Err(
                error @ (ClientError::Unreachable(_)
                | ClientError::ConnectionRefused(_)
                | ClientError::Reset(_)
                | ClientError::Lost(_)),
            ) => return self.resume(Some(error)),
            Err(error) => return Err(self.not_resumable(&error.to_string())),
            Ok(response) => response,
        };
        match head.status {
            StatusCode::OK if head.kind == Kind::Events => {
                self.state = StreamState::Open(body);
                Ok(())
            }
            status if status.is_server_error() => {
                self.resume(Some(ClientError::Lost(format!("HTTP status {status}"))))
            }
            status => Err(self.not_resumable(&format!("HTTP status {status}"))),
        }
    }

    /// Always an error of a request that was sent: it may have run.
    fn not_resumable(&self, why: &str) -> ClientError {
        let origin = self.shared.http.origin();
        ClientError::Lost(format!("a stream of `{origin}` broke and cannot be resumed: {why}"))
    }

    fn end(&mut self, error: ClientError) -> ClientError {
        self.state = StreamState::Ended;
        error
    }
}

impl fmt::Debug for MessageStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Messages").field("last_id", &self.last_id).finish_non_exhaustive()
    }
}
