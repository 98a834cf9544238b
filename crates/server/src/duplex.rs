//! A bidirectional connection on which both sides send whole messages at any time: stdio,
//! WebSocket, HTTP+SSE, in-process. Legacy and modern requests may share it.
//!
//! One task reads and dispatches; each call runs in a task of its own, within the limits of
//! `call_limiter`.

mod call_limiter;
mod session_requests;
mod stateless_requests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use gantry_protocol::{Id, Method, Notification, RawJson, RpcError, code, jsonrpc};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::call_limiter::CallLimiter;
use crate::authenticator::{ClientIdentity, Identity};
use crate::era;
use crate::in_flight::InFlightRequests;
use crate::message_sink::OutboundQueue;
use crate::quota::Account;
use crate::request::{ParsedMessage, ParsedRequest, parse};
use crate::server_state::ServerState;
use crate::session::Session;
use crate::settings::Eras;

/// The receiving half of a connection.
pub(crate) trait Inbound: Send {
    /// The next message as text, or why one could not be read; none at the end.
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, RpcError>>> + Send;
}

/// Serves one connection until its client closes it or the server has stopped.
pub(crate) async fn serve(
    server_state: Arc<ServerState>,
    identity: &Identity,
    mut inbound: impl Inbound,
    channel: mpsc::Sender<Bytes>,
) {
    let closed = CancellationToken::new();
    let settings = &server_state.settings;
    let connection = Arc::new(Connection {
        limiter: CallLimiter::new(settings),
        listen_streams: Arc::new(Semaphore::new(settings.streams_of_session)),
        outbound: OutboundQueue::new(channel, settings.unread, closed.clone()),
        session: OnceLock::new(),
        initialized: CancellationToken::new(),
        calls: InFlightRequests::new(closed.clone()),
        tasks: TaskTracker::new(),
        closed,
        client: ClientIdentity::with_session(identity),
        server_state,
    });
    let reading = async {
        while let Some(text) = inbound.next().await {
            let is_open = match text {
                Ok(text) => connection.dispatch(text).await,
                Err(error) => connection.send_unparsed_error(None, &error).await,
            };
            if !is_open {
                break;
            }
        }
    };
    // While the server drains, calls in flight may still need responses of the client, so reading
    // goes on.
    let drained = async {
        connection.server_state.stopping.cancelled().await;
        connection.wait_idle(connection.server_state.settings.drain).await;
    };
    tokio::select! {
        () = reading => {}
        () = drained => {}
        () = connection.outbound.closed() => {}
        // No call outlives the credential that it was started with.
        () = identity.revoked() => connection.closed.cancel(),
    }
    connection.close().await;
}

/// One connection and what runs on it.
struct Connection {
    server_state: Arc<ServerState>,
    client: ClientIdentity,
    outbound: OutboundQueue,
    /// The session of a legacy client, once it has sent `initialize`.
    session: OnceLock<Arc<Session>>,
    /// Cancelled when the client has sent `notifications/initialized`.
    initialized: CancellationToken,
    /// Stateless requests in flight. Those of the session are in the session.
    calls: Arc<InFlightRequests>,
    limiter: CallLimiter,
    listen_streams: Arc<Semaphore>,
    tasks: TaskTracker,
    closed: CancellationToken,
}

impl Connection {
    /// Dispatches one message. Returns whether the connection stays open.
    async fn dispatch(self: &Arc<Self>, text: Bytes) -> bool {
        let bytes = text.len();
        match parse(text, self.server_state.settings.message).await {
            Ok(ParsedMessage::Request(request)) => self.dispatch_request(*request, bytes).await,
            Ok(ParsedMessage::Notification(notification)) => {
                return self.handle_notification(&notification);
            }
            Ok(ParsedMessage::Response(response)) => {
                if let Some(session) = self.session.get() {
                    session.handle_response(response);
                }
            }
            Ok(ParsedMessage::Batch(batch)) => {
                return session_requests::handle_batch(self, batch, bytes).await;
            }
            Err(malformed) => {
                return self.send_unparsed_error(malformed.id(), &malformed.to_error()).await;
            }
        }
        true
    }

    async fn dispatch_request(self: &Arc<Self>, request: ParsedRequest, bytes: usize) {
        if self.server_state.stopping.is_cancelled() {
            let error = RpcError::new(code::SHUTTING_DOWN, "the server is stopping");
            return self.send_error(&request.id, &error).await;
        }
        let eras = self.server_state.settings.eras;
        if eras != Eras::Legacy && request.is_stateless() {
            return stateless_requests::handle(self, request, bytes).await;
        }
        match (self.session.get().cloned(), &request.method) {
            (Some(session), _) => session_requests::handle(self, session, request, bytes).await,
            (None, Method::Initialize) if eras != Eras::Modern => {
                session_requests::initialize(self, &request).await;
            }
            (None, Method::Ping) if eras != Eras::Modern => {
                self.send(jsonrpc::result(&request.id, &RawJson::EMPTY_OBJECT).into_bytes()).await;
            }
            (None, _) => {
                let error = era::not_initialized(&self.server_state, &request);
                self.send_error(&request.id, &error).await;
            }
        }
    }

    /// Handles a notification. Returns whether the connection stays open.
    fn handle_notification(&self, notification: &Notification) -> bool {
        self.calls.handle_notification(notification);
        if notification.method == Method::Initialized {
            self.initialized.cancel();
        }
        let closes =
            self.session.get().is_some_and(|session| session.handle_notification(notification));
        !closes && notification.method != Method::Closed
    }

    /// Sends the error for a message that is not a valid request. The connection stays open.
    async fn send_unparsed_error(&self, id: Option<&Id>, error: &RpcError) -> bool {
        let null_id = self.session.get().is_some_and(|it| !it.revision.omits_unknown_id());
        let reply = match id {
            Some(id) => jsonrpc::error(id, error),
            None => jsonrpc::error_without_id(error, null_id),
        };
        self.send(reply.into_bytes()).await;
        true
    }

    /// The quota account of the client's principal.
    fn account(&self) -> Arc<Account> {
        self.server_state.quota.account(&self.client.identity.principal)
    }

    async fn send_error(&self, id: &Id, error: &RpcError) {
        self.send(jsonrpc::error(id, error).into_bytes()).await;
    }

    async fn send(&self, message: Bytes) {
        // A client that is gone needs no message; the connection ends by itself.
        self.outbound.send(message).await;
    }

    /// Waits until no call is in flight, at most this long.
    async fn wait_idle(&self, timeout: Duration) {
        let _ = tokio::time::timeout(timeout, self.limiter.wait_idle()).await;
    }

    /// Closes the connection: calls in flight may still end within `linger`, then all are cancelled.
    async fn close(&self) {
        let linger = self.server_state.settings.linger;
        tokio::select! {
            () = self.wait_idle(linger) => {}
            () = self.outbound.closed() => {}
            () = self.closed.cancelled() => {}
        }
        if let Some(session) = self.session.get() {
            session.ended.cancel();
        }
        self.initialized.cancel();
        self.tasks.close();
        if self.server_state.stopping.is_cancelled() {
            // Listen streams end with a message when the server stops.
            let _ = tokio::time::timeout(linger, self.tasks.wait()).await;
        }
        self.closed.cancel();
        self.tasks.wait().await;
    }
}
