//! Messages on their way to a client that may be slow to read, or never read at all.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::sync::CancellationToken;

/// The way to one client. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    channel: mpsc::Sender<Bytes>,
    write_timeout: Duration,
    /// Says that the connection is over.
    closed: CancellationToken,
}

impl Outgoing {
    /// Ends the connection when a message waits longer than `write_timeout` for a place.
    pub(crate) fn new(
        channel: mpsc::Sender<Bytes>,
        write_timeout: Duration,
        closed: CancellationToken,
    ) -> Self {
        Self { channel, write_timeout, closed }
    }

    /// Sends one message, waiting for a place. Returns false when the connection is over.
    pub(crate) async fn send(&self, message: Bytes) -> bool {
        let message = match self.channel.try_send(message) {
            Ok(()) => return true,
            Err(TrySendError::Full(message)) => message,
            Err(TrySendError::Closed(_)) => return false,
        };
        tokio::select! {
            () = self.closed.cancelled() => false,
            sent = tokio::time::timeout(self.write_timeout, self.channel.send(message)) => match sent {
                Ok(sent) => sent.is_ok(),
                Err(_) => {
                    tracing::warn!("a client does not read what it is sent; its connection ends");
                    self.closed.cancel();
                    false
                }
            },
        }
    }

    /// Ends when nothing can be sent any more.
    pub(crate) async fn gone(&self) {
        tokio::select! {
            () = self.closed.cancelled() => {}
            () = self.channel.closed() => {}
        }
    }
}
