//! Keeps a connection: makes it when it is wanted, replaces it when it is lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, interval, sleep, sleep_until, timeout};

use super::conn_state::{Command, ConnState, Inbox, Shared};
use super::relay::Relay;
use super::turn::{Next, Over};
use crate::connection::Connection;
use crate::error::ClientError;
use crate::event::Event;
use crate::settings::{Era, Start};
use crate::state::State;
use crate::target::Target;

/// A connection that lasted this long was a good one: the next failure is the first in a row.
const GOOD: Duration = Duration::from_secs(10);

/// How often a connection that is to end is asked whether it still works on something.
const LOOK: Duration = Duration::from_millis(200);

/// How often it is looked whether a server that says too much goes on.
const PRESSURE: Duration = Duration::from_secs(1);

/// The one who keeps the connection.
pub(super) struct Reconnector {
    target: Target,
    shared: Arc<Shared>,
    relay: Relay,
    /// Connections that may finish their work.
    retired: JoinSet<()>,
    failures: u32,
    lives: u64,
    /// Whether the last try has failed, or what it agreed on does not hold any more.
    is_doubtful: bool,
}

impl Reconnector {
    pub(super) fn new(target: Target, shared: Arc<Shared>, events: mpsc::Sender<Event>) -> Self {
        let relay = Relay::new(events);
        Self {
            target,
            shared,
            relay,
            retired: JoinSet::new(),
            failures: 0,
            lives: 0,
            is_doubtful: false,
        }
    }

    /// Keeps the connection until it is told to stop.
    pub(super) async fn keep(mut self) {
        let Some(mut inbox) = self.shared.take_inbox() else { return };
        let mut next = self.next();
        loop {
            next = match next {
                Next::Never => break,
                Next::WhenWanted => self.rest(&mut inbox).await,
                Next::AfterWait(error) => self.back_off(error, &mut inbox).await,
                Next::AtOnce => self.begin(&mut inbox).await,
            };
        }
        let stopped = "the client was stopped".to_owned();
        self.shared
            .conn_state
            .send_replace(ConnState::Failed(ClientError::Unreachable(stopped.clone())));
        self.retired.shutdown().await;
        self.shared.states.send_replace(State::Disabled(stopped));
    }

    /// One life: makes a connection and stays with it.
    async fn begin(&mut self, inbox: &mut Inbox) -> Next {
        self.shared.conn_state.send_replace(ConnState::Coming);
        self.shared.states.send_replace(State::Starting);
        let (sender, events) = mpsc::channel(self.shared.settings.queue.max(1));
        match self.open(sender, inbox).await {
            None => Next::Never,
            Some(Ok(connection)) => {
                self.is_doubtful = false;
                let over = self.live(&connection, events, inbox).await;
                self.end(connection, over).await
            }
            Some(Err(error)) => {
                self.is_doubtful = true;
                Next::AfterWait(error)
            }
        }
    }

    /// What follows when nothing is wrong.
    fn next(&self) -> Next {
        match self.shared.settings.start {
            Start::Eager => Next::AtOnce,
            Start::Lazy => Next::WhenWanted,
        }
    }

    /// Waits until a connection is wanted.
    async fn rest(&mut self, inbox: &mut Inbox) -> Next {
        self.shared.conn_state.send_replace(ConnState::None);
        self.shared.states.send_replace(State::Configured);
        loop {
            tokio::select! {
                () = self.shared.wanted.notified() => return Next::AtOnce,
                order = inbox.recv() => match order {
                    Some((Command::Stop, _done)) => return Next::Never,
                    Some((Command::Restart | Command::Replace(_) | Command::Try, _done)) => {}
                    None => return Next::Never,
                },
            }
        }
    }

    /// The era of the next connection. A server whose era is known is not asked for it again,
    /// unless there is doubt: it may have become another.
    fn era(&self) -> Era {
        let given = self.shared.settings.era;
        match self.shared.known() {
            Some(peer) if given == Era::Auto && !self.is_doubtful => {
                if peer.revision.is_stateless() { Era::Modern } else { Era::Legacy }
            }
            _ => given,
        }
    }

    /// Makes a connection; none when it is no longer wanted.
    async fn open(
        &self,
        events: mpsc::Sender<Event>,
        inbox: &mut Inbox,
    ) -> Option<Result<Arc<Connection>, ClientError>> {
        let settings = self.shared.settings.clone();
        let opening = Connection::attempt(&self.target, settings, self.era(), events);
        tokio::pin!(opening);
        loop {
            tokio::select! {
                opened = &mut opening => return Some(opened.map(Arc::new).map_err(|(error, words)| {
                    self.shared.bury(&words, &error.to_string());
                    error
                })),
                order = inbox.recv() => match order {
                    Some((Command::Stop, _)) | None => return None,
                    // What is wanted is being done.
                    Some((Command::Restart | Command::Replace(_) | Command::Try, _done)) => {}
                },
            }
        }
    }

    /// Stays with a connection until it is over.
    async fn live(
        &mut self,
        connection: &Arc<Connection>,
        mut events: mpsc::Receiver<Event>,
        inbox: &mut Inbox,
    ) -> Over {
        let (born, shared) = (Instant::now(), self.shared.clone());
        let mut watched = self.shared.watched.subscribe();
        watched.mark_changed();
        self.shared.told.send_replace(Some(BTreeSet::new()));
        self.greet(connection);
        let mut pressure = None;
        loop {
            tokio::select! {
                reason = connection.ended() => return Over::Lost(reason),
                event = events.recv() => if let Some(event) = event { self.pass_on(event) },
                () = self.relay.settle() => {}
                Ok(()) = watched.changed() => {
                    let uris = watched.borrow_and_update().clone();
                    self.watch(connection, uris).await;
                }
                order = inbox.recv() => match order {
                    Some((Command::Stop, _)) | None => return Over::Stopped,
                    Some((Command::Restart, _done)) => return Over::Replaced("it was restarted"),
                    Some((Command::Try, _done)) => {}
                    Some((Command::Replace(old), _done)) => if Arc::ptr_eq(&old, connection) {
                        return match connection.is_outdated() {
                            true => Over::Outdated,
                            false => Over::Replaced("it was of no use any more"),
                        };
                    },
                },
                () = connection.outdated() => return Over::Outdated,
                () = connection.flooded(), if pressure.is_none() => {
                    pressure = Some(interval(PRESSURE));
                }
                () = tick(&mut pressure) => match connection.flood() {
                    Some((reason, time)) if time >= self.shared.settings.flood.disconnect_after => {
                        return Over::Flooded(format!("disconnected: {reason}"));
                    }
                    Some((reason, _)) => self.shared.set_state(State::Degraded(reason)),
                    None => {
                        pressure = None;
                        self.shared.set_state(State::Ready);
                    }
                },
                () = idle(&shared, connection) => return Over::Idle,
                () = outlived(born, self.shared.settings.lifetime) => {
                    return Over::Replaced("its time was up");
                }
            }
        }
    }

    /// Has the server tell of these resources and no others.
    async fn watch(&self, connection: &Connection, uris: BTreeSet<String>) {
        let told = &self.shared.told;
        // What is being taken back does not count as told any more.
        told.send_modify(|told| {
            if let Some(told) = told {
                told.retain(|uri| uris.contains(uri));
            }
        });
        if let Err(error) = connection.watch(&uris).await {
            tracing::debug!(%error, "resources cannot be watched");
        }
        // Nobody is to wait for a server that refuses.
        told.send_replace(Some(uris));
    }

    fn greet(&mut self, connection: &Arc<Connection>) {
        self.shared.come(connection);
        if self.lives > 0 {
            self.shared.restarts.fetch_add(1, Ordering::Relaxed);
            self.pass_on(Event::Reconnected);
        }
        self.lives += 1;
    }

    fn pass_on(&mut self, event: Event) {
        self.shared.cache.heed(&event);
        self.relay.tell(event);
    }

    /// Ends a connection.
    async fn end(&mut self, connection: Arc<Connection>, over: Over) -> Next {
        self.shared.told.send_replace(None);
        if let ConnState::Here(_, since) = self.shared.conn_state.send_replace(ConnState::Coming)
            && since.elapsed() >= GOOD
            && !matches!(over, Over::Flooded(_))
        {
            self.failures = 0;
        }
        self.shared.bury(&connection.log(), over.reason());
        match over {
            // What it still works on may have been begun by the server that it was made with.
            Over::Replaced(_) | Over::Outdated => {
                self.retired.spawn(retire(connection, self.shared.settings.at_most));
            }
            Over::Lost(_) | Over::Flooded(_) | Over::Idle | Over::Stopped => {
                connection.close().await;
            }
        }
        self.is_doubtful = matches!(over, Over::Outdated);
        match over {
            // The first loss after a good time is made good at once; then it is waited longer and
            // longer.
            Over::Lost(_) | Over::Outdated if self.failures == 0 => {
                self.failures = 1;
                self.next()
            }
            Over::Lost(_) | Over::Flooded(_) | Over::Outdated => {
                Next::AfterWait(ClientError::Unreachable(over.reason().to_owned()))
            }
            Over::Replaced(_) => Next::AtOnce,
            Over::Idle => Next::WhenWanted,
            Over::Stopped => Next::Never,
        }
    }

    /// Waits before the next try, and tells all who want a connection that there is none.
    async fn back_off(&mut self, error: ClientError, inbox: &mut Inbox) -> Next {
        self.failures = self.failures.saturating_add(1);
        let wait = self.shared.settings.backoff.after(self.failures);
        let reason = error.to_string();
        // The reason may hold secrets that only whoever configured the server can tell.
        tracing::debug!(?wait, "a server cannot be reached; it is tried again");
        self.shared.states.send_replace(State::BackingOff { reason, wait });
        self.shared.conn_state.send_replace(ConnState::Failed(error));
        let wait = sleep(wait);
        tokio::pin!(wait);
        loop {
            let order = tokio::select! {
                () = &mut wait => return self.next(),
                order = inbox.recv() => order,
            };
            match order {
                Some((Command::Stop, _done)) => return Next::Never,
                Some((Command::Restart | Command::Try, _done)) => {
                    // Before it is told that this is done: nobody is to see the failure again.
                    self.shared.conn_state.send_replace(ConnState::Coming);
                    return Next::AtOnce;
                }
                Some((Command::Replace(_), _done)) => {}
                None => return Next::Never,
            }
        }
    }
}

/// Waits for the next look at a server that says too much; for ever if none does.
async fn tick(pressure: &mut Option<Interval>) {
    match pressure {
        Some(pressure) => drop(pressure.tick().await),
        None => std::future::pending().await,
    }
}

/// Waits until nobody has used the connection for long enough.
async fn idle(shared: &Shared, connection: &Connection) {
    let Some(idle) = shared.settings.idle else {
        return std::future::pending().await;
    };
    loop {
        let until = shared.used() + idle;
        if connection.in_flight() > 0 {
            sleep(idle.max(LOOK)).await;
        } else if until <= Instant::now() {
            return;
        } else {
            sleep_until(until).await;
        }
    }
}

/// Lets a connection finish what it works on, and ends it.
async fn retire(connection: Arc<Connection>, at_most: Duration) {
    let finished = async {
        while connection.in_flight() > 0 {
            sleep(LOOK).await;
        }
    };
    let _ = timeout(at_most, finished).await;
    connection.close().await;
}

async fn outlived(born: Instant, lifetime: Option<Duration>) {
    match lifetime {
        Some(lifetime) => sleep_until(born + lifetime).await,
        None => std::future::pending().await,
    }
}
