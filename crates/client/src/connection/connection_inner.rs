//! State shared by all parts of a connection: the transport, the pending requests, and what was
//! negotiated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gantry_process::Session;
use gantry_protocol::{Level, Revision};
use gantry_transport::Throttle;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::pending_requests::PendingRequests;
use crate::error::{ClientError, HttpError};
use crate::event::Event;
use crate::peer::Peer;
use crate::settings::Settings;
use crate::transport::Outgoing;
use crate::transport::streamable_http::{Posted, StreamableHttp};

/// How long to wait for the reason after a server has stopped reading: its exit or its last message
/// gives one.
const CLOSE_REASON_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) struct ConnectionInner {
    pub(super) settings: Arc<Settings>,
    pub(super) pending_requests: PendingRequests,
    pub(super) transport: Transport,
    /// Held by a call of a tool that runs one at a time, see `server_requests::attribute`.
    pub(super) exclusive: Semaphore,
    /// Rate limit for messages that answer no request.
    pub(super) flood: Throttle,
    events: mpsc::Sender<Event>,
    negotiated: OnceLock<Negotiated>,
    /// Cancelled when the negotiated era no longer holds.
    pub(super) era_changed: CancellationToken,
    /// The lowest log level that was set at the server.
    level: Mutex<Option<Level>>,
    /// Whether a subscription or the general stream is open.
    is_subscribed: AtomicBool,
}

/// The transport below the connection.
pub(super) enum Transport {
    /// Messages in both directions over one pipe: stdio, WebSocket, HTTP+SSE.
    Pipe { outgoing: Outgoing, program: Option<Session>, stop: CancellationToken },
    /// One POST for each message: Streamable HTTP.
    Http {
        http: Arc<StreamableHttp>,
        /// Messages that are sent in the background.
        background: mpsc::Sender<Bytes>,
    },
}

/// The outcome of negotiation.
#[derive(Debug, Clone)]
pub(super) struct Negotiated {
    pub(super) peer: Arc<Peer>,
    /// Whether calls of tools may become tasks (2025-11-25).
    pub(super) tasks: bool,
    /// Whether the server assigned a session id (HTTP).
    pub(super) session: bool,
}

impl Negotiated {
    pub(super) fn revision(&self) -> Revision {
        self.peer.revision
    }
}

impl ConnectionInner {
    pub(super) fn new(
        settings: Arc<Settings>,
        transport: Transport,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            pending_requests: PendingRequests::new(settings.in_flight, settings.queue),
            transport,
            exclusive: Semaphore::new(1),
            flood: Throttle::new(settings.flood.messages, settings.flood.burst),
            events,
            negotiated: OnceLock::new(),
            era_changed: CancellationToken::new(),
            level: Mutex::new(None),
            is_subscribed: AtomicBool::new(false),
            settings,
        }
    }

    /// Sets the outcome of negotiation, once.
    pub(super) fn agree(&self, negotiated: Negotiated) {
        let _ = self.negotiated.set(negotiated);
    }

    /// The outcome of negotiation; none before its end.
    pub(super) fn negotiated(&self) -> Option<&Negotiated> {
        self.negotiated.get()
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        self.negotiated().map(Negotiated::revision)
    }

    pub(super) fn is_pipe(&self) -> bool {
        matches!(self.transport, Transport::Pipe { .. })
    }

    pub(super) fn program(&self) -> Option<&Session> {
        match &self.transport {
            Transport::Pipe { program, .. } => program.as_ref(),
            Transport::Http { .. } => None,
        }
    }

    /// Sends a message in the background, or drops it when the queue is full: to wait here would
    /// stop the reader, and with it a server that waits for us to read.
    pub(super) fn tell(&self, message: Bytes) {
        let sent = match &self.transport {
            Transport::Pipe { outgoing, .. } => outgoing.try_send(message),
            Transport::Http { background, .. } => background.try_send(message),
        };
        if sent.is_err() {
            tracing::debug!("a message to the server found no room and was left out");
        }
    }

    /// Sends a message that has no response.
    pub(super) async fn say(&self, message: Bytes) -> Result<(), ClientError> {
        match &self.transport {
            Transport::Pipe { outgoing, .. } => match outgoing.send(message).await {
                Ok(()) => Ok(()),
                Err(_) => Err(self.send_failed().await),
            },
            Transport::Http { http, .. } => match http.post(message, &[]).await {
                Ok(Posted::Refused { status, retry_after, .. }) => {
                    let refusal = HttpError {
                        status,
                        retry_after,
                        error: None,
                        is_unsent: false,
                        attempts: 1,
                    };
                    Err(ClientError::Http(Box::new(refusal)))
                }
                Ok(_) => Ok(()),
                Err(error) => Err(self.seen(error)),
            },
        }
    }

    pub(super) fn has_session(&self) -> bool {
        self.negotiated().is_some_and(|negotiated| negotiated.session)
    }

    /// Handles the effect of an error on the connection: a lost session ends it.
    pub(super) fn seen(&self, error: ClientError) -> ClientError {
        if matches!(error, ClientError::SessionLost) {
            self.pending_requests.end(&error.to_string());
        }
        error
    }

    /// The error for a message that was not sent because the connection has ended.
    pub(super) fn closed_error(&self) -> ClientError {
        let reason = self.pending_requests.end_reason();
        ClientError::Unreachable(reason.unwrap_or_else(|| "the connection has ended".to_owned()))
    }

    /// The error for a message that could not be written. A server closes one direction first, and
    /// the reason arrives over the other.
    pub(super) async fn send_failed(&self) -> ClientError {
        let _ = timeout(CLOSE_REASON_TIMEOUT, self.pending_requests.ended()).await;
        self.closed_error()
    }

    /// Passes on an event that belongs to no request, or drops it when the queue is full.
    pub(super) fn event(&self, event: Event) {
        if self.events.try_send(event).is_err() {
            tracing::debug!("an event of the server found no room and was left out");
        }
    }

    /// Records whether a subscription or the general stream is open.
    pub(super) fn listen(&self, is_subscribed: bool) {
        self.is_subscribed.store(is_subscribed, Ordering::Relaxed);
    }

    /// Whether the server can send notifications that belong to no request.
    pub(super) fn is_subscribed(&self) -> bool {
        let needs_nothing = self.is_pipe() && self.revision().is_some_and(|it| !it.is_stateless());
        needs_nothing || self.is_subscribed.load(Ordering::Relaxed)
    }

    /// Writes a line to the program's captured standard error, or to our log.
    pub(super) fn note(&self, text: &str) {
        match self.program() {
            Some(program) => program.note(text),
            None => tracing::debug!("{text}"),
        }
    }

    /// Whether a modern server is used over HTTP: there a request ends with its response, and
    /// closing that is the cancellation.
    pub(super) fn is_stateless_http(&self) -> bool {
        !self.is_pipe() && self.revision().is_none_or(Revision::is_stateless)
    }

    /// Whether the level is lower than any before.
    pub(super) fn is_lower(&self, level: Level) -> bool {
        let lowest = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        lowest.is_none_or(|lowest| level < lowest)
    }

    /// Records the level; whether it is lower than any before, so that the server must be told.
    pub(super) fn record_level(&self, level: Level) -> bool {
        let mut lowest = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let lowers = lowest.is_none_or(|lowest| level < lowest);
        if lowers {
            *lowest = Some(level);
        }
        lowers
    }
}

impl Drop for ConnectionInner {
    fn drop(&mut self) {
        if let Transport::Pipe { stop, .. } = &self.transport {
            stop.cancel();
        }
    }
}
