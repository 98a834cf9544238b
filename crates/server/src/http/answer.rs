//! What a request is answered with: the few kinds of answer there are.

use std::sync::Arc;

use bytes::Bytes;
use gantry_protocol::{RpcError, jsonrpc};
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, DATE, HeaderName, TRANSFER_ENCODING,
};
use http::{HeaderValue, Response, StatusCode};

use super::body::Body;
use super::budget::ReceiveBudget;
use super::send::COPIED;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const TEXT: &str = "text/plain; charset=utf-8";
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// What the body is; nothing where that is not said, or said among the headers.
    pub(super) kind: &'static str,
    /// What else is said. Most answers say nothing.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Body,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, body: Body) -> Self {
        Self { status, kind: "", headers: Vec::new(), body }
    }

    /// Says something more.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The same answer, counted for as long as it is being sent. A client that does not read would
    /// otherwise keep as much of it in memory as it has connections.
    pub(super) fn charged(mut self, sending: &Arc<ReceiveBudget>, principal: &Arc<str>) -> Self {
        let Body::Pieces(pieces) = &mut self.body else { return self };
        let Some(largest) = pieces.iter_mut().max_by_key(|piece| piece.len()) else { return self };
        if largest.len() <= COPIED {
            return self;
        }
        let mut charge = sending.body(principal);
        if !charge.cover(largest.len()) {
            let told =
                "too many bytes wait to be read by clients; read faster, or try again later\n";
            return text(StatusCode::SERVICE_UNAVAILABLE, told);
        }
        *largest = charge.hold(std::mem::take(largest));
        self
    }

    fn of(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }
}

/// The answers of others. What is said of the connection and of the body's end is for the door to say,
/// and to say twice would be to say it in two ways.
impl From<Response<Bytes>> for Answer {
    fn from(response: Response<Bytes>) -> Self {
        let (parts, body) = response.into_parts();
        let mut answer = Self::new(parts.status, Body::whole(body));
        let own = [CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING];
        let theirs = parts.headers.iter().filter(|(name, _)| !own.contains(name));
        answer.headers.extend(theirs.map(|(name, value)| (name.clone(), value.clone())));
        answer
    }
}

/// A JSON-RPC response.
pub(crate) fn reply(status: StatusCode, reply: jsonrpc::Reply) -> Answer {
    Answer::new(status, Body::Pieces(reply.into_pieces())).of(JSON)
}

/// A whole JSON text.
pub(crate) fn json(status: StatusCode, text: Bytes) -> Answer {
    Answer::new(status, Body::whole(text)).of(JSON)
}

/// A JSON-RPC error that answers no request in particular.
pub(crate) fn error(status: StatusCode, error: &RpcError) -> Answer {
    reply(status, jsonrpc::error_without_id(error, false))
}

/// Plain text, for people.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    Answer::new(status, Body::whole(text)).of(TEXT)
}

/// Taken, with nothing to say.
pub(crate) fn accepted() -> Answer {
    Answer::new(StatusCode::ACCEPTED, Body::empty())
}

/// A stream of events.
pub(crate) fn events(body: Body) -> Answer {
    Answer::new(StatusCode::OK, body)
        .of(EVENTS)
        .with(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
        .with(X_ACCEL_BUFFERING, HeaderValue::from_static("no"))
}

/// The path is right but the method is not.
pub(crate) fn not_allowed(allowed: &'static str) -> Answer {
    text(StatusCode::METHOD_NOT_ALLOWED, format!("use {allowed}\n"))
        .with(ALLOW, HeaderValue::from_static(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn large_answers_are_counted_until_they_are_sent() {
        let settings =
            Settings { sending: 150_000, sending_of_principal: 100_000, ..Settings::default() };
        let (sending, ada) = (Arc::new(ReceiveBudget::of_answers(&settings)), "ada".into());
        let answer = |size| json(StatusCode::OK, Bytes::from(vec![b'1'; size]));
        let first = answer(60_000).charged(&sending, &ada);
        let refused = answer(60_000).charged(&sending, &ada);
        assert_eq!((first.status, refused.status.as_u16()), (StatusCode::OK, 503));
        assert_eq!(answer(COPIED).charged(&sending, &ada).status, StatusCode::OK, "it is small");
        let other = answer(90_000).charged(&sending, &"bob".into());
        assert_eq!(other.status, StatusCode::OK);
        assert_eq!(answer(20_000).charged(&sending, &ada).status.as_u16(), 503, "all have a limit");
        drop((first, other));
        assert_eq!(answer(60_000).charged(&sending, &ada).status, StatusCode::OK);
    }

    #[test]
    fn what_the_door_says_others_do_not() {
        let theirs = [("content-length", "9"), ("Date", "x"), ("connection", "close"), ("a", "b")];
        let mut response = Response::builder();
        for (name, value) in theirs {
            response = response.header(name, value);
        }
        let answer = Answer::from(response.body(Bytes::new()).unwrap());
        let kept: Vec<_> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(kept, ["a"]);
    }
}
