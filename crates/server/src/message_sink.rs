//! Where messages to a client go: its connection, which may be slow to read or never read at all,
//! or a stream that the client may leave and resume.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::sync::CancellationToken;

use crate::session::Session;
use crate::session::replay_log::ReplayLog;

/// Where the messages of a call go.
#[derive(Debug, Clone)]
pub(crate) enum MessageSink {
    /// The client's connection.
    Connection(OutboundQueue),
    /// A stream that the client may leave and resume.
    Replay(Arc<ReplayLog>),
    /// Nowhere: the client accepts only the response.
    Discard,
}

impl MessageSink {
    /// Sends a message. Returns false if it will not reach the client.
    pub(crate) async fn send(&self, message: Bytes) -> bool {
        match self {
            Self::Connection(queue) => queue.send(message).await,
            Self::Replay(log) => log.push(message).await,
            Self::Discard => false,
        }
    }

    /// Disconnects the client from its stream; it resumes after `retry`.
    pub(crate) fn disconnect(&self, session: &Session, retry: Duration) {
        if let Self::Replay(log) = self
            && session.revision.has_priming_events()
        {
            log.disconnect(retry);
        }
    }
}

/// The bounded queue of messages to one connection. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct OutboundQueue {
    channel: mpsc::Sender<Bytes>,
    write_timeout: Duration,
    /// Cancelled when the connection is closed.
    closed: CancellationToken,
}

impl OutboundQueue {
    /// A queue that closes its connection when a message waits longer than `write_timeout` for a
    /// place: a client that does not read must not hold calls for ever.
    pub(crate) fn new(
        channel: mpsc::Sender<Bytes>,
        write_timeout: Duration,
        closed: CancellationToken,
    ) -> Self {
        Self { channel, write_timeout, closed }
    }

    /// Sends one message, waiting for a place. Returns false when the connection is closed.
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
                    tracing::warn!("client does not read its messages; closing its connection");
                    self.closed.cancel();
                    false
                }
            },
        }
    }

    /// Completes when nothing can be sent any more.
    pub(crate) async fn closed(&self) {
        tokio::select! {
            () = self.closed.cancelled() => {}
            () = self.channel.closed() => {}
        }
    }
}
