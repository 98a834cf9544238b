//! Calls and batches of a session over HTTP. The response is plain JSON if a call sends no message
//! before its result, else an event stream.
//!
//! A call goes on when its connection is lost: its stream is kept, and can be resumed with
//! `Last-Event-ID`. Only `notifications/cancelled` and the end of the session cancel it.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use gantry_gateway::{Call, CallEvent, CallStream};
use gantry_protocol::RpcError;
use gantry_protocol::jsonrpc::{self, Batch};
use http::StatusCode;
use tokio::sync::oneshot;

use crate::authenticator::Identity;
use crate::http::HttpState;
use crate::http::bearer_auth::AuthedRequest;
use crate::http::response::{self, HttpResponse};
use crate::http::session_endpoint::{
    call_stream_response, end, find, open_call_stream, reply_response,
};
use crate::http::timers::ReusableTimer;
use crate::in_flight::{InFlightGuard, duplicate_id};
use crate::message_sink::MessageSink;
use crate::request::RequestContext;
use crate::request_headers::Accept;
use crate::server_state::ServerState;
use crate::session::batch::{
    BATCHES_UNSUPPORTED, BatchItem, BatchMessages, register_all, to_array,
};
use crate::session::http_session::HttpSession;
use crate::session::replay_log::ReplayLog;
use crate::session::run_call::{finish, run_call};

/// A call in flight. If it is dropped before its end, because the connection was lost, a task runs
/// it to its end.
struct SessionCall {
    server_state: Arc<ServerState>,
    session: Arc<HttpSession>,
    request_context: RequestContext,
    /// None when the call was moved to a task.
    guard: Option<InFlightGuard>,
    stream: Option<CallStream>,
}

/// Runs a call and responds to it.
pub(super) async fn run(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    keep_alive: &mut ReusableTimer,
    session: &Arc<HttpSession>,
    accept: Accept,
    (request_context, call): (RequestContext, Box<Call>),
) -> HttpResponse {
    let Some(guard) = session.session.calls.register(&request_context.id) else {
        return reply_response(accept, jsonrpc::error(&request_context.id, &duplicate_id()));
    };
    let stream = session.session.start_call(&http_state.server_state, &request_context, *call);
    let (server_state, session) = (http_state.server_state.clone(), session.clone());
    let (guard, stream) = (Some(guard), Some(stream));
    let mut call = SessionCall { server_state, session, request_context, guard, stream };
    match call.first_event(keep_alive, accept).await {
        First::Reply(reply) => response::reply(StatusCode::OK, reply),
        First::Cancelled => response::accepted(),
        // Boxed: every connection has room for the largest future that it may run.
        First::Event(event) => Box::pin(call.stream(http_state, identity, accept, event)).await,
    }
}

/// The first event of a call.
enum First {
    Reply(jsonrpc::Reply),
    Cancelled,
    /// A message; none if the call is silent for so long that a stream should keep the connection
    /// alive.
    Event(Option<CallEvent>),
}

impl SessionCall {
    async fn first_event(&mut self, keep_alive: &mut ReusableTimer, accept: Accept) -> First {
        let (Some(stream), Some(guard)) = (self.stream.as_mut(), &self.guard) else {
            return First::Cancelled;
        };
        let event = async {
            tokio::select! {
                // Most calls are complete at the first poll, and need no timer.
                biased;
                event = stream.next_event() => Some(event),
                () = keep_alive.after(self.server_state.settings.keep_alive), if accept.events => None,
            }
        };
        let event = guard.run_until_cancelled(pin!(event)).await;
        match event {
            None => {
                self.stream = None;
                First::Cancelled
            }
            Some(Some(CallEvent::Done(outcome))) if accept.json => {
                self.stream = None;
                First::Reply(finish(&self.session.session, &self.request_context, outcome).await)
            }
            Some(event) => First::Event(event),
        }
    }

    /// Responds with a stream. A client that accepts none, or has too many, still gets the reply.
    async fn stream(
        mut self,
        http_state: &HttpState,
        identity: &Identity,
        accept: Accept,
        first: Option<CallEvent>,
    ) -> HttpResponse {
        let session = self.session.clone();
        match accept.events.then(|| open_call_stream(http_state, &session)).flatten() {
            Some((log, permit)) => {
                // The reader is registered before anything is written: the first event may be that
                // it is to be disconnected.
                let response = call_stream_response(http_state, identity, &session, &log, permit);
                http_state.spawn(self.write_to(first, log));
                response
            }
            None => match self.run_to_end(first, &MessageSink::Discard).await {
                Some(reply) => response::reply(StatusCode::OK, reply),
                None => response::accepted(),
            },
        }
    }

    /// Writes the messages of the call, and its reply, to a stream.
    async fn write_to(mut self, first: Option<CallEvent>, log: Arc<ReplayLog>) {
        if let Some(reply) = self.run_to_end(first, &MessageSink::Replay(log.clone())).await {
            log.push(reply.into_bytes()).await;
        }
        log.finish();
    }

    /// Runs the call; none if the client cancelled it.
    async fn run_to_end(
        &mut self,
        first: Option<CallEvent>,
        sink: &MessageSink,
    ) -> Option<jsonrpc::Reply> {
        let (stream, guard) = (self.stream.as_mut()?, self.guard.as_ref()?);
        let running = run_call(&self.session.session, &self.request_context, stream, first, sink);
        let reply = guard.run_until_cancelled(pin!(running)).await;
        self.stream = None;
        reply
    }
}

impl Drop for SessionCall {
    fn drop(&mut self) {
        let (Some(mut stream), Some(guard)) = (self.stream.take(), self.guard.take()) else {
            return;
        };
        let (session, request_context) = (self.session.clone(), self.request_context.clone());
        self.server_state.tasks.spawn(async move {
            let (session, sink) = (&session.session, MessageSink::Discard);
            let running = run_call(session, &request_context, &mut stream, None, &sink);
            guard.run_until_cancelled(pin!(running)).await;
        });
    }
}

/// Runs a batch (2025-03-26) and responds to it.
pub(super) async fn run_batch(
    http_state: &Arc<HttpState>,
    authed: AuthedRequest<'_>,
    accept: Accept,
    batch: Batch,
) -> HttpResponse {
    let session = find(http_state, authed).ok().filter(|it| it.session.revision.has_batches());
    let Some(session) = session else {
        let error = RpcError::invalid_request(BATCHES_UNSUPPORTED);
        return response::error(StatusCode::BAD_REQUEST, &error);
    };
    let messages = match BatchMessages::read(&batch, http_state.server_state.settings.batch) {
        Ok(messages) => messages,
        Err(error) => return response::error(StatusCode::BAD_REQUEST, &error),
    };
    if messages.notifications.iter().any(|it| session.session.handle_notification(it)) {
        end(http_state, authed);
    }
    messages.responses.into_iter().for_each(|it| session.session.handle_response(it));
    if messages.requests.is_empty() && messages.replies.is_empty() {
        return response::accepted();
    }
    let items = register_all(&http_state.server_state, &session.session, messages.requests);
    let stream = accept.events.then(|| open_call_stream(http_state, &session)).flatten();
    let sink =
        stream.as_ref().map_or(MessageSink::Discard, |(log, _)| MessageSink::Replay(log.clone()));
    let running = run_items(http_state.server_state.clone(), session.clone(), items, sink);
    match stream {
        Some((log, permit)) => {
            let identity = authed.identity;
            let response = call_stream_response(http_state, identity, &session, &log, permit);
            http_state.spawn(async move {
                push_all(&log, messages.replies).await;
                push_all(&log, running.await).await;
                log.finish();
            });
            response
        }
        None => {
            let mut replies = messages.replies;
            // In a task: calls of a session go on without their connection.
            let (done, ended) = oneshot::channel();
            http_state.spawn(async move {
                let _ = done.send(running.await);
            });
            replies.extend(ended.await.unwrap_or_default());
            response::json(StatusCode::OK, to_array(&replies))
        }
    }
}

async fn push_all(log: &ReplayLog, messages: Vec<Bytes>) {
    for message in messages {
        log.push(message).await;
    }
}

/// Runs the requests of a batch side by side.
async fn run_items(
    server_state: Arc<ServerState>,
    session: Arc<HttpSession>,
    items: Vec<BatchItem>,
    sink: MessageSink,
) -> Vec<Bytes> {
    let replies = items.into_iter().map(async |item| {
        let (request_context, call, guard) = match item {
            BatchItem::Replied(reply) => return Some(reply.into_bytes()),
            BatchItem::Call(request_context, call, guard) => (request_context, *call, guard),
        };
        let mut stream = server_state.gateway.start(call);
        let running = run_call(&session.session, &request_context, &mut stream, None, &sink);
        let reply = guard.run_until_cancelled(pin!(running)).await;
        reply.map(jsonrpc::Reply::into_bytes)
    });
    join_all(replies).await.into_iter().flatten().collect()
}
