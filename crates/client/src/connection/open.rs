//! Opens a connection: chooses the transport, and falls back to another or to the legacy era where
//! the first attempt shows that it was wrong.

use super::dispatch::{decode, dispatch};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use gantry_process::{Program, Session};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection_inner::{ConnectionInner, Negotiated, Transport};
use super::negotiate::{NegotiationError, negotiate};
use crate::error::ClientError;
use crate::event::Event;
use crate::settings::{Era, Settings};
use crate::target::{Endpoint, HttpKind, Target};
use crate::transport::streamable_http::StreamableHttp;
use crate::transport::{Pipe, http_sse, open_stdio, websocket};

/// A connection before negotiation.
pub(super) struct NewConnection {
    pub(super) inner: Arc<ConnectionInner>,
    pub(super) tasks: JoinSet<()>,
}

/// Opens connections; shared by all attempts.
pub(super) struct Connector {
    settings: Arc<Settings>,
    /// From the settings, or known from an earlier connection.
    era: Era,
    events: mpsc::Sender<Event>,
    /// The last attempt.
    latest: Mutex<Weak<ConnectionInner>>,
    /// Standard error of programs that failed negotiation.
    stderr: Mutex<String>,
}

impl Connector {
    pub(super) fn new(settings: Arc<Settings>, era: Era, events: mpsc::Sender<Event>) -> Self {
        Self { settings, era, events, latest: Mutex::default(), stderr: Mutex::default() }
    }

    /// Standard error of programs that failed negotiation.
    pub(super) fn stderr(&self) -> String {
        std::mem::take(&mut lock(&self.stderr))
    }

    /// The error for a timeout.
    pub(super) fn timed_out(&self, within: Duration) -> ClientError {
        let latest = lock(&self.latest).upgrade();
        if let Some(inner) = &latest {
            self.record_stderr(inner);
        }
        let stderr = latest.and_then(|inner| inner.program()?.stderr_summary());
        let text = format!("the connection was not established within {within:?}");
        ClientError::Unreachable(match stderr {
            Some(stderr) => format!("{text}; stderr: {stderr}"),
            None => text,
        })
    }

    /// Connects and negotiates.
    pub(super) async fn open(
        &self,
        target: &Target,
    ) -> Result<(NewConnection, Negotiated), ClientError> {
        match target {
            Target::Program(program) => self.program(program).await,
            Target::WebSocket(endpoint) => self.websocket(endpoint).await,
            Target::Http(endpoint, HttpKind::Events) => self.events(endpoint).await,
            Target::Http(endpoint, HttpKind::Streamable) => {
                self.negotiate_with(self.streamable(endpoint)?, self.era).await
            }
            Target::Http(endpoint, HttpKind::Auto) => self.either(endpoint).await,
        }
    }

    /// A program that exits on the probe is started again and gets `initialize`.
    async fn program(&self, program: &Program) -> Result<(NewConnection, Negotiated), ClientError> {
        let start = || -> Result<NewConnection, ClientError> {
            let (session, pipe) = open_stdio(program, &self.settings)?;
            Ok(self.over_pipe(pipe, Some(session)))
        };
        let new = start()?;
        let error = match negotiate(&new.inner, self.era).await {
            Ok(negotiated) => return Ok((new, negotiated)),
            Err(error) => error,
        };
        self.record_stderr(&new.inner);
        match error {
            NegotiationError::DiedOnProbe(_) => self.negotiate_with(start()?, Era::Legacy).await,
            NegotiationError::OtherTransport(error) | NegotiationError::Failed(error) => Err(error),
        }
    }

    /// Likewise a WebSocket that is closed on the probe.
    async fn websocket(
        &self,
        endpoint: &Endpoint,
    ) -> Result<(NewConnection, Negotiated), ClientError> {
        let new = self.over_pipe(websocket::open(endpoint, &self.settings).await?, None);
        match negotiate(&new.inner, self.era).await {
            Ok(negotiated) => Ok((new, negotiated)),
            Err(NegotiationError::DiedOnProbe(_)) => {
                let pipe = websocket::open(endpoint, &self.settings).await?;
                self.negotiate_with(self.over_pipe(pipe, None), Era::Legacy).await
            }
            Err(NegotiationError::OtherTransport(error) | NegotiationError::Failed(error)) => {
                Err(error)
            }
        }
    }

    /// Streamable HTTP, or else HTTP+SSE (2025-11-25, transports, backwards compatibility).
    async fn either(
        &self,
        endpoint: &Endpoint,
    ) -> Result<(NewConnection, Negotiated), ClientError> {
        let new = self.streamable(endpoint)?;
        match negotiate(&new.inner, self.era).await {
            Ok(negotiated) => Ok((new, negotiated)),
            Err(NegotiationError::OtherTransport(first)) => match self.events(endpoint).await {
                Err(ClientError::Unauthorized { status, challenge }) => {
                    Err(ClientError::Unauthorized { status, challenge })
                }
                other => other.map_err(|_| first),
            },
            Err(NegotiationError::Failed(error)) => Err(error),
            Err(NegotiationError::DiedOnProbe(reason)) => Err(ClientError::Unreachable(reason)),
        }
    }

    /// HTTP+SSE exists in legacy revisions only, so there is nothing to probe.
    async fn events(
        &self,
        endpoint: &Endpoint,
    ) -> Result<(NewConnection, Negotiated), ClientError> {
        let pipe = http_sse::open(endpoint, &self.settings).await?;
        self.negotiate_with(self.over_pipe(pipe, None), Era::Legacy).await
    }

    pub(super) async fn negotiate_with(
        &self,
        new: NewConnection,
        era: Era,
    ) -> Result<(NewConnection, Negotiated), ClientError> {
        let error = match negotiate(&new.inner, era).await {
            Ok(negotiated) => return Ok((new, negotiated)),
            Err(error) => error,
        };
        self.record_stderr(&new.inner);
        Err(match error {
            NegotiationError::DiedOnProbe(reason) => ClientError::Unreachable(reason),
            NegotiationError::OtherTransport(error) | NegotiationError::Failed(error) => error,
        })
    }

    /// Keeps the standard error of a program that is given up.
    fn record_stderr(&self, inner: &ConnectionInner) {
        if let Some(program) = inner.program() {
            lock(&self.stderr).push_str(&program.stderr());
        }
    }

    pub(super) fn over_pipe(&self, pipe: Pipe, program: Option<Session>) -> NewConnection {
        let Pipe { outgoing, incoming, stop } = pipe;
        let transport = Transport::Pipe { outgoing, program, stop };
        let inner =
            Arc::new(ConnectionInner::new(self.settings.clone(), transport, self.events.clone()));
        *lock(&self.latest) = Arc::downgrade(&inner);
        let mut tasks = JoinSet::new();
        tasks.spawn(read(inner.clone(), incoming));
        NewConnection { inner, tasks }
    }

    fn streamable(&self, endpoint: &Endpoint) -> Result<NewConnection, ClientError> {
        let http = Arc::new(StreamableHttp::new(endpoint, &self.settings)?);
        let (background, messages) = mpsc::channel(self.settings.queue.max(1));
        let transport = Transport::Http { http, background };
        let inner =
            Arc::new(ConnectionInner::new(self.settings.clone(), transport, self.events.clone()));
        let mut tasks = JoinSet::new();
        tasks.spawn(send_background(inner.clone(), messages));
        Ok(NewConnection { inner, tasks })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a pipe until it ends.
async fn read(inner: Arc<ConnectionInner>, mut incoming: mpsc::Receiver<Result<Bytes, String>>) {
    loop {
        match incoming.recv().await {
            Some(Ok(text)) => {
                dispatch(&inner, decode(&inner, text).await, None);
                // Backpressure: unread messages fill the pipe, and then the server has to wait.
                inner.flood.ready().await;
            }
            Some(Err(reason)) => return inner.pending_requests.end(&reason),
            None => return inner.pending_requests.end("the connection was closed"),
        }
    }
}

/// Sends messages in the background.
async fn send_background(inner: Arc<ConnectionInner>, mut messages: mpsc::Receiver<Bytes>) {
    while let Some(message) = messages.recv().await {
        let within = inner.settings.connect_within;
        match timeout(within, inner.say(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a message did not reach the server"),
            Err(_) => tracing::debug!("a message did not reach the server within {within:?}"),
        }
    }
}
