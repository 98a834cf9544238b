//! What a client and the one who keeps its connection share.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::Health;
use super::cache::Cache;
use super::log::Log;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::peer::Peer;
use crate::settings::Settings;
use crate::state::State;

/// Orders that may wait to be carried out.
const ORDERS: usize = 16;

/// Where a connection stands, for those who wait for one.
#[derive(Debug, Clone)]
pub(super) enum ConnState {
    /// There is none, and one is begun when it is wanted.
    None,
    /// One is being made.
    Coming,
    /// There is one, since that time.
    Here(Arc<Connection>, Instant),
    /// It could not be had, and nobody tries now.
    Failed(ClientError),
}

/// What a user of the client wants done with its connection.
#[derive(Debug)]
pub(super) enum Command {
    /// End it and begin anew.
    Restart,
    /// End it for good.
    Stop,
    /// Connect now, if that is being put off.
    Try,
    /// This one is of no use any more.
    Replace(Arc<Connection>),
}

/// What the client and its keeper share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Arc<Settings>,
    pub(super) conn_state: watch::Sender<ConnState>,
    pub(super) states: watch::Sender<State>,
    pub(super) watched: watch::Sender<BTreeSet<String>>,
    /// What the connection was told to watch; none while there is no connection.
    pub(super) told: watch::Sender<Option<BTreeSet<String>>>,
    pub(super) wanted: Notify,
    pub(super) cache: Cache,
    pub(super) restarts: AtomicU64,
    /// Room for requests that wait to be made again.
    pub(super) retrying: Semaphore,
    orders: mpsc::Sender<(Command, oneshot::Sender<()>)>,
    /// Taken by the keeper.
    inbox: Mutex<Option<Inbox>>,
    known: Mutex<Option<Arc<Peer>>>,
    used: Mutex<Instant>,
    past: Mutex<Log>,
}

pub(super) type Inbox = mpsc::Receiver<(Command, oneshot::Sender<()>)>;

impl Shared {
    pub(super) fn new(settings: Settings) -> Self {
        let (orders, inbox) = mpsc::channel(ORDERS);
        Self {
            conn_state: watch::Sender::new(ConnState::None),
            states: watch::Sender::new(State::Configured),
            watched: watch::Sender::new(BTreeSet::new()),
            told: watch::Sender::new(None),
            wanted: Notify::new(),
            cache: Cache::default(),
            restarts: AtomicU64::new(0),
            retrying: Semaphore::new(settings.retry.waiting.min(Semaphore::MAX_PERMITS)),
            orders,
            inbox: Mutex::new(Some(inbox)),
            known: Mutex::default(),
            used: Mutex::new(Instant::now()),
            past: Mutex::new(Log::new(settings.log)),
            settings: Arc::new(settings),
        }
    }

    /// The connection, if there is one.
    pub(super) fn at_hand(&self) -> Option<Arc<Connection>> {
        let connection = self.here()?;
        *lock(&self.used) = Instant::now();
        Some(connection)
    }

    /// The connection, if there is one, for whoever only looks at it.
    pub(super) fn here(&self) -> Option<Arc<Connection>> {
        match &*self.conn_state.borrow() {
            ConnState::Here(connection, _) => Some(connection.clone()),
            _ => None,
        }
    }

    /// A connection to use, other than one that has turned out to be of no use.
    pub(super) async fn connected(
        &self,
        useless: Option<&Arc<Connection>>,
    ) -> Result<Arc<Connection>, ClientError> {
        *lock(&self.used) = Instant::now();
        self.reach(useless).await
    }

    /// The same, for what does not count as use.
    pub(super) async fn reach(
        &self,
        useless: Option<&Arc<Connection>>,
    ) -> Result<Arc<Connection>, ClientError> {
        let mut conn_state = self.conn_state.subscribe();
        if let Some(useless) = useless {
            self.order(Command::Replace(useless.clone())).await;
        }
        loop {
            match &*conn_state.borrow_and_update() {
                ConnState::Here(connection, _) if !is(connection, useless) => {
                    return Ok(connection.clone());
                }
                ConnState::Failed(error) => return Err(error.clone()),
                ConnState::None => self.wanted.notify_one(),
                ConnState::Here(..) | ConnState::Coming => {}
            }
            if conn_state.changed().await.is_err() {
                return Err(ClientError::Unreachable("the client was stopped".to_owned()));
            }
        }
    }

    /// Hands an order to the keeper and waits until it has begun to carry it out.
    pub(super) async fn order(&self, order: Command) {
        let (done, finished) = oneshot::channel();
        if self.orders.send((order, done)).await.is_ok() {
            let _ = finished.await;
        }
    }

    pub(super) fn take_inbox(&self) -> Option<Inbox> {
        lock(&self.inbox).take()
    }

    pub(super) fn known(&self) -> Option<Arc<Peer>> {
        lock(&self.known).clone()
    }

    pub(super) fn health(&self) -> Health {
        let restarts = self.restarts.load(Ordering::Relaxed);
        let conn_state = self.conn_state.borrow().clone();
        let ConnState::Here(connection, since) = conn_state else {
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
            ConnState::Here(connection, _) => past + &connection.log(),
            _ => past,
        }
    }

    /// Keeps the last words of a connection that is over.
    pub(super) fn bury(&self, words: &str, reason: &str) {
        lock(&self.past).add(words, reason);
    }

    pub(super) fn come(&self, connection: &Arc<Connection>) {
        *lock(&self.known) = Some(connection.peer().clone());
        *lock(&self.used) = Instant::now();
        self.conn_state.send_replace(ConnState::Here(connection.clone(), Instant::now()));
        self.states.send_replace(State::Ready);
    }

    /// Says how it stands, if that is new.
    pub(super) fn set_state(&self, state: State) {
        self.states.send_if_modified(|current| {
            let is_new = *current != state;
            *current = state;
            is_new
        });
    }

    /// When the connection was used last.
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
