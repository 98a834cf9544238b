//! Several messages in one array, which only 2025-03-26 knows.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::join_all;
use gantry_gateway::Call;
use gantry_protocol::jsonrpc::{self, Batch};
use gantry_protocol::{Message, Method, Request, RpcError};

use super::turns::Turn;
use super::{Connection, in_use};
use crate::era::{Handled, ParsedRequest, RequestContext, Session};
use crate::in_flight::InFlightGuard;
use crate::server_state::ServerState;

impl Connection {
    /// Takes a batch. Returns whether the connection goes on.
    pub(super) async fn take_batch(self: Arc<Self>, batch: Batch, bytes: usize) -> bool {
        let session = self.session.get().filter(|session| session.revision.has_batches());
        let Some(session) = session.cloned() else {
            return self.complain(None, &RpcError::invalid_request(UNKNOWN)).await;
        };
        let sorted = match sort(&batch, self.server_state.settings.batch) {
            Ok(sorted) => sorted,
            Err(error) => return self.complain(None, &error).await,
        };
        let goes_on = sorted.notifications.iter().all(|notification| self.hear(notification));
        sorted.responses.into_iter().for_each(|response| session.take(response));
        if !sorted.requests.is_empty() || !sorted.replies.is_empty() {
            // All of its calls may have to wait, which is counted for all of them together.
            let room = match self.room(bytes).await {
                Ok(room) => room,
                Err(error) => return self.complain(None, &error).await,
            };
            let begun = begin(&self.server_state, &session, sorted.requests);
            let connection = self.clone();
            self.tasks.spawn(async move {
                let _room = room;
                let answers = begun.into_iter().map(|it| connection.answer(&session, it));
                let mut replies = sorted.replies;
                replies.extend(join_all(answers).await.into_iter().flatten());
                if !replies.is_empty() {
                    connection.send(to_array(&replies)).await;
                }
            });
        }
        goes_on
    }

    async fn answer(&self, session: &Session, handled: Begun) -> Option<Bytes> {
        let reply = match handled {
            Begun::Answered(reply) => Some(reply),
            Begun::Call(request_context, call, guard) => {
                let ended =
                    self.run_stateful(session, &request_context, *call, guard, Turn::Next).await;
                ended.map(|(reply, _slot)| reply)
            }
        };
        reply.map(jsonrpc::Reply::into_bytes)
    }
}

/// A request of a batch.
pub(crate) enum Begun {
    Answered(jsonrpc::Reply),
    Call(RequestContext, Box<Call>, InFlightGuard),
}

/// Begins the requests of a batch, all of them before any can be cancelled.
pub(crate) fn begin(
    server_state: &ServerState,
    session: &Session,
    requests: Vec<Request>,
) -> Vec<Begun> {
    let begin = |request| match session.handle(server_state, ParsedRequest::new(request)) {
        Handled::Answered(reply) => Begun::Answered(reply),
        Handled::Call(request_context, call) => match session.calls.register(&request_context.id) {
            Some(guard) => Begun::Call(request_context, call, guard),
            None => Begun::Answered(jsonrpc::error(&request_context.id, &in_use())),
        },
    };
    requests.into_iter().map(begin).collect()
}

/// Why an array is refused everywhere else.
pub(crate) const UNKNOWN: &str = "this revision knows no batches; send one message at a time";

/// The messages of a batch by kind, and the answers to those that were no messages.
pub(crate) struct Sorted {
    pub(crate) requests: Vec<Request>,
    pub(crate) notifications: Vec<gantry_protocol::Notification>,
    pub(crate) responses: Vec<gantry_protocol::Response>,
    pub(crate) replies: Vec<Bytes>,
}

/// Sorts the messages of a batch, if there are no more than `limit`.
pub(crate) fn sort(batch: &Batch, limit: usize) -> Result<Sorted, RpcError> {
    let elements =
        batch.elements(limit).map_err(|error| RpcError::invalid_request(error.to_string()))?;
    let (requests, notifications, responses, replies) = Default::default();
    let mut sorted = Sorted { requests, notifications, responses, replies };
    for element in &elements {
        match Message::read(element) {
            Ok(Message::Request(request)) if request.method == Method::Initialize => {
                let error = RpcError::invalid_request("`initialize` must not be part of a batch");
                sorted.replies.push(jsonrpc::error(&request.id, &error).into_bytes());
            }
            Ok(Message::Request(request)) => sorted.requests.push(request),
            Ok(Message::Notification(notification)) => sorted.notifications.push(notification),
            Ok(Message::Response(response)) => sorted.responses.push(response),
            Err(malformed) => {
                let error = malformed.to_error();
                let reply = match malformed.id() {
                    Some(id) => jsonrpc::error(id, &error),
                    None => jsonrpc::error_without_id(&error, true),
                };
                sorted.replies.push(reply.into_bytes());
            }
        }
    }
    Ok(sorted)
}

/// Several messages as one array.
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
