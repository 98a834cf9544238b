//! The other end of a pipe, moved by a test message by message.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::SOON;
use crate::connection::Connection;
use crate::connection::open::Connector;
use crate::error::ClientError;
use crate::event::Event;
use crate::settings::{Era, Settings};
use crate::transport::{Outgoing, Pipe};

/// The server's end.
pub(super) struct Server {
    pub(super) heard: mpsc::Receiver<Bytes>,
    pub(super) say: mpsc::Sender<Result<Bytes, String>>,
}

/// What a connection tells beside its answers.
pub(super) type Events = mpsc::Receiver<Event>;

/// Both ends of a pipe.
pub(super) fn pipe() -> (Server, Pipe) {
    pipe_for(64)
}

/// Both ends of a pipe with room for so many messages.
fn pipe_for(room: usize) -> (Server, Pipe) {
    let (outgoing, heard) = mpsc::channel(room);
    let (say, incoming) = mpsc::channel(room);
    (
        Server { heard, say },
        Pipe { outgoing: Outgoing::Queue(outgoing), incoming, stop: CancellationToken::new() },
    )
}

/// Greets whoever is at the other end of a pipe. The receiver hears when it is listened to.
pub(super) async fn begin(
    pipe: Pipe,
    settings: Settings,
) -> (Result<(Connection, oneshot::Receiver<()>), ClientError>, Events) {
    let (events, told) = mpsc::channel(64);
    let era = settings.era;
    let connector = Connector::new(Arc::new(settings), era, events);
    let new = connector.over_pipe(pipe, None);
    let opened = connector.negotiate_with(new, era).await;
    (opened.map(|(draft, agreed)| Connection::begin(draft, agreed)), told)
}

/// The same for a test that does not wait for that, while somebody does.
pub(super) async fn open(
    pipe: Pipe,
    settings: Settings,
) -> (Result<Connection, ClientError>, Events) {
    let (opened, told) = begin(pipe, settings).await;
    let opened = opened.map(|(connection, listening)| {
        tokio::spawn(listening);
        connection
    });
    (opened, told)
}

/// A connection to a server of a revision with handshake that declares these capabilities.
pub(super) async fn connected(
    revision: &str,
    capabilities: Value,
    settings: Settings,
) -> (Arc<Connection>, Server, Events) {
    let (mut server, pipe) = pipe_for(settings.queue);
    let settings = Settings { era: Era::Legacy, ..settings };
    let greeting = async {
        let hello = server.next().await;
        server.answer(&hello, json!({"protocolVersion": revision, "capabilities": capabilities, "serverInfo": {"name": "s", "version": "1"}})).await;
        assert_eq!(server.next().await["method"], "notifications/initialized");
    };
    let ((opened, events), ()) = tokio::join!(open(pipe, settings), greeting);
    (Arc::new(opened.expect("the server is greeted")), server, events)
}

/// A connection to a server without handshake.
pub(super) async fn stateless(
    capabilities: Value,
    settings: Settings,
) -> (Arc<Connection>, Server, Events) {
    let (mut server, pipe) = pipe();
    let ((opened, events), ()) =
        tokio::join!(open(pipe, settings), server.discovered(capabilities));
    (Arc::new(opened.expect("the server is greeted")), server, events)
}

impl Server {
    /// The next message from the client.
    pub(super) async fn next(&mut self) -> Value {
        let message = timeout(SOON, self.heard.recv()).await.expect("a message comes in time");
        serde_json::from_slice(&message.expect("the client is there")).expect("it is JSON")
    }

    /// Answers the probe of a client: no handshake, and these capabilities.
    pub(super) async fn discovered(&mut self, capabilities: Value) {
        let probe = self.next().await;
        assert_eq!(probe["method"], "server/discover");
        self.answer(&probe, json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"})).await;
    }

    /// Acknowledges a subscription.
    pub(super) async fn acknowledge(&self, request: &Value) {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": request["id"]});
        let params = json!({"notifications": {}, "_meta": meta});
        let method = "notifications/subscriptions/acknowledged";
        self.send(json!({"method": method, "params": params})).await;
    }

    /// Sends a text as it is.
    pub(super) async fn text(&self, text: &str) {
        let sent = self.say.send(Ok(Bytes::copy_from_slice(text.as_bytes()))).await;
        sent.expect("the client is there");
    }

    /// Sends a message.
    pub(super) async fn send(&self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.text(&message.to_string()).await;
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: &Value, result: Value) {
        self.send(json!({"id": request["id"], "result": result})).await;
    }

    /// Answers a request with an error.
    pub(super) async fn fail(&self, request: &Value, error: Value) {
        self.send(json!({"id": request["id"], "error": error})).await;
    }
}
