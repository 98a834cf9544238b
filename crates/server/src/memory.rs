//! A door inside the process: messages go back and forth with no transport between. For tests
//! and for programs that are their own client.

use std::sync::Arc;

use bytes::Bytes;
use gantry_protocol::RpcError;
use tokio::sync::mpsc;

use crate::authenticator::Identity;
use crate::duplex::{self, Inbound};
use crate::server_state::ServerState;

/// The client's end of an in-process connection. Dropping it ends the connection.
#[derive(Debug)]
pub struct Link {
    to_server: mpsc::Sender<Bytes>,
    from_server: mpsc::Receiver<Bytes>,
}

/// Messages that may wait on either side.
const WAITING: usize = 64;

impl Link {
    /// Opens a connection to the doors' lobby.
    pub fn open(server_state: &Arc<ServerState>, principal: &str) -> Self {
        let (to_server, inbound) = mpsc::channel(WAITING);
        let (out, from_server) = mpsc::channel(WAITING);
        let (serving, identity) = (server_state.clone(), Identity::new(principal));
        server_state.tasks.spawn(async move {
            duplex::serve(serving, &identity, Queue(inbound), out).await;
        });
        Self { to_server, from_server }
    }

    /// Sends one message. Returns false when the connection is over.
    pub async fn send(&self, message: impl Into<Bytes>) -> bool {
        self.to_server.send(message.into()).await.is_ok()
    }

    /// The next message; none when the connection is over.
    pub async fn receive(&mut self) -> Option<Bytes> {
        self.from_server.recv().await
    }
}

/// Messages from a queue.
pub(crate) struct Queue(pub(crate) mpsc::Receiver<Bytes>);

impl Inbound for Queue {
    async fn next(&mut self) -> Option<Result<Bytes, RpcError>> {
        self.0.recv().await.map(Ok)
    }
}
