//! The few kinds of response there are.

use bytes::Bytes;
use gantry_protocol::{RpcError, jsonrpc};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Response, StatusCode};

use super::body::Body;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A JSON-RPC response.
pub(crate) fn reply(status: StatusCode, reply: jsonrpc::Reply) -> Response<Body> {
    with(status, JSON, Body::Pieces(reply.into_pieces()))
}

/// A whole JSON text.
pub(crate) fn json(status: StatusCode, text: Bytes) -> Response<Body> {
    with(status, JSON, Body::whole(text))
}

/// A JSON-RPC error that answers no request in particular.
pub(crate) fn error(status: StatusCode, error: &RpcError) -> Response<Body> {
    reply(status, jsonrpc::error_without_id(error, false))
}

/// Plain text, for people.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    with(status, TEXT, Body::whole(text))
}

/// Taken, with nothing to say.
pub(crate) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// A stream of events.
pub(crate) fn events(body: Body) -> Response<Body> {
    let mut response = with(StatusCode::OK, EVENTS, body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// The path is right but the method is not.
pub(crate) fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, format!("use {allowed}\n"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn with(status: StatusCode, kind: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
