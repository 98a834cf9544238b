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
use crate::doorman::Visitor;
use crate::era::{Arrival, Received, Session, receive};
use crate::guest::Guest;
use crate::lobby::Lobby;
use crate::outgoing::Outgoing;
use crate::settings::Eras;
use crate::underway::Underway;

/// Where messages come from.
pub(crate) trait Inbound: Send {
    /// The next message as text, or why one could not be read; none at the end.
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, RpcError>>> + Send;
}

/// Serves one connection until its client is done or the server has stopped.
pub(crate) async fn serve(
    lobby: Arc<Lobby>,
    visitor: &Visitor,
    mut inbound: impl Inbound,
    channel: mpsc::Sender<Bytes>,
) {
    let closed = CancellationToken::new();
    let settings = &lobby.settings;
    let connection = Arc::new(Connection {
        turns: Turns::new(settings),
        listeners: Arc::new(Semaphore::new(settings.streams_of_session)),
        out: Outgoing::new(channel, settings.unread, closed.clone()),
        session: OnceLock::new(),
        initialized: CancellationToken::new(),
        calls: Underway::new(closed.clone()),
        tasks: TaskTracker::new(),
        closed,
        guest: Guest::staying(visitor),
        lobby,
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
        connection.lobby.stopping.cancelled().await;
        connection.idle(connection.lobby.settings.drain).await;
    };
    tokio::select! {
        () = reading => {}
        () = stopped => {}
        () = connection.out.gone() => {}
        // Nothing goes on that was begun with a credential which is no longer good.
        () = visitor.over() => connection.closed.cancel(),
    }
    connection.finish().await;
}

/// One connection and all that goes on in it.
struct Connection {
    lobby: Arc<Lobby>,
    guest: Guest,
    out: Outgoing,
    /// What a client with a handshake has agreed on.
    session: OnceLock<Arc<Session>>,
    /// Says that this client is ready to be spoken to.
    initialized: CancellationToken,
    /// Requests that stand alone and are under way.
    calls: Arc<Underway>,
    turns: Turns,
    listeners: Arc<Semaphore>,
    tasks: TaskTracker,
    closed: CancellationToken,
}

impl Connection {
    /// Takes one message. Returns whether the connection goes on.
    async fn take(self: Arc<Self>, text: Bytes) -> bool {
        let bytes = text.len();
        match receive(text, self.lobby.settings.message).await {
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

    async fn take_request(self: Arc<Self>, request: Arrival, bytes: usize) {
        if self.lobby.stopping.is_cancelled() {
            let error = RpcError::new(code::SHUTTING_DOWN, "the server is stopping");
            return self.send(jsonrpc::error(&request.id, &error).into_bytes()).await;
        }
        let eras = self.lobby.settings.eras;
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
                let error = stranger(&self.lobby, &request);
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
    async fn idle(&self, patience: Duration) {
        let _ = tokio::time::timeout(patience, self.turns.idle()).await;
    }

    /// Lets what is under way end if it does so soon, and ends everything else.
    async fn finish(&self) {
        let linger = self.lobby.settings.linger;
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
        if self.lobby.stopping.is_cancelled() {
            // Listeners say goodbye by themselves.
            let _ = tokio::time::timeout(linger, self.tasks.wait()).await;
        }
        self.closed.cancel();
        self.tasks.wait().await;
    }
}

/// The error for a client that has neither introduced itself nor sent a request that stands alone.
pub(crate) fn stranger(lobby: &Lobby, request: &Arrival) -> RpcError {
    match (lobby.settings.eras, &request.method) {
        (Eras::Modern, Method::Initialize) => {
            let version = request.params.get("protocolVersion").and_then(|it| it.to_text());
            crate::era::unsupported(lobby, version.as_deref().unwrap_or_default())
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
