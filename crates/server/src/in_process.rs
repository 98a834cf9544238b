//! The in-process transport: a connection of message queues, for tests and for programs that are
//! their own client.

use std::sync::Arc;

use bytes::Bytes;
use gantry_protocol::RpcError;
use tokio::sync::mpsc;

use crate::authenticator::Identity;
use crate::duplex;
use crate::duplex::Inbound;
use crate::server_state::ServerState;

/// The client's end of an in-process connection. Dropping it ends the connection.
#[derive(Debug)]
pub struct Link {
    to_server: mpsc::Sender<Bytes>,
    from_server: mpsc::Receiver<Bytes>,
}

/// Messages queued in either direction.
const QUEUE_LENGTH: usize = 64;

impl Link {
    /// Opens a connection to a server.
    pub fn open(server_state: &Arc<ServerState>, principal: &str) -> Self {
        let (to_server, inbound) = mpsc::channel(QUEUE_LENGTH);
        let (out, from_server) = mpsc::channel(QUEUE_LENGTH);
        let (own, identity) = (server_state.clone(), Identity::new(principal));
        server_state.tasks.spawn(async move {
            duplex::serve(own, &identity, InboundQueue(inbound), out).await;
        });
        Self { to_server, from_server }
    }

    /// Sends one message. Returns false if the connection is closed.
    pub async fn send(&self, message: impl Into<Bytes>) -> bool {
        self.to_server.send(message.into()).await.is_ok()
    }

    /// The next message; none if the connection is closed.
    pub async fn receive(&mut self) -> Option<Bytes> {
        self.from_server.recv().await
    }
}

/// A queue as the receiving half of a connection.
pub(crate) struct InboundQueue(pub(crate) mpsc::Receiver<Bytes>);

impl Inbound for InboundQueue {
    async fn next(&mut self) -> Option<Result<Bytes, RpcError>> {
        self.0.recv().await.map(Ok)
    }
}
