//! A request as it arrived, with what everyone needs of it found once.

use std::time::Duration;

use bytes::Bytes;
use gantry_protocol::jsonrpc::{Batch, Incoming, Malformed, Notification, Response, decode};
use gantry_protocol::meta::RequestMeta;
use gantry_protocol::{Id, JsonLimits, Message, Method, ParamsHead, RawJson, Request, Trace};
use gantry_transport::{Offload, offload};

use crate::headers::{Headers, TRACEPARENT, TRACESTATE, text};

/// What a text says.
#[derive(Debug)]
pub(crate) enum Received {
    Request(Box<ParsedRequest>),
    Notification(Notification),
    Response(Response),
    Batch(Batch),
}

/// Reads a text.
pub(crate) fn receive(text: Bytes, limits: JsonLimits) -> Offload<Result<Received, Malformed>> {
    offload(text.len(), move || {
        Ok(match decode(text, limits)? {
            Incoming::Single(Message::Request(request)) => {
                Received::Request(Box::new(ParsedRequest::new(request)))
            }
            Incoming::Single(Message::Notification(it)) => Received::Notification(it),
            Incoming::Single(Message::Response(it)) => Received::Response(it),
            Incoming::Batch(batch) => Received::Batch(batch),
        })
    })
}

/// A request as it arrived.
#[derive(Debug)]
pub(crate) struct ParsedRequest {
    pub(crate) id: Id,
    pub(crate) method: Method,
    /// An empty object when there were none.
    pub(crate) params: RawJson,
    pub(crate) head: ParamsHead,
    pub(crate) meta: RequestMeta,
    /// How long it has waited for what it names to be listed.
    pub(crate) waited: Duration,
}

impl ParsedRequest {
    pub(crate) fn new(request: Request) -> Self {
        let Request { id, method, params } = request;
        let params = params.unwrap_or(RawJson::EMPTY_OBJECT);
        let head = ParamsHead::read(&params);
        let meta = RequestMeta::read(head.meta.as_ref());
        Self { id, method, params, head, meta, waited: Duration::ZERO }
    }

    /// The same with the trace that the headers name, unless the request names one itself.
    pub(crate) fn traced_by(mut self, headers: &Headers) -> Self {
        self.meta.trace = self.meta.trace.take().or_else(|| named_trace(headers));
        self
    }

    /// Whether the request says that it stands alone.
    pub(crate) fn is_stateless(&self) -> bool {
        self.meta.version.is_some()
    }
}

/// The trace that the headers of a request name. One that is named twice is none.
pub(crate) fn named_trace(headers: &Headers) -> Option<Trace> {
    let mut parents = headers.all(TRACEPARENT);
    let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
    let states: Vec<&str> = headers.all(TRACESTATE).filter_map(text).collect();
    let state = (!states.is_empty()).then(|| states.join(","));
    Trace::read(text(parent)?, state.as_deref())
}
