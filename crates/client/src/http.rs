//! An HTTP/1.1 client for one origin with keep-alive and a connection pool. It is our own because a
//! gateway's call waits for exactly one response and can move the bytes itself: a client with a
//! task for each connection, and channels between, took an eighth more CPU time for a hop.
//! Redirects to another origin are not followed: the headers of an endpoint are meant for its host
//! only.

mod body;
mod connect;
mod head;
mod http1_connection;
mod origin;
mod pool;
mod request;
#[cfg(test)]
mod tests;

pub(crate) use body::Body;
pub(crate) use connect::{Stream, connect};
pub(crate) use head::{Head, Kind};
pub(crate) use origin::{Origin, request_target};
pub(crate) use request::{Request, endpoint_headers};

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{StatusCode, Uri};

use self::http1_connection::{Broken, Http1Connection};
use self::pool::Pool;
use crate::error::ClientError;
use crate::settings::Settings;
use crate::target::{Endpoint, UnixSocket};

/// Bytes that are read of an answer, so that its connection can be used again.
const ANSWER: usize = 64 * 1024;

/// An address to post to.
#[derive(Debug)]
pub struct Post {
    http: Http,
    url: Uri,
}

impl Post {
    /// Connects to nothing yet.
    pub fn new(endpoint: &Endpoint) -> Result<Self, ClientError> {
        let http = Http::new(endpoint, &Settings::default())?;
        Ok(Self { http, url: endpoint.url.clone() })
    }

    /// Posts a JSON text to a path below the address, which begins with a slash. Gives the status of
    /// the answer; 401 and 403 are errors. It sets no limit to the time.
    pub async fn below(&self, path: &str, text: Bytes) -> Result<u16, ClientError> {
        let target = format!("{}{path}", self.url.path().trim_end_matches('/'));
        let unusable = |_| ClientError::Unreachable(format!("`{target}` is no path"));
        let (head, body) = self.send(&target.parse().map_err(unusable)?, &text).await?;
        body.beginning(ANSWER).await;
        Ok(head.status.as_u16())
    }

    /// Posts a JSON text to the address itself. Gives the status and the body of the answer, if that
    /// is not too long; 401 and 403 are errors. It sets no limit to the time.
    pub async fn json(&self, text: Bytes, longest: usize) -> Result<(u16, Bytes), ClientError> {
        let (head, body) = self.send(&request_target(&self.url), &text).await?;
        Ok((head.status.as_u16(), body.whole(longest).await?))
    }

    async fn send(&self, target: &Uri, text: &Bytes) -> Result<(Head, Body), ClientError> {
        let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let post = Request::post(target, self.http.headers(), text);
        self.http.send(Request { more: &json, ..post }).await
    }
}

/// Redirects that mean that the request was not served, and is to be sent unchanged to the
/// location.
const AS_IT_IS: [StatusCode; 2] = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT];

/// Requests to the origin of an endpoint.
#[derive(Debug)]
pub(crate) struct Http {
    origin: Arc<Origin>,
    socket: Option<UnixSocket>,
    pool: Arc<Pool>,
    headers: HeaderMap,
    connect_within: Duration,
}

impl Http {
    /// Connects to nothing yet.
    pub(crate) fn new(endpoint: &Endpoint, settings: &Settings) -> Result<Self, ClientError> {
        let origin = Origin::of(&endpoint.url)?;
        let mut headers = endpoint_headers(endpoint)?;
        if !headers.contains_key(header::HOST) {
            headers.insert(header::HOST, origin.host_header()?);
        }
        Ok(Self {
            origin: Arc::new(origin),
            socket: endpoint.socket.clone(),
            pool: Arc::new(Pool::new(settings.in_flight)),
            headers,
            connect_within: settings.connect_within,
        })
    }

    /// The headers that every request has to carry.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The origin of the requests.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Sends a request and waits for the head of the response. Dropping the future closes the
    /// connection. A redirect within the origin is followed once: many frameworks redirect for a
    /// trailing slash.
    pub(crate) async fn send(&self, request: Request<'_>) -> Result<(Head, Body), ClientError> {
        let (mut head, mut connection) = self.exchange(&request).await?;
        if let Some(place) = self.moved(&head) {
            let again = Request { target: &place, ..request };
            (head, connection) = Box::pin(self.exchange(&again)).await?;
        }
        let status = head.status;
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            return Err(self.redirected(&head));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(ClientError::Unauthorized {
                status: status.as_u16(),
                challenge: head.challenge,
            });
        }
        let body = Body::new(connection, &head, &self.pool, &self.origin);
        Ok((head, body))
    }

    /// Over a pooled connection, or a new one. A request moves to another connection only if none
    /// of it was sent.
    async fn exchange(
        &self,
        request: &Request<'_>,
    ) -> Result<(Head, Box<Http1Connection>), ClientError> {
        while let Some(mut connection) = self.pool.take() {
            match connection.ask(request).await {
                Ok(head) => return Ok((head, connection)),
                Err(Broken::Unsent(_)) => {}
                Err(broken) => return Err(self.broken(broken)),
            }
        }
        // Boxed, because most requests do not need it and it would make every one of them larger.
        let connecting = connect(&self.origin, self.socket.as_ref(), self.connect_within);
        let stream = Box::pin(connecting).await?;
        let mut connection = Box::new(Http1Connection::new(stream));
        match connection.ask(request).await {
            Ok(head) => Ok((head, connection)),
            Err(broken) => Err(self.broken(broken)),
        }
    }

    fn broken(&self, broken: Broken) -> ClientError {
        let origin = &self.origin;
        match broken {
            Broken::Unsent(error) => {
                ClientError::Unreachable(format!("`{origin}` closed the connection: {error}"))
            }
            Broken::Reset(error) => {
                ClientError::Reset(format!("`{origin}` did not answer the request: {error}"))
            }
            Broken::Lost(error) => {
                ClientError::Lost(format!("`{origin}` did not answer the request: {error}"))
            }
            Broken::Malformed(why) => ClientError::Malformed(format!(
                "`{origin}` does not answer in HTTP: {why}; check scheme and port"
            )),
        }
    }

    /// Where a request is to be sent again as it is, if that is here: another origin would get the
    /// headers of this one.
    fn moved(&self, head: &Head) -> Option<Uri> {
        let place: Uri = head.location.as_ref()?.parse().ok()?;
        let is_here = match place.host() {
            Some(_) => Origin::of(&place).is_ok_and(|origin| origin == *self.origin),
            None => place.path().starts_with('/'),
        };
        (is_here && AS_IT_IS.contains(&head.status)).then(|| request_target(&place))
    }

    fn redirected(&self, head: &Head) -> ClientError {
        let target = head.location.as_ref().and_then(|text| text.parse::<Uri>().ok());
        let target = match &target {
            Some(uri) => match uri.host() {
                Some(host) => format!("the host `{host}`"),
                None => format!("the path `{}`", uri.path()),
            },
            None => "a place that cannot be read".to_owned(),
        };
        let text = format!(
            "`{}` redirects to {target}, which is not followed; give the final address",
            self.origin
        );
        // Other redirects are also sent after the work is done, with the result elsewhere.
        match AS_IT_IS.contains(&head.status) {
            true => ClientError::Unreachable(text),
            false => ClientError::Lost(text),
        }
    }
}
