//! Making a connection: the way to the server by its kind, and a second try where the first says
//! that it was the wrong one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use gantry_process::{Program, Session};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection_inner::{Agreed, ConnectionInner, Transport};
use super::negotiate::{Unwelcome, greet};
use crate::error::ClientError;
use crate::event::Event;
use crate::settings::{Era, Settings};
use crate::target::{Endpoint, HttpKind, Target};
use crate::transport::streamable_http::Streamable;
use crate::transport::{Pipe, http_sse, stdio, websocket};

/// A connection whose server is not greeted yet.
pub(super) struct Draft {
    pub(super) inner: Arc<ConnectionInner>,
    pub(super) tasks: JoinSet<()>,
}

/// What every try needs.
pub(super) struct Opening {
    settings: Arc<Settings>,
    /// What the settings say, or what the server was before.
    era: Era,
    events: mpsc::Sender<Event>,
    /// The last try.
    latest: Mutex<Weak<ConnectionInner>>,
    /// What programs wrote that could not be greeted.
    words: Mutex<String>,
}

impl Opening {
    pub(super) fn new(settings: Arc<Settings>, era: Era, events: mpsc::Sender<Event>) -> Self {
        Self { settings, era, events, latest: Mutex::default(), words: Mutex::default() }
    }

    /// What programs wrote that could not be greeted.
    pub(super) fn words(&self) -> String {
        std::mem::take(&mut lock(&self.words))
    }

    /// The error when it is given up.
    pub(super) fn took_too_long(&self, within: Duration) -> ClientError {
        let latest = lock(&self.latest).upgrade();
        if let Some(inner) = &latest {
            self.remember(inner);
        }
        let words = latest.and_then(|inner| inner.program()?.last_words());
        let text = format!("the server was not connected and greeted within {within:?}");
        ClientError::Unreachable(match words {
            Some(words) => format!("{text}; its last words: {words}"),
            None => text,
        })
    }

    /// Connects and greets.
    pub(super) async fn open(&self, target: &Target) -> Result<(Draft, Agreed), ClientError> {
        match target {
            Target::Program(program) => self.program(program).await,
            Target::WebSocket(endpoint) => self.websocket(endpoint).await,
            Target::Http(endpoint, HttpKind::Events) => self.events(endpoint).await,
            Target::Http(endpoint, HttpKind::Streamable) => {
                self.welcome(self.streamable(endpoint)?, self.era).await
            }
            Target::Http(endpoint, HttpKind::Auto) => self.either(endpoint).await,
        }
    }

    /// A program that does not survive the question for its era is started again.
    async fn program(&self, program: &Program) -> Result<(Draft, Agreed), ClientError> {
        let start = || -> Result<Draft, ClientError> {
            let (session, pipe) = stdio::open(program, &self.settings)?;
            Ok(self.piped(pipe, Some(session)))
        };
        let draft = start()?;
        let unwelcome = match greet(&draft.inner, self.era).await {
            Ok(agreed) => return Ok((draft, agreed)),
            Err(unwelcome) => unwelcome,
        };
        self.remember(&draft.inner);
        match unwelcome {
            Unwelcome::DiedOnProbe(_) => self.welcome(start()?, Era::Legacy).await,
            Unwelcome::OtherTransport(error) | Unwelcome::Failed(error) => Err(error),
        }
    }

    /// Likewise one that hangs up on the question.
    async fn websocket(&self, endpoint: &Endpoint) -> Result<(Draft, Agreed), ClientError> {
        let draft = self.piped(websocket::open(endpoint, &self.settings).await?, None);
        match greet(&draft.inner, self.era).await {
            Ok(agreed) => Ok((draft, agreed)),
            Err(Unwelcome::DiedOnProbe(_)) => {
                let pipe = websocket::open(endpoint, &self.settings).await?;
                self.welcome(self.piped(pipe, None), Era::Legacy).await
            }
            Err(Unwelcome::OtherTransport(error) | Unwelcome::Failed(error)) => Err(error),
        }
    }

    /// Streamable HTTP, or else HTTP+SSE (2025-11-25, transports, backwards compatibility).
    async fn either(&self, endpoint: &Endpoint) -> Result<(Draft, Agreed), ClientError> {
        let draft = self.streamable(endpoint)?;
        match greet(&draft.inner, self.era).await {
            Ok(agreed) => Ok((draft, agreed)),
            Err(Unwelcome::OtherTransport(first)) => match self.events(endpoint).await {
                Err(ClientError::Unauthorized { status, challenge }) => {
                    Err(ClientError::Unauthorized { status, challenge })
                }
                other => other.map_err(|_| first),
            },
            Err(Unwelcome::Failed(error)) => Err(error),
            Err(Unwelcome::DiedOnProbe(reason)) => Err(ClientError::Unreachable(reason)),
        }
    }

    /// HTTP+SSE is older than all revisions without handshake, so there is nothing to find out.
    async fn events(&self, endpoint: &Endpoint) -> Result<(Draft, Agreed), ClientError> {
        let pipe = http_sse::open(endpoint, &self.settings).await?;
        self.welcome(self.piped(pipe, None), Era::Legacy).await
    }

    pub(super) async fn welcome(
        &self,
        draft: Draft,
        era: Era,
    ) -> Result<(Draft, Agreed), ClientError> {
        let unwelcome = match greet(&draft.inner, era).await {
            Ok(agreed) => return Ok((draft, agreed)),
            Err(unwelcome) => unwelcome,
        };
        self.remember(&draft.inner);
        Err(match unwelcome {
            Unwelcome::DiedOnProbe(reason) => ClientError::Unreachable(reason),
            Unwelcome::OtherTransport(error) | Unwelcome::Failed(error) => error,
        })
    }

    /// Keeps what a program wrote that is given up.
    fn remember(&self, inner: &ConnectionInner) {
        if let Some(program) = inner.program() {
            lock(&self.words).push_str(&program.stderr());
        }
    }

    pub(super) fn piped(&self, pipe: Pipe, program: Option<Session>) -> Draft {
        let Pipe { outgoing, incoming, stop } = pipe;
        let way = Transport::Pipe { outgoing, program, stop };
        let inner = Arc::new(ConnectionInner::new(self.settings.clone(), way, self.events.clone()));
        *lock(&self.latest) = Arc::downgrade(&inner);
        let mut tasks = JoinSet::new();
        tasks.spawn(read(inner.clone(), incoming));
        Draft { inner, tasks }
    }

    fn streamable(&self, endpoint: &Endpoint) -> Result<Draft, ClientError> {
        let wire = Arc::new(Streamable::new(endpoint, &self.settings)?);
        let (errands, messages) = mpsc::channel(self.settings.queue.max(1));
        let way = Transport::Http { wire, errands };
        let inner = Arc::new(ConnectionInner::new(self.settings.clone(), way, self.events.clone()));
        let mut tasks = JoinSet::new();
        tasks.spawn(run_errands(inner.clone(), messages));
        Ok(Draft { inner, tasks })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hears everything that comes over a pipe, until it ends.
async fn read(inner: Arc<ConnectionInner>, mut incoming: mpsc::Receiver<Result<Bytes, String>>) {
    loop {
        match incoming.recv().await {
            Some(Ok(text)) => {
                inner.hear(inner.decode(text).await, None);
                // What waits meanwhile fills the pipe, and then the server waits.
                inner.flood.ready().await;
            }
            Some(Err(reason)) => return inner.pending_requests.end(&reason),
            None => return inner.pending_requests.end("the connection was closed"),
        }
    }
}

/// Sends what nobody waits for.
async fn run_errands(inner: Arc<ConnectionInner>, mut messages: mpsc::Receiver<Bytes>) {
    while let Some(message) = messages.recv().await {
        let within = inner.settings.connect_within;
        match timeout(within, inner.say(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a message did not reach the server"),
            Err(_) => tracing::debug!("a message did not reach the server within {within:?}"),
        }
    }
}
