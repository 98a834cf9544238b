//! A connection on which both sides send whole messages at any time: stdio, WebSocket, HTTP+SSE.
//! Clients of both eras may share it.

mod batch;
mod stateful;
mod stateless;
mod turns;

pub(crate) use batch::{Begun, UNKNOWN, begin, sort, to_array};

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use gantry_protocol::jsonrpc;
use gantry_protocol::{Id, Method, Notification, RpcError, code};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::turns::Turns;
use crate::authenticator::Identity;
use crate::client_identity::ClientIdentity;
use crate::era::{ParsedRequest, Received, Session, receive};
use crate::in_flight::InFlightRequests;
use crate::outgoing::Outgoing;
use crate::server_state::ServerState;
use crate::settings::Eras;

/// Where messages come from.
pub(crate) trait Inbound: Send {
    /// The next message as text, or why one could not be read; none at the end.
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, RpcError>>> + Send;
}

/// Serves one connection until its client is done or the server has stopped.
pub(crate) async fn serve(
    server_state: Arc<ServerState>,
    identity: &Identity,
    mut inbound: impl Inbound,
    channel: mpsc::Sender<Bytes>,
) {
    let closed = CancellationToken::new();
    let settings = &server_state.settings;
    let connection = Arc::new(Connection {
        turns: Turns::new(settings),
        listeners: Arc::new(Semaphore::new(settings.streams_of_session)),
        out: Outgoing::new(channel, settings.unread, closed.clone()),
        session: OnceLock::new(),
        initialized: CancellationToken::new(),
        calls: InFlightRequests::new(closed.clone()),
        tasks: TaskTracker::new(),
        closed,
        client_identity: ClientIdentity::staying(identity),
        server_state,
    });
    let reading = async {
        while let Some(text) = inbound.next().await {
            let goes_on = match text {
                Ok(text) => connection.clone().take(text).await,
                Err(error) => connection.complain(None, &error).await,
            };
            if !goes_on {
                break;
            }
        }
    };
    // While the server stops, calls under way may still need answers, so reading goes on.
    let stopped = async {
        connection.server_state.stopping.cancelled().await;
        connection.idle(connection.server_state.settings.drain).await;
    };
    tokio::select! {
        () = reading => {}
        () = stopped => {}
        () = connection.out.gone() => {}
        // Nothing goes on that was begun with a credential which is no longer good.
        () = identity.over() => connection.closed.cancel(),
    }
    connection.finish().await;
}

/// One connection and all that goes on in it.
struct Connection {
    server_state: Arc<ServerState>,
    client_identity: ClientIdentity,
    out: Outgoing,
    /// What a client with a handshake has agreed on.
    session: OnceLock<Arc<Session>>,
    /// Says that this client is ready to be spoken to.
    initialized: CancellationToken,
    /// Requests that stand alone and are under way.
    calls: Arc<InFlightRequests>,
    turns: Turns,
    listeners: Arc<Semaphore>,
    tasks: TaskTracker,
    closed: CancellationToken,
}

impl Connection {
    /// Takes one message. Returns whether the connection goes on.
    async fn take(self: Arc<Self>, text: Bytes) -> bool {
        let bytes = text.len();
        match receive(text, self.server_state.settings.message).await {
            Ok(Received::Request(request)) => self.take_request(*request, bytes).await,
            Ok(Received::Notification(notification)) => return self.hear(&notification),
            Ok(Received::Response(response)) => {
                if let Some(session) = self.session.get() {
                    session.take(response);
                }
            }
            Ok(Received::Batch(messages)) => return self.take_batch(messages, bytes).await,
            Err(malformed) => return self.complain(malformed.id(), &malformed.to_error()).await,
        }
        true
    }

    async fn take_request(self: Arc<Self>, request: ParsedRequest, bytes: usize) {
        if self.server_state.stopping.is_cancelled() {
            let error = RpcError::new(code::SHUTTING_DOWN, "the server is stopping");
            return self.send(jsonrpc::error(&request.id, &error).into_bytes()).await;
        }
        let eras = self.server_state.settings.eras;
        if eras != Eras::Legacy && request.is_stateless() {
            return self.take_stateless(request, bytes).await;
        }
        match (self.session.get().cloned(), &request.method) {
            (Some(session), _) => self.take_stateful(session, request, bytes).await,
            (None, Method::Initialize) if eras != Eras::Modern => self.shake_hands(&request).await,
            (None, Method::Ping) if eras != Eras::Modern => {
                let empty = gantry_protocol::RawJson::EMPTY_OBJECT;
                self.send(jsonrpc::result(&request.id, &empty).into_bytes()).await;
            }
            (None, _) => {
                let error = stranger(&self.server_state, &request);
                self.send(jsonrpc::error(&request.id, &error).into_bytes()).await;
            }
        }
    }

    /// Takes a notification. Returns whether the connection goes on.
    fn hear(&self, notification: &Notification) -> bool {
        self.calls.hear(notification);
        if notification.method == Method::Initialized {
            self.initialized.cancel();
        }
        let done = self.session.get().is_some_and(|session| session.hear(notification));
        !done && notification.method != Method::Closed
    }

    /// Says what is wrong with a message. The connection goes on.
    async fn complain(&self, id: Option<&Id>, error: &RpcError) -> bool {
        let null_id = self.session.get().is_some_and(|it| !it.revision.omits_unknown_id());
        let reply = match id {
            Some(id) => jsonrpc::error(id, error),
            None => jsonrpc::error_without_id(error, null_id),
        };
        self.send(reply.into_bytes()).await;
        true
    }

    async fn refuse(&self, id: &Id, error: &RpcError) {
        self.send(jsonrpc::error(id, error).into_bytes()).await;
    }

    async fn send(&self, message: Bytes) {
        // A client that is gone needs no message; the connection ends by itself.
        self.out.send(message).await;
    }

    /// Waits until no call is under way, for at most this long.
    async fn idle(&self, write_timeout: Duration) {
        let _ = tokio::time::timeout(write_timeout, self.turns.idle()).await;
    }

    /// Lets what is under way end if it does so soon, and ends everything else.
    async fn finish(&self) {
        let linger = self.server_state.settings.linger;
        tokio::select! {
            () = self.idle(linger) => {}
            () = self.out.gone() => {}
            () = self.closed.cancelled() => {}
        }
        if let Some(session) = self.session.get() {
            session.ended.cancel();
        }
        self.initialized.cancel();
        self.tasks.close();
        if self.server_state.stopping.is_cancelled() {
            // Listeners say goodbye by themselves.
            let _ = tokio::time::timeout(linger, self.tasks.wait()).await;
        }
        self.closed.cancel();
        self.tasks.wait().await;
    }
}

/// The error for a client that has neither introduced itself nor sent a request that stands alone.
pub(crate) fn stranger(server_state: &ServerState, request: &ParsedRequest) -> RpcError {
    match (server_state.settings.eras, &request.method) {
        (Eras::Modern, Method::Initialize) => {
            let version = request.params.get("protocolVersion").and_then(|it| it.to_text());
            crate::era::unsupported(server_state, version.as_deref().unwrap_or_default())
        }
        (Eras::Legacy, Method::Discover) => RpcError::method_not_found(request.method.as_str()),
        _ => RpcError::invalid_params(
            "send `initialize` first, or give the request the `_meta` of a revision without handshake",
        ),
    }
}

pub(crate) fn in_use() -> RpcError {
    RpcError::invalid_request("a request with this id is still under way; use another id")
}
