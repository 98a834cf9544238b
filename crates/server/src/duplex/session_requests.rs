//! Requests and batches of a legacy session on a bidirectional connection.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use gantry_gateway::Call;
use gantry_protocol::RpcError;
use gantry_protocol::jsonrpc::{self, Batch};
use tokio::sync::OwnedSemaphorePermit;

use super::Connection;
use super::call_limiter::Admission;
use crate::discover::Handshake;
use crate::in_flight::{InFlightGuard, duplicate_id};
use crate::message_sink::MessageSink;
use crate::request::{ParsedRequest, RequestContext};
use crate::session::batch::{
    BATCHES_UNSUPPORTED, BatchItem, BatchMessages, register_all, to_array,
};
use crate::session::run_call::run_call;
use crate::session::{Dispatched, Session, forward_changes};

/// Opens the session of a connection, and forwards changes to its client from then on.
pub(super) async fn initialize(connection: &Arc<Connection>, request: &ParsedRequest) {
    match Handshake::read(&connection.server_state, &connection.client, request) {
        Ok(Handshake { session, response }) => {
            let session = connection.session.get_or_init(|| Arc::new(session)).clone();
            // Subscribed before the response is sent, so that no change between the client's first
            // list and `notifications/initialized` is lost.
            let changes = session.subscribe(&connection.server_state);
            connection.send(response).await;
            let own = connection.clone();
            connection.tasks.spawn(async move {
                let sink = MessageSink::Connection(own.outbound.clone());
                let forwarding = async {
                    own.initialized.cancelled().await;
                    forward_changes(&own.server_state, &session, changes, &sink).await;
                };
                own.closed.run_until_cancelled(forwarding).await;
            });
        }
        Err(error) => connection.send_error(&request.id, &error).await,
    }
}

/// Handles one request: replies, or spawns its call.
pub(super) async fn handle(
    connection: &Arc<Connection>,
    session: Arc<Session>,
    request: ParsedRequest,
    bytes: usize,
) {
    let (request_context, call) = match session.dispatch(&connection.server_state, request) {
        Dispatched::Replied(reply) => return connection.send(reply.into_bytes()).await,
        Dispatched::Call(request_context, call) => (request_context, *call),
    };
    let account = || connection.account();
    let admission = connection.limiter.acquire_or_queue(account, Some(&session), bytes).await;
    let admission = match admission {
        Ok(admission) => admission,
        Err(error) => return connection.send_error(&request_context.id, &error).await,
    };
    // Registered before anything else is read, so that a cancellation cannot come too early.
    let Some(guard) = session.calls.register(&request_context.id) else {
        return connection.send_error(&request_context.id, &duplicate_id()).await;
    };
    let own = connection.clone();
    connection.tasks.spawn(async move {
        let ended = run(&own, &session, &request_context, call, guard, admission).await;
        // The permit is kept until the reply is sent.
        if let Some((reply, _permit)) = ended {
            own.send(reply.into_bytes()).await;
        }
    });
}

/// Handles a batch (2025-03-26): its calls run side by side, and one array has all replies. Returns
/// whether the connection stays open.
pub(super) async fn handle_batch(connection: &Arc<Connection>, batch: Batch, bytes: usize) -> bool {
    let session = connection.session.get().filter(|session| session.revision.has_batches());
    let Some(session) = session.cloned() else {
        let error = RpcError::invalid_request(BATCHES_UNSUPPORTED);
        return connection.send_unparsed_error(None, &error).await;
    };
    let messages = match BatchMessages::read(&batch, connection.server_state.settings.batch) {
        Ok(messages) => messages,
        Err(error) => return connection.send_unparsed_error(None, &error).await,
    };
    let is_open = messages.notifications.iter().all(|it| connection.handle_notification(it));
    messages.responses.into_iter().for_each(|response| session.handle_response(response));
    if messages.requests.is_empty() && messages.replies.is_empty() {
        return is_open;
    }
    // Any of its calls may be queued: the space is reserved for all of them together.
    let account = connection.account();
    let space = match connection.limiter.reserve_queue(&account, Some(&session), bytes).await {
        Ok(space) => space,
        Err(error) => return connection.send_unparsed_error(None, &error).await,
    };
    let items = register_all(&connection.server_state, &session, messages.requests);
    let own = connection.clone();
    connection.tasks.spawn(async move {
        let _space = space;
        let running = items.into_iter().map(|item| run_item(&own, &session, item));
        let mut replies = messages.replies;
        replies.extend(join_all(running).await.into_iter().flatten());
        if !replies.is_empty() {
            own.send(to_array(&replies)).await;
        }
    });
    is_open
}

async fn run_item(connection: &Connection, session: &Session, item: BatchItem) -> Option<Bytes> {
    let reply = match item {
        BatchItem::Replied(reply) => Some(reply),
        BatchItem::Call(request_context, call, guard) => {
            let admission = Admission::QueueInBatch;
            let ended = run(connection, session, &request_context, *call, guard, admission).await;
            ended.map(|(reply, _permit)| reply)
        }
    };
    reply.map(jsonrpc::Reply::into_bytes)
}

/// Runs a call when it has a permit. Returns the reply with the permit, or none if the client
/// cancelled the call.
async fn run(
    connection: &Connection,
    session: &Session,
    request_context: &RequestContext,
    call: Call,
    guard: InFlightGuard,
    admission: Admission,
) -> Option<(jsonrpc::Reply, Option<OwnedSemaphorePermit>)> {
    let sink = MessageSink::Connection(connection.outbound.clone());
    let deadline = connection.server_state.gateway.deadline();
    let running = pin!(async {
        let permit = match connection.limiter.wait(admission, deadline).await {
            Ok(permit) => permit,
            Err(error) => return (jsonrpc::error(&request_context.id, &error), None),
        };
        let mut stream = session.start_call(&connection.server_state, request_context, call);
        (run_call(session, request_context, &mut stream, None, &sink).await, Some(permit))
    });
    tokio::select! {
        biased;
        () = connection.closed.cancelled() => None,
        ended = guard.run_until_cancelled(running) => ended,
    }
}
