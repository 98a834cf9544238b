//! State shared by a client and its reconnector: connection state, commands, and the standard error
//! of earlier connections.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::Health;
use super::list_cache::Cache;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::event::State;
use crate::peer::Peer;
use crate::settings::Settings;

/// Commands that may be queued.
const COMMANDS: usize = 16;

/// The state of the connection, for those who wait for one.
#[derive(Debug, Clone)]
pub(super) enum ConnState {
    /// Not connected; connects on demand.
    None,
    /// Connecting.
    Connecting,
    /// Connected since then.
    Connected(Arc<Connection>, Instant),
    /// Failed; waiting before the next attempt.
    Failed(ClientError),
}

/// A command to the reconnector.
#[derive(Debug)]
pub(super) enum Command {
    /// Close and reconnect.
    Restart,
    /// Close and stop.
    Stop,
    /// Connect now instead of after the backoff.
    ConnectNow,
    /// Replace this connection.
    Replace(Arc<Connection>),
}

/// State shared by the client and its reconnector.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Arc<Settings>,
    pub(super) conn_state: watch::Sender<ConnState>,
    pub(super) states: watch::Sender<State>,
    pub(super) watched: watch::Sender<BTreeSet<String>>,
    /// The resources that the server was told; none while not connected.
    pub(super) told: watch::Sender<Option<BTreeSet<String>>>,
    pub(super) demand: Notify,
    pub(super) cache: Cache,
    pub(super) restarts: AtomicU64,
    /// Limits the requests that wait for a retry.
    pub(super) retrying: Semaphore,
    command_sender: mpsc::Sender<(Command, oneshot::Sender<()>)>,
    /// Taken by the reconnector.
    inbox: Mutex<Option<Commands>>,
    known: Mutex<Option<Arc<Peer>>>,
    used: Mutex<Instant>,
    past: Mutex<Log>,
}

pub(super) type Commands = mpsc::Receiver<(Command, oneshot::Sender<()>)>;

impl Shared {
    pub(super) fn new(settings: Settings) -> Self {
        let (command_sender, inbox) = mpsc::channel(COMMANDS);
        Self {
            conn_state: watch::Sender::new(ConnState::None),
            states: watch::Sender::new(State::Configured),
            watched: watch::Sender::new(BTreeSet::new()),
            told: watch::Sender::new(None),
            demand: Notify::new(),
            cache: Cache::default(),
            restarts: AtomicU64::new(0),
            retrying: Semaphore::new(settings.retry.waiting.min(Semaphore::MAX_PERMITS)),
            command_sender,
            inbox: Mutex::new(Some(inbox)),
            known: Mutex::default(),
            used: Mutex::new(Instant::now()),
            past: Mutex::new(Log::new(settings.log)),
            settings: Arc::new(settings),
        }
    }

    /// The connection, if there is one; counts as use.
    pub(super) fn use_connection(&self) -> Option<Arc<Connection>> {
        let connection = self.current()?;
        *lock(&self.used) = Instant::now();
        Some(connection)
    }

    /// The connection, if there is one; does not count as use.
    pub(super) fn current(&self) -> Option<Arc<Connection>> {
        match &*self.conn_state.borrow() {
            ConnState::Connected(connection, _) => Some(connection.clone()),
            _ => None,
        }
    }

    /// A connection to use, other than `useless`.
    pub(super) async fn connected(
        &self,
        useless: Option<&Arc<Connection>>,
    ) -> Result<Arc<Connection>, ClientError> {
        *lock(&self.used) = Instant::now();
        self.reach(useless).await
    }

    /// The same, without counting as use.
    pub(super) async fn reach(
        &self,
        useless: Option<&Arc<Connection>>,
    ) -> Result<Arc<Connection>, ClientError> {
        let mut conn_state = self.conn_state.subscribe();
        if let Some(useless) = useless {
            self.command(Command::Replace(useless.clone())).await;
        }
        loop {
            match &*conn_state.borrow_and_update() {
                ConnState::Connected(connection, _) if !is(connection, useless) => {
                    return Ok(connection.clone());
                }
                ConnState::Failed(error) => return Err(error.clone()),
                ConnState::None => self.demand.notify_one(),
                ConnState::Connected(..) | ConnState::Connecting => {}
            }
            if conn_state.changed().await.is_err() {
                return Err(ClientError::Unreachable("the client was stopped".to_owned()));
            }
        }
    }

    /// Sends a command to the reconnector and waits until it is being carried out.
    pub(super) async fn command(&self, command: Command) {
        let (done, finished) = oneshot::channel();
        if self.command_sender.send((command, done)).await.is_ok() {
            let _ = finished.await;
        }
    }

    pub(super) fn take_inbox(&self) -> Option<Commands> {
        lock(&self.inbox).take()
    }

    pub(super) fn known(&self) -> Option<Arc<Peer>> {
        lock(&self.known).clone()
    }

    pub(super) fn health(&self) -> Health {
        let restarts = self.restarts.load(Ordering::Relaxed);
        let conn_state = self.conn_state.borrow().clone();
        let ConnState::Connected(connection, since) = conn_state else {
            return Health { restarts, ..Health::default() };
        };
        Health {
            process: connection.process(),
            memory: connection.memory(),
            restarts,
            in_flight: connection.in_flight(),
            age: Some(since.elapsed()),
        }
    }

    pub(super) fn log(&self) -> String {
        let past = lock(&self.past).text();
        let conn_state = self.conn_state.borrow().clone();
        match conn_state {
            ConnState::Connected(connection, _) => past + &connection.log(),
            _ => past,
        }
    }

    /// Keeps the standard error of a connection that has ended.
    pub(super) fn record_stderr(&self, words: &str, reason: &str) {
        lock(&self.past).add(words, reason);
    }

    pub(super) fn set_connected(&self, connection: &Arc<Connection>) {
        *lock(&self.known) = Some(connection.peer().clone());
        *lock(&self.used) = Instant::now();
        self.conn_state.send_replace(ConnState::Connected(connection.clone(), Instant::now()));
        self.states.send_replace(State::Ready);
    }

    /// Sets the state, if it changed.
    pub(super) fn set_state(&self, state: State) {
        self.states.send_if_modified(|current| {
            let is_new = *current != state;
            *current = state;
            is_new
        });
    }

    /// When the connection was last used.
    pub(super) fn used(&self) -> Instant {
        *lock(&self.used)
    }
}

fn is(connection: &Arc<Connection>, other: Option<&Arc<Connection>>) -> bool {
    other.is_some_and(|other| Arc::ptr_eq(connection, other))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next step of the reconnector.
pub(super) enum NextStep {
    /// Connect.
    ConnectNow,
    /// Wait for demand.
    WaitForDemand,
    /// Back off after this error.
    BackOff(ClientError),
    /// Stop.
    Stop,
}

/// Why a connection ended.
pub(super) enum EndReason {
    /// The server ended it.
    Lost(String),
    /// It kept exceeding a flood limit.
    Flooded(String),
    /// It was idle.
    Idle,
    /// The server changed its era.
    Outdated,
    /// Its maximum lifetime was reached, or it is to be replaced.
    Replaced(&'static str),
    /// The client was stopped.
    Stopped,
}

impl EndReason {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Lost(reason) | Self::Flooded(reason) => reason,
            Self::Idle => "it was idle",
            Self::Outdated => "the server changed its protocol era or revision",
            Self::Replaced(reason) => reason,
            Self::Stopped => "it was stopped",
        }
    }
}

/// Standard error of earlier connections, bounded; the beginning is dropped.
#[derive(Debug)]
pub(super) struct Log {
    text: String,
    limit: usize,
}

impl Log {
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit }
    }

    /// Adds the standard error of one connection, and why it ended.
    pub(super) fn add(&mut self, words: &str, reason: &str) {
        self.text.push_str(words);
        if !words.is_empty() && !words.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str("--- ");
        self.text.push_str(reason);
        self.text.push('\n');
        let excess = self.text.len().saturating_sub(self.limit);
        if excess > 0 {
            // Whole lines are dropped, where there are any.
            let from = self.text.floor_char_boundary(excess - 1);
            let handler = self.text[from..].find('\n').map(|at| from + at + 1);
            self.text.drain(..handler.unwrap_or(self.text.len()));
        }
    }

    pub(super) fn text(&self) -> String {
        self.text.clone()
    }
}
