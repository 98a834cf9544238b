//! HTTP/1.1 requests to one origin over connections that are used again. Redirects to another origin
//! are not followed, for the headers of an endpoint are meant for nobody else.

mod body;
mod dial;
mod headers;
mod origin;
mod pool;
mod rest;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;

pub(crate) use body::Body;
pub(crate) use dial::{Stream, dial};
pub(crate) use headers::{Kind, of_endpoint};
pub(crate) use origin::{Origin, request_target};

use self::pool::{Lane, Pool};
use crate::error::ClientError;
use crate::settings::Settings;
use crate::target::Endpoint;

/// Requests to the origin of an endpoint.
#[derive(Debug)]
pub(crate) struct Http {
    origin: Arc<Origin>,
    pool: Arc<Pool>,
    headers: HeaderMap,
    connect_within: Duration,
}

impl Http {
    /// Connects to nothing yet.
    pub(crate) fn new(endpoint: &Endpoint, settings: &Settings) -> Result<Self, ClientError> {
        let origin = Origin::of(&endpoint.url)?;
        let mut headers = of_endpoint(endpoint)?;
        if !headers.contains_key(header::HOST) {
            headers.insert(header::HOST, origin.host_header()?);
        }
        Ok(Self {
            origin: Arc::new(origin),
            pool: Arc::new(Pool::new(settings.in_flight)),
            headers,
            connect_within: settings.connect_within,
        })
    }

    /// The headers that every request has to carry.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Whom the requests go to.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Sends a request and waits for the head of its response. Dropping the future closes the
    /// connection. A server that has the same thing at another path of its own is followed there
    /// once: many frameworks do so for a slash at the end. Only then is the request made again.
    pub(crate) async fn send(
        &self,
        request: impl Fn() -> Request<Full<Bytes>>,
    ) -> Result<Response<Body>, ClientError> {
        let (mut response, mut lane) = self.exchange(request()).await?;
        if let Some(place) = self.moved(&response) {
            let mut again = request();
            *again.uri_mut() = place;
            (response, lane) = Box::pin(self.exchange(again)).await?;
        }
        let status = response.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            return Err(self.redirected(response.headers()));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(unauthorized(status, response.headers()));
        }
        Ok(response.map(|incoming| Body::new(incoming, lane, &self.pool, &self.origin)))
    }

    /// Over a connection that waits, or a new one. A request moves on to another connection only
    /// when nothing of it was sent.
    async fn exchange(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, Lane), ClientError> {
        // On the heap is what most requests do not need: it would make every one of them larger.
        while let Some(mut lane) = match self.pool.take_ready() {
            Some(lane) => Some(lane),
            None => Box::pin(self.pool.take()).await,
        } {
            match lane.try_send_request(request).await {
                Ok(response) => return Ok((response, lane)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(self.lost(error.error())),
                },
            }
        }
        let mut lane = Box::pin(pool::open(&self.origin, self.connect_within)).await?;
        match lane.try_send_request(request).await {
            Ok(response) => Ok((response, lane)),
            Err(mut error) => match error.take_message() {
                Some(_) => Err(self.unsent(error.error())),
                None => Err(self.lost(error.error())),
            },
        }
    }

    fn unsent(&self, error: &hyper::Error) -> ClientError {
        ClientError::Unreachable(format!("`{}` closed the connection: {error}", self.origin))
    }

    fn lost(&self, error: &hyper::Error) -> ClientError {
        let origin = &self.origin;
        if error.is_parse() {
            return ClientError::Malformed(format!(
                "`{origin}` does not answer in HTTP: {error}; check scheme and port"
            ));
        }
        ClientError::Lost(format!("`{origin}` did not answer the request: {error}"))
    }

    /// Where a request is to be sent again as it is, if that is here: another origin would get the
    /// headers of this one.
    fn moved(&self, response: &Response<Incoming>) -> Option<Uri> {
        let as_it_is = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT];
        let location = response.headers().get(header::LOCATION)?;
        let place: Uri = location.to_str().ok()?.parse().ok()?;
        let is_here = match place.host() {
            Some(_) => Origin::of(&place).is_ok_and(|origin| origin == *self.origin),
            None => place.path().starts_with('/'),
        };
        (is_here && as_it_is.contains(&response.status())).then(|| request_target(&place))
    }

    fn redirected(&self, headers: &HeaderMap) -> ClientError {
        let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        let target = location.and_then(|text| text.parse::<Uri>().ok());
        let target = match &target {
            Some(uri) => match uri.host() {
                Some(host) => format!("the host `{host}`"),
                None => format!("the path `{}`", uri.path()),
            },
            None => "a place that cannot be read".to_owned(),
        };
        ClientError::Unreachable(format!(
            "`{}` redirects to {target}, which is not followed; give the final address",
            self.origin
        ))
    }
}

fn unauthorized(status: StatusCode, headers: &HeaderMap) -> ClientError {
    let challenge = headers.get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    ClientError::Unauthorized { status: status.as_u16(), challenge: challenge.map(str::to_owned) }
}
