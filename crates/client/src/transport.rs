//! Transports: stdio, Streamable HTTP, HTTP+SSE, WebSocket.

#[cfg(test)]
pub(crate) mod fake_http_server;
pub(crate) mod http_sse;
pub(crate) mod streamable_http;
pub(crate) mod websocket;

use bytes::Bytes;
use gantry_process::{FlushGuard, LineSender, Program, Session, SessionLimits};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::{SendError, TrySendError};
use tokio_util::sync::CancellationToken;

use crate::error::ClientError;
use crate::settings::Settings;

/// A transport that carries whole messages in both directions: stdio, WebSocket, HTTP+SSE.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// Messages to the server. Closed when the pipe has ended.
    pub(crate) outgoing: Outgoing,
    /// Messages from the server, each one JSON text within the limits of size; ends with the reason
    /// why no more will come.
    pub(crate) incoming: mpsc::Receiver<Result<Bytes, String>>,
    /// Stops the tasks behind it.
    pub(crate) stop: CancellationToken,
}

/// The sending half of a pipe.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Over the queue of a task.
    Queue(mpsc::Sender<Bytes>),
    /// Straight to the stdin of a program.
    Program(LineSender),
}

impl Outgoing {
    /// Sends a message if there is room for it.
    pub(crate) fn try_send(&self, message: Bytes) -> Result<(), TrySendError<Bytes>> {
        match self {
            Self::Queue(queue) => queue.try_send(message),
            Self::Program(program) => program.try_send(message),
        }
    }

    /// The same, but written together with what others send before the guard is dropped.
    pub(crate) fn gather(&self, message: Bytes) -> Result<Option<FlushGuard>, TrySendError<Bytes>> {
        match self {
            Self::Queue(queue) => queue.try_send(message).map(|()| None),
            Self::Program(program) => program.gather(message),
        }
    }

    /// Sends a message when there is room for it.
    pub(crate) async fn send(&self, message: Bytes) -> Result<(), SendError<Bytes>> {
        match self {
            Self::Queue(queue) => queue.send(message).await,
            Self::Program(program) => program.send(message).await,
        }
    }

    /// Waits until the task behind a queue has ended.
    #[cfg(test)]
    pub(crate) async fn closed(&self) {
        if let Self::Queue(queue) = self {
            queue.closed().await;
        }
    }
}

/// Starts a program with newline-delimited JSON on stdin and stdout. The pipe lives as long as the
/// session.
pub(crate) fn open_stdio(
    program: &Program,
    settings: &Settings,
) -> Result<(Session, Pipe), ClientError> {
    let limits = SessionLimits {
        line: settings.message.size,
        queue: settings.queue,
        stderr: settings.log,
        stderr_rate: settings.flood.stderr,
        stderr_burst: settings.flood.burst,
        grace: settings.grace,
    };
    let (session, lines) = Session::start(program, &limits)
        .map_err(|error| ClientError::Unreachable(error.to_string()))?;
    let stop = CancellationToken::new();
    let outgoing = Outgoing::Program(lines.outgoing);
    Ok((session, Pipe { outgoing, incoming: lines.incoming, stop }))
}
