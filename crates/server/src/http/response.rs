//! HTTP responses: JSON, plain text, event streams and upgrades.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use futures_util::future::BoxFuture;
use gantry_protocol::{Id, RpcError, jsonrpc};
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, DATE, HeaderName, TRANSFER_ENCODING,
};
use http::{HeaderValue, Response, StatusCode};

use crate::http::byte_budget::ByteBudget;
use crate::http::client_stream::WriteTimeout;
use crate::http::response_writer::MAX_COPIED;
use crate::quota::QuotaExceeded;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const TEXT: &str = "text/plain; charset=utf-8";
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The response to a request.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    /// Empty if there is none, or it is among the headers.
    pub(super) content_type: &'static str,
    /// Other headers. Most responses have none.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Body,
}

impl HttpResponse {
    pub(crate) fn new(status: StatusCode, body: Body) -> Self {
        Self { status, content_type: "", headers: Vec::new(), body }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The same response, charged to the budget until it is sent. A client that does not read would
    /// otherwise keep as much of it in memory as it has connections.
    pub(super) fn charged(mut self, budget: &Arc<ByteBudget>, principal: &Arc<str>) -> Self {
        let Body::Pieces(pieces) = &mut self.body else { return self };
        let Some(largest) = pieces.iter_mut().max_by_key(|piece| piece.len()) else { return self };
        if largest.len() <= MAX_COPIED {
            return self;
        }
        let mut charge = budget.body(principal);
        if !charge.raise_to(largest.len()) {
            let reason =
                "too many bytes wait to be read by clients; read faster, or try again later\n";
            return text(StatusCode::SERVICE_UNAVAILABLE, reason);
        }
        *largest = charge.attach_to(std::mem::take(largest));
        self
    }

    fn of_type(self, content_type: &'static str) -> Self {
        Self { content_type, ..self }
    }
}

/// The response of a mounted handler. Headers about the connection and the length of the body are
/// dropped: `response_writer` writes them, and a second value could contradict it.
impl From<Response<Bytes>> for HttpResponse {
    fn from(theirs: Response<Bytes>) -> Self {
        let (parts, body) = theirs.into_parts();
        let mut response = Self::new(parts.status, Body::whole(body));
        let own = [CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING];
        let theirs = parts.headers.iter().filter(|(name, _)| !own.contains(name));
        response.headers.extend(theirs.map(|(name, value)| (name.clone(), value.clone())));
        response
    }
}

/// A JSON-RPC response.
pub(crate) fn reply(status: StatusCode, reply: jsonrpc::Reply) -> HttpResponse {
    HttpResponse::new(status, Body::Pieces(reply.into_pieces())).of_type(JSON)
}

/// A JSON text.
pub(crate) fn json(status: StatusCode, text: Bytes) -> HttpResponse {
    HttpResponse::new(status, Body::whole(text)).of_type(JSON)
}

/// A JSON-RPC error without the id of a request.
pub(crate) fn error(status: StatusCode, error: &RpcError) -> HttpResponse {
    reply(status, jsonrpc::error_without_id(error, false))
}

/// A JSON-RPC error response to a request.
pub(crate) fn rpc_error(id: &Id, status: StatusCode, error: &RpcError) -> HttpResponse {
    reply(status, jsonrpc::error(id, error))
}

/// 429 for a client that may open no more event streams. `id` is that of its request, if it has one.
pub(crate) fn too_many_streams(id: Option<&Id>, exceeded: QuotaExceeded) -> HttpResponse {
    let error = exceeded.into();
    match id {
        Some(id) => rpc_error(id, StatusCode::TOO_MANY_REQUESTS, &error),
        None => self::error(StatusCode::TOO_MANY_REQUESTS, &error),
    }
}

/// Plain text.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> HttpResponse {
    HttpResponse::new(status, Body::whole(text)).of_type(TEXT)
}

/// 202 without a body.
pub(crate) fn accepted() -> HttpResponse {
    HttpResponse::new(StatusCode::ACCEPTED, Body::empty())
}

/// An event stream.
pub(crate) fn events(body: Body) -> HttpResponse {
    HttpResponse::new(StatusCode::OK, body)
        .of_type(EVENTS)
        .with(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
        .with(X_ACCEL_BUFFERING, HeaderValue::from_static("no"))
}

/// 405 for a method that the path does not have.
pub(crate) fn not_allowed(allowed: &'static str) -> HttpResponse {
    text(StatusCode::METHOD_NOT_ALLOWED, format!("use {allowed}\n"))
        .with(ALLOW, HeaderValue::from_static(allowed))
}

/// Takes over a connection after `101 Switching Protocols`, with the bytes that were already read.
pub(crate) type Upgrade = Box<dyn FnOnce(WriteTimeout, BytesMut) -> BoxFuture<'static, ()> + Send>;

/// The body of a response.
pub(crate) enum Body {
    /// Complete, in a few pieces.
    Pieces([Bytes; 3]),
    /// Events as they happen.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    /// None: the connection is upgraded.
    Upgrade(Upgrade),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Pieces([Bytes::new(), Bytes::new(), Bytes::new()])
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Pieces([bytes.into(), Bytes::new(), Bytes::new()])
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pieces(pieces) => formatter.debug_tuple("Pieces").field(pieces).finish(),
            Self::Events(_) => formatter.write_str("Events"),
            Self::Upgrade(_) => formatter.write_str("Upgrade"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn large_responses_are_charged_until_they_are_sent() {
        let settings =
            Settings { sending: 150_000, sending_of_principal: 100_000, ..Settings::default() };
        let (budget, ada) = (Arc::new(ByteBudget::for_responses(&settings)), "ada".into());
        let response = |size| json(StatusCode::OK, Bytes::from(vec![b'1'; size]));
        let first = response(60_000).charged(&budget, &ada);
        let refused = response(60_000).charged(&budget, &ada);
        assert_eq!((first.status, refused.status.as_u16()), (StatusCode::OK, 503));
        let small = response(MAX_COPIED).charged(&budget, &ada);
        assert_eq!(small.status, StatusCode::OK, "it is small");
        let other = response(90_000).charged(&budget, &"bob".into());
        assert_eq!(other.status, StatusCode::OK);
        let refused = response(20_000).charged(&budget, &ada);
        assert_eq!(refused.status.as_u16(), 503, "all have a limit");
        drop((first, other));
        assert_eq!(response(60_000).charged(&budget, &ada).status, StatusCode::OK);
    }

    #[test]
    fn handlers_do_not_set_headers_of_the_connection() {
        let theirs = [("content-length", "9"), ("Date", "x"), ("connection", "close"), ("a", "b")];
        let mut builder = Response::builder();
        for (name, value) in theirs {
            builder = builder.header(name, value);
        }
        let response = HttpResponse::from(builder.body(Bytes::new()).unwrap());
        let kept: Vec<_> = response.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(kept, ["a"]);
    }
}
