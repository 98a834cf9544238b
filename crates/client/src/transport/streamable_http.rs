//! Streamable HTTP: a POST for each message, answered with JSON or a stream of messages.

mod message_stream;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gantry_protocol::{Revision, headers};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, Uri};

pub(crate) use self::message_stream::{MessageStream, StreamItem};
use crate::backoff::Backoff;
use crate::error::ClientError;
use crate::http::{Body, Head, Http, Kind, Request, request_target};
use crate::settings::Settings;
use crate::target::Endpoint;

const SESSION_ID: HeaderName = HeaderName::from_static(headers::SESSION_ID);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Bytes that are kept of the body of a refusal.
const REFUSAL: usize = 64 * 1024;

/// A server that speaks Streamable HTTP. Clones share it; no task runs for it.
#[derive(Debug, Clone)]
pub(crate) struct StreamableHttp(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    http: Http,
    target: Uri,
    /// The headers of self-contained requests.
    bare: Arc<HeaderMap>,
    negotiated: Mutex<Negotiated>,
    limit: usize,
    backoff: Backoff,
    grace: Duration,
}

/// What every request carries from now on.
#[derive(Debug, Clone)]
struct Negotiated {
    headers: Arc<HeaderMap>,
    has_session: bool,
    resumes: bool,
}

/// What came of a message.
#[derive(Debug)]
pub(crate) enum Posted {
    /// One JSON text.
    Answer {
        /// The text.
        body: Bytes,
        /// The session that the server began.
        session: Option<String>,
    },
    /// Messages as they come.
    Stream {
        /// The messages.
        messages: MessageStream,
        /// The session that the server began.
        session: Option<String>,
    },
    /// Accepted, without a response.
    Accepted,
    /// Any other status. 401 and 403 are errors already.
    Refused {
        /// The status.
        status: u16,
        /// After which time the server wants to be asked again.
        retry_after: Option<Duration>,
        /// The beginning of the body.
        body: Bytes,
    },
}

impl StreamableHttp {
    /// Connects to nothing yet.
    pub(crate) fn new(endpoint: &Endpoint, settings: &Settings) -> Result<Self, ClientError> {
        let http = Http::new(endpoint, settings)?;
        let mut headers = http.headers().clone();
        headers.insert(header::ACCEPT, EITHER);
        headers.insert(header::CONTENT_TYPE, JSON);
        let bare = Arc::new(headers);
        let negotiated = Negotiated { headers: bare.clone(), has_session: false, resumes: false };
        Ok(Self(Arc::new(Shared {
            http,
            target: request_target(&endpoint.url),
            bare,
            negotiated: Mutex::new(negotiated),
            limit: settings.message.size,
            backoff: settings.backoff.clone(),
            grace: settings.grace,
        })))
    }

    /// Sets the headers of all further requests. Those of a modern revision bring their own.
    pub(crate) fn negotiated(&self, revision: Revision, session: Option<String>) {
        let mut headers = HeaderMap::clone(&self.0.bare);
        if revision >= Revision::V2025_06_18 && !revision.is_stateless() {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
        }
        // It came out of a header, so it fits into one.
        let session = session.and_then(|id| HeaderValue::try_from(id).ok());
        let has_session = session.is_some();
        if let Some(mut id) = session {
            id.set_sensitive(true);
            headers.insert(SESSION_ID, id);
        }
        let resumes = !revision.is_stateless();
        let negotiated = Negotiated { headers: Arc::new(headers), has_session, resumes };
        *self.0.negotiated.lock().unwrap_or_else(PoisonError::into_inner) = negotiated;
    }

    /// Sends one message. The headers are those that repeat parts of it. Dropping the future, or a
    /// stream that comes of it, closes the connection.
    pub(crate) async fn post(
        &self,
        message: Bytes,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Posted, ClientError> {
        let negotiated = self.0.negotiated();
        let is_stateless_http = headers.iter().any(|(name, _)| *name == PROTOCOL_VERSION);
        let common = if is_stateless_http { &self.0.bare } else { &negotiated.headers };
        let post = Request::post(&self.0.target, common, &message);
        let (head, body) = self.0.http.send(Request { more: headers, ..post }).await?;
        match head.status {
            StatusCode::NOT_FOUND if negotiated.has_session && !is_stateless_http => {
                Err(ClientError::SessionLost)
            }
            status if !status.is_success() => {
                let (status, retry_after) = (status.as_u16(), head.retry_after);
                let body = body.beginning(REFUSAL).await;
                Ok(Posted::Refused { status, retry_after, body })
            }
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                body.leave();
                Ok(Posted::Accepted)
            }
            _ => self.take(head, body).await,
        }
    }

    /// Opens the stream for what belongs to no request. None when the server has none.
    pub(crate) async fn listen(&self) -> Result<Option<MessageStream>, ClientError> {
        let (head, body) = self.0.get(None).await?;
        match head.status {
            StatusCode::OK if head.kind == Kind::Events => {
                Ok(Some(MessageStream::new(self.0.clone(), body)))
            }
            StatusCode::NOT_FOUND if self.0.negotiated().has_session => {
                Err(ClientError::SessionLost)
            }
            status if status.is_server_error() => Err(ClientError::Unreachable(format!(
                "`{}` refused the stream of its messages with HTTP status {status}",
                self.0.http.origin()
            ))),
            _ => Ok(None),
        }
    }

    /// Ends the session, if there is one. A server that does not care is not waited for.
    pub(crate) async fn end_session(&self) {
        let negotiated = self.0.negotiated();
        if !negotiated.has_session {
            return;
        }
        let mut headers = HeaderMap::clone(&negotiated.headers);
        headers.remove(header::CONTENT_TYPE);
        let end = Request::get(&self.0.target, &headers);
        let sent = self.0.http.send(Request { method: &Method::DELETE, ..end });
        if let Ok(Err(error)) = tokio::time::timeout(self.0.grace, sent).await {
            tracing::debug!(%error, "the session was not ended");
        }
    }

    async fn take(&self, head: Head, body: Body) -> Result<Posted, ClientError> {
        let session = head.session;
        if head.kind == Kind::Events {
            let messages = MessageStream::new(self.0.clone(), body);
            return Ok(Posted::Stream { messages, session });
        }
        let body = body.whole(self.0.limit).await?;
        match head.kind {
            _ if body.trim_ascii().is_empty() => Ok(Posted::Accepted),
            Kind::Json => Ok(Posted::Answer { body, session }),
            Kind::Unsaid if matches!(body.trim_ascii_start()[0], b'{' | b'[') => {
                Ok(Posted::Answer { body, session })
            }
            kind => Err(self.0.not_a_message(&kind)),
        }
    }
}

impl Shared {
    fn negotiated(&self) -> Negotiated {
        self.negotiated.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks for a stream: a new one, or the rest of one after an event.
    async fn get(&self, after: Option<&str>) -> Result<(Head, Body), ClientError> {
        let mut headers = HeaderMap::clone(&self.negotiated().headers);
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::ACCEPT, EVENTS);
        if let Some(id) = after.and_then(|id| HeaderValue::try_from(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.http.send(Request::get(&self.target, &headers)).await
    }

    fn not_a_message(&self, kind: &Kind) -> ClientError {
        let kind = if let Kind::Other(said) = kind { said } else { "no content type" };
        ClientError::Malformed(format!(
            "`{}` answers with `{kind}` and not with JSON or events; check the path of the address",
            self.http.origin()
        ))
    }
}
