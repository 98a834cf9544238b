//! Reads a JSON-RPC envelope: the kind of message and the ranges of its parts.

use std::ops::Range;

use bytes::Bytes;

use super::Id;
use crate::error::RpcError;
use crate::json::{JsonError, JsonKind, JsonLimits, RawJson, validate};
use crate::method::Method;

/// What one text from a peer holds.
#[derive(Debug)]
pub enum Incoming {
    /// One message.
    Single(Message),
    /// An array of messages. None of them is read yet, for not every revision has batches.
    Batch(Batch),
}

/// An array that should hold messages. It has at least one element.
#[derive(Debug)]
pub struct Batch(RawJson);

/// A batch holds more messages than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a batch may hold {limit} messages, and this one has more; send fewer at a time")]
pub struct BatchTooLong {
    /// The limit in force.
    pub limit: usize,
}

impl Batch {
    /// The elements, if there are no more than `limit`. Reading stops at the limit. Each is read
    /// by [`Message::read`] on its own, so that one bad one does not spoil the others.
    pub fn elements(&self, limit: usize) -> Result<Vec<RawJson>, BatchTooLong> {
        let elements: Vec<_> = self.0.elements().take(limit.saturating_add(1)).collect();
        if elements.len() > limit { Err(BatchTooLong { limit }) } else { Ok(elements) }
    }
}

/// One message.
#[derive(Debug, Clone)]
pub enum Message {
    /// Requires a response.
    Request(Request),
    /// Requires none.
    Notification(Notification),
    /// The response to a request.
    Response(Response),
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Echoed in the response.
    pub id: Id,
    /// What is wanted.
    pub method: Method,
    /// An object, when there is one.
    pub params: Option<RawJson>,
}

/// A notification.
#[derive(Debug, Clone)]
pub struct Notification {
    /// What happened.
    pub method: Method,
    /// An object, when there is one.
    pub params: Option<RawJson>,
}

/// The response to a request of ours.
#[derive(Debug, Clone)]
pub struct Response {
    /// Absent only when the peer could not read the request.
    pub id: Option<Id>,
    /// The result, or the error object as it came.
    pub outcome: Result<RawJson, RawJson>,
}

/// A text that is not a valid message.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Not JSON, or beyond a limit.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// JSON, but no JSON-RPC 2.0 message.
    #[error("{reason}")]
    Envelope {
        /// The id, as far as it could be read.
        id: Option<Id>,
        /// What is wrong and what to send instead.
        reason: &'static str,
    },
}

impl Malformed {
    /// The error to answer with.
    pub fn to_error(&self) -> RpcError {
        match self {
            Self::Json(error) => RpcError::parse_error(error.to_string()),
            Self::Envelope { reason, .. } => RpcError::invalid_request(*reason),
        }
    }

    /// The id to answer to, as far as it could be read.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Json(_) => None,
            Self::Envelope { id, .. } => id.as_ref(),
        }
    }
}

/// Reads one text from a peer.
///
/// ```
/// use gantry_protocol::jsonrpc::{Incoming, Message, decode};
/// let text = br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
/// let Ok(Incoming::Single(Message::Request(request))) = decode(&text[..], Default::default())
/// else { panic!() };
/// assert_eq!(request.method.as_str(), "ping");
/// ```
pub fn decode(bytes: impl Into<Bytes>, limits: JsonLimits) -> Result<Incoming, Malformed> {
    let bytes = bytes.into();
    // Nearly every text is a message in an ordinary form, whose parts are found while it is checked.
    let mut parts = Parts::default();
    let part = |key: &[u8], value: Range<usize>| parts.put(key, || RawJson::part(&bytes, value));
    if bytes.len() <= limits.size && validate::is_object(&bytes, limits.depth, part) {
        return parts.read().map(Incoming::Single);
    }
    let raw = RawJson::parse(bytes, limits)?;
    if raw.kind() != JsonKind::Array {
        return Message::read(&raw).map(Incoming::Single);
    }
    if raw.elements().next().is_none() {
        return Err(Malformed::Envelope { id: None, reason: "a batch must hold a message" });
    }
    Ok(Incoming::Batch(Batch(raw)))
}

/// The members of an envelope.
#[derive(Default)]
struct Parts {
    version: Option<RawJson>,
    id: Option<RawJson>,
    method: Option<RawJson>,
    params: Option<RawJson>,
    result: Option<RawJson>,
    error: Option<RawJson>,
    /// Whether one of them appears twice.
    has_duplicate: bool,
}

impl Parts {
    fn put(&mut self, key: &[u8], value: impl FnOnce() -> RawJson) {
        let slot = match key {
            b"jsonrpc" => &mut self.version,
            b"id" => &mut self.id,
            b"method" => &mut self.method,
            b"params" => &mut self.params,
            b"result" => &mut self.result,
            b"error" => &mut self.error,
            _ => return,
        };
        self.has_duplicate |= slot.replace(value()).is_some();
    }

    fn read(self) -> Result<Message, Malformed> {
        let id = self.id.clone().and_then(Id::new);
        let refuse = |reason| Err(Malformed::Envelope { id: id.clone(), reason });
        if self.has_duplicate {
            return refuse("a member of the envelope appears twice; send each once");
        }
        if self.version.as_ref().is_none_or(|version| **version.bytes() != *b"\"2.0\"") {
            return refuse("`jsonrpc` must be \"2.0\"");
        }
        match self.method {
            Some(_) => read_call(self, id),
            None => read_response(self, id),
        }
    }
}

impl Message {
    /// Reads a JSON value as a message.
    pub fn read(raw: &RawJson) -> Result<Self, Malformed> {
        if !raw.is_object() {
            return Err(Malformed::Envelope {
                id: None,
                reason: "a message must be a JSON object",
            });
        }
        let mut parts = Parts::default();
        for member in raw.members() {
            parts.put(&member.key_bytes(), || member.value());
        }
        parts.read()
    }
}

fn read_call(parts: Parts, id: Option<Id>) -> Result<Message, Malformed> {
    let refuse = |reason| Err(Malformed::Envelope { id: id.clone(), reason });
    let Some(method) = parts.method.as_ref().and_then(Method::from_json) else {
        return refuse("`method` must be a string");
    };
    let params = parts.params;
    let fits = params.as_ref().is_none_or(RawJson::is_object);
    match (parts.id, id) {
        // A notification must not be answered, so invalid params are dropped instead of reported.
        (None, _) => {
            let params = params.filter(|_| fits);
            Ok(Message::Notification(Notification { method, params }))
        }
        (Some(_), Some(id)) if fits => Ok(Message::Request(Request { id, method, params })),
        (Some(_), Some(id)) => {
            Err(Malformed::Envelope { id: Some(id), reason: "`params` must be an object" })
        }
        (Some(_), None) => {
            Err(Malformed::Envelope { id: None, reason: "`id` must be a string or a whole number" })
        }
    }
}

fn read_response(parts: Parts, id: Option<Id>) -> Result<Message, Malformed> {
    let outcome = match (parts.result, parts.error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(error),
        _ => {
            return Err(Malformed::Envelope {
                id,
                reason: "a message must have a `method`, or else a `result` or an `error`",
            });
        }
    };
    if id.is_none() && outcome.is_ok() {
        return Err(Malformed::Envelope { id, reason: "a result must name its request in `id`" });
    }
    Ok(Message::Response(Response { id, outcome }))
}
