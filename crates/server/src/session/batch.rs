//! JSON-RPC batches, which only 2025-03-26 has: several messages in one array.

use bytes::{BufMut, Bytes, BytesMut};
use gantry_gateway::Call;
use gantry_protocol::jsonrpc::{self, Batch};
use gantry_protocol::{Message, Method, Notification, Request, Response, RpcError};

use crate::in_flight::{InFlightGuard, duplicate_id};
use crate::request::{ParsedRequest, RequestContext};
use crate::server_state::ServerState;
use crate::session::{Dispatched, Session};

/// Why an array is rejected by every other revision.
pub(crate) const BATCHES_UNSUPPORTED: &str =
    "this revision knows no batches; send one message at a time";

/// The messages of a batch by kind, and the replies to those that are invalid.
pub(crate) struct BatchMessages {
    pub(crate) requests: Vec<Request>,
    pub(crate) notifications: Vec<Notification>,
    pub(crate) responses: Vec<Response>,
    pub(crate) replies: Vec<Bytes>,
}

impl BatchMessages {
    /// Reads the messages of a batch, if there are no more than `limit`.
    pub(crate) fn read(batch: &Batch, limit: usize) -> Result<Self, RpcError> {
        let elements =
            batch.elements(limit).map_err(|error| RpcError::invalid_request(error.to_string()))?;
        let (requests, notifications, responses, replies) = Default::default();
        let mut messages = Self { requests, notifications, responses, replies };
        for element in &elements {
            match Message::read(element) {
                Ok(Message::Request(request)) if request.method == Method::Initialize => {
                    let text = "`initialize` must not be part of a batch";
                    let reply = jsonrpc::error(&request.id, &RpcError::invalid_request(text));
                    messages.replies.push(reply.into_bytes());
                }
                Ok(Message::Request(request)) => messages.requests.push(request),
                Ok(Message::Notification(it)) => messages.notifications.push(it),
                Ok(Message::Response(response)) => messages.responses.push(response),
                Err(malformed) => {
                    let error = malformed.to_error();
                    let reply = match malformed.id() {
                        Some(id) => jsonrpc::error(id, &error),
                        None => jsonrpc::error_without_id(&error, true),
                    };
                    messages.replies.push(reply.into_bytes());
                }
            }
        }
        Ok(messages)
    }
}

/// A request of a batch: replied to, or a call in flight.
pub(crate) enum BatchItem {
    Replied(jsonrpc::Reply),
    Call(RequestContext, Box<Call>, InFlightGuard),
}

/// Registers the requests of a batch, all of them before any can be cancelled.
pub(crate) fn register_all(
    server_state: &ServerState,
    session: &Session,
    requests: Vec<Request>,
) -> Vec<BatchItem> {
    let register = |request| match session.dispatch(server_state, ParsedRequest::new(request)) {
        Dispatched::Replied(reply) => BatchItem::Replied(reply),
        Dispatched::Call(request_context, call) => {
            match session.calls.register(&request_context.id) {
                Some(guard) => BatchItem::Call(request_context, call, guard),
                None => BatchItem::Replied(jsonrpc::error(&request_context.id, &duplicate_id())),
            }
        }
    };
    requests.into_iter().map(register).collect()
}

/// The replies of a batch as one array.
pub(crate) fn to_array(messages: &[Bytes]) -> Bytes {
    let size: usize = messages.iter().map(|message| message.len() + 1).sum();
    let mut out = BytesMut::with_capacity(size + 1);
    for (index, message) in messages.iter().enumerate() {
        out.put_u8(if index == 0 { b'[' } else { b',' });
        out.put_slice(message);
    }
    out.put_u8(b']');
    out.freeze()
}
