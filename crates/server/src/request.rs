//! Parsed messages, and the context of a request in flight.
//!
//! The members of params that several steps need are found once here and go with the request: params
//! pass ten functions on their way, and each search reads them from start to end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::{CallNotification, Caller};
use gantry_protocol::jsonrpc::{Batch, Incoming, Malformed, Notification, Response, decode};
use gantry_protocol::meta::{RequestMeta, key};
use gantry_protocol::{
    Id, JsonLimits, Message, Method, ParamsHead, RawJson, Request, ResultObject, Revision, Trace,
    compat, jsonrpc,
};
use gantry_transport::{Offload, offload};

use crate::request_headers::{Headers, TRACEPARENT, TRACESTATE, text};

/// A message of a client, or a batch of them.
#[derive(Debug)]
pub(crate) enum ParsedMessage {
    Request(Box<ParsedRequest>),
    Notification(Notification),
    Response(Response),
    Batch(Batch),
}

/// Parses a message; a large one on a blocking thread.
pub(crate) fn parse(text: Bytes, limits: JsonLimits) -> Offload<Result<ParsedMessage, Malformed>> {
    offload(text.len(), move || {
        Ok(match decode(text, limits)? {
            Incoming::Single(Message::Request(request)) => {
                ParsedMessage::Request(Box::new(ParsedRequest::new(request)))
            }
            Incoming::Single(Message::Notification(it)) => ParsedMessage::Notification(it),
            Incoming::Single(Message::Response(it)) => ParsedMessage::Response(it),
            Incoming::Batch(batch) => ParsedMessage::Batch(batch),
        })
    })
}

/// A request as the client sent it, in the form of its own revision.
#[derive(Debug)]
pub(crate) struct ParsedRequest {
    pub(crate) id: Id,
    pub(crate) method: Method,
    /// An empty object if the request has none.
    pub(crate) params: RawJson,
    pub(crate) head: ParamsHead,
    pub(crate) meta: RequestMeta,
    /// How long it has waited for the tool that it calls to be listed.
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

    /// Takes the trace context from the headers, unless `_meta` has one.
    pub(crate) fn take_trace_from(&mut self, headers: &Headers) {
        self.meta.trace = self.meta.trace.take().or_else(|| trace_from_headers(headers));
    }

    /// Whether the request names a modern revision in its `_meta`.
    pub(crate) fn is_stateless(&self) -> bool {
        self.meta.version.is_some()
    }
}

/// The trace context of the headers. One that is given twice is ignored.
pub(crate) fn trace_from_headers(headers: &Headers) -> Option<Trace> {
    let mut parents = headers.all(TRACEPARENT);
    let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
    let states: Vec<&str> = headers.all(TRACESTATE).filter_map(text).collect();
    let state = (!states.is_empty()).then(|| states.join(","));
    Trace::read(text(parent)?, state.as_deref())
}

/// What is needed of a request in flight until its response is sent.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub(crate) id: Id,
    pub(crate) method: Method,
    pub(crate) params: RawJson,
    /// The progress token, which progress notifications carry.
    pub(crate) token: Option<RawJson>,
    pub(crate) caller: Arc<Caller>,
    /// Whether values are sent as content blocks of type `json`.
    pub(crate) json_content: bool,
    /// The member `task` of params: the client asks for a task (2025-11-25).
    pub(crate) task: Option<RawJson>,
}

impl RequestContext {
    /// Lowers the result of the call to the client's revision, with the content blocks it wants.
    pub(crate) fn lower(&self, revision: Revision, result: ResultObject) -> ResultObject {
        if self.task.is_some() {
            return result;
        }
        let related = self.related_task();
        let method = if related.is_some() { &Method::ToolsCall } else { &self.method };
        let blocks = self.json_content && *method == Method::ToolsCall;
        if related.is_none() && !blocks {
            return compat::lower(revision, method, result);
        }
        let lowered = compat::lower_result(revision, method, &result);
        let lowered = match blocks {
            true => compat::with_json_block(&result, &lowered),
            false => lowered,
        };
        match related {
            Some(task) => compat::with_related_task(&lowered, &task).into(),
            None => lowered.into(),
        }
    }

    /// The task that all messages of this request are related to (2025-11-25).
    pub(crate) fn related_task(&self) -> Option<String> {
        match self.method {
            Method::TasksResult => self.params.get("taskId")?.to_text(),
            _ => None,
        }
    }

    /// The notification in the client's revision; none if there is none to send.
    pub(crate) fn notification(
        &self,
        revision: Revision,
        notification: &CallNotification,
    ) -> Option<Bytes> {
        let (method, params) = match notification {
            CallNotification::Progress(params) => {
                let token = self.token.clone()?;
                (Method::Progress, params.edit().set(key::PROGRESS_TOKEN, token).apply())
            }
            CallNotification::Log(_, params) => (Method::LogMessage, params.clone()),
            CallNotification::HangUp { .. } | CallNotification::Task { .. } => return None,
        };
        let params = compat::lower_notification(revision, &method, &params);
        Some(jsonrpc::notification(method.as_str(), Some(&params)))
    }
}
