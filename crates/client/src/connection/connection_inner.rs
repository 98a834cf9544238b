//! What all parts of a connection share: the way to the server, the board, and what was agreed.

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

/// How long a server that takes no more messages has to say, or show by its end, why.
const CLOSE_REASON_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) struct ConnectionInner {
    pub(super) settings: Arc<Settings>,
    pub(super) pending_requests: PendingRequests,
    pub(super) transport: Transport,
    /// Held by a call that must run alone.
    pub(super) exclusive: Semaphore,
    /// Holds what answers no request to its rate.
    pub(super) flood: Throttle,
    events: mpsc::Sender<Event>,
    negotiated: OnceLock<Negotiated>,
    /// Set when that does not hold any more.
    pub(super) era_changed: CancellationToken,
    /// The least severe level that the server was told to send.
    level: Mutex<Option<Level>>,
    /// Whether a subscription or the general stream is in force.
    is_subscribed: AtomicBool,
}

/// How messages get to the server.
pub(super) enum Transport {
    /// Both ways over one line.
    Pipe { outgoing: Outgoing, program: Option<Session>, stop: CancellationToken },
    /// Each message by a request of its own.
    Http {
        http: Arc<StreamableHttp>,
        /// What is to be sent without anyone waiting for it.
        background: mpsc::Sender<Bytes>,
    },
}

/// What was found out when the server was greeted.
#[derive(Debug, Clone)]
pub(super) struct Negotiated {
    pub(super) peer: Arc<Peer>,
    /// Whether calls of tools may become tasks (2025-11-25).
    pub(super) tasks: bool,
    /// Whether the server keeps a session by name (HTTP).
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

    /// Sets what was agreed, once.
    pub(super) fn agree(&self, negotiated: Negotiated) {
        let _ = self.negotiated.set(negotiated);
    }

    /// What was agreed; none while the server is being greeted.
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

    /// Sends a message that nobody waits for. When there is no room it is left out: to wait here
    /// would hold up the reading, and with it a server that waits for us to read.
    pub(super) fn tell(&self, message: Bytes) {
        let sent = match &self.transport {
            Transport::Pipe { outgoing, .. } => outgoing.try_send(message),
            Transport::Http { background, .. } => background.try_send(message),
        };
        if sent.is_err() {
            tracing::debug!("a message to the server found no room and was left out");
        }
    }

    /// Sends a message that has no answer.
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

    /// The error, after what it means for all: when the session is lost, the connection is over.
    pub(super) fn seen(&self, error: ClientError) -> ClientError {
        if matches!(error, ClientError::SessionLost) {
            self.pending_requests.end(&error.to_string());
        }
        error
    }

    /// There is no connection any more, and the message was not sent.
    pub(super) fn closed_error(&self) -> ClientError {
        let reason = self.pending_requests.end_reason();
        ClientError::Unreachable(reason.unwrap_or_else(|| "the connection has ended".to_owned()))
    }

    /// There is no way out any more, and the message was not sent. Who ends closes one way first,
    /// and what is known of why comes over the other.
    pub(super) async fn send_failed(&self) -> ClientError {
        let _ = timeout(CLOSE_REASON_TIMEOUT, self.pending_requests.ended()).await;
        self.closed_error()
    }

    /// Tells of something that belongs to no request.
    pub(super) fn event(&self, event: Event) {
        if self.events.try_send(event).is_err() {
            tracing::debug!("an event of the server found no room and was left out");
        }
    }

    /// Notes whether a subscription or the general stream is in force.
    pub(super) fn listen(&self, is_subscribed: bool) {
        self.is_subscribed.store(is_subscribed, Ordering::Relaxed);
    }

    /// Whether the server can say what belongs to no request.
    pub(super) fn is_subscribed(&self) -> bool {
        let needs_nothing = self.is_pipe() && self.revision().is_some_and(|it| !it.is_stateless());
        needs_nothing || self.is_subscribed.load(Ordering::Relaxed)
    }

    /// Keeps a note of something odd where the program's own log is kept.
    pub(super) fn note(&self, text: &str) {
        match self.program() {
            Some(program) => program.note(text),
            None => tracing::debug!("{text}"),
        }
    }

    /// Whether a server without handshake is spoken to over HTTP, where a request ends with its
    /// response and nothing else is ever sent.
    pub(super) fn is_stateless_http(&self) -> bool {
        !self.is_pipe() && self.revision().is_none_or(Revision::is_stateless)
    }

    /// Whether a level is lower than any before.
    pub(super) fn is_lower(&self, level: Level) -> bool {
        let lowest = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        lowest.is_none_or(|lowest| level < lowest)
    }

    /// Whether the server must be told of a level, because it is lower than any before.
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
