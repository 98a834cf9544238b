//! How the bytes of messages get to a server and back.

pub(crate) mod http;
pub(crate) mod http_sse;
#[cfg(test)]
pub(crate) mod stage;
pub(crate) mod stdio;
pub(crate) mod streamable;
pub(crate) mod websocket;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A line over which whole messages go both ways: standard streams, a WebSocket, HTTP+SSE.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// Messages to the server. Closed when the pipe has ended.
    pub(crate) outgoing: mpsc::Sender<Bytes>,
    /// Messages from the server, each one JSON text within the limits of size; ends with the reason
    /// why no more will come.
    pub(crate) incoming: mpsc::Receiver<Result<Bytes, String>>,
    /// Ends whatever keeps the pipe going.
    pub(crate) stop: CancellationToken,
}
