//! The reconnect loop: connects on demand or eagerly, reconnects with backoff when the connection
//! is lost, and replaces it on command, at its maximum lifetime, when the server floods or changes
//! its era.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, interval, sleep, sleep_until, timeout};

use super::conn_state::{Command, Commands, ConnState, Shared};
use super::conn_state::{EndReason, NextStep};
use crate::connection::Connection;
use crate::error::ClientError;
use crate::event::Event;
use crate::event::EventForwarder;
use crate::event::State;
use crate::settings::{Era, Start};
use crate::target::Target;

/// After this time a connection counts as stable: the next failure is the first in a row.
const STABLE: Duration = Duration::from_secs(10);

/// How often a retired connection is checked for requests in flight.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How often a server that exceeds a flood limit is checked.
const FLOOD_CHECK: Duration = Duration::from_secs(1);

/// The task that owns the connection of a client.
pub(super) struct Reconnector {
    target: Target,
    shared: Arc<Shared>,
    forwarder: EventForwarder,
    /// Replaced connections that finish their requests.
    retired: JoinSet<()>,
    failures: u32,
    connections_made: u64,
    /// Whether the last attempt failed or the era changed, so that the known era must be probed
    /// again.
    era_in_doubt: bool,
}

impl Reconnector {
    pub(super) fn new(target: Target, shared: Arc<Shared>, events: mpsc::Sender<Event>) -> Self {
        let forwarder = EventForwarder::new(events);
        Self {
            target,
            shared,
            forwarder,
            retired: JoinSet::new(),
            failures: 0,
            connections_made: 0,
            era_in_doubt: false,
        }
    }

    /// Runs until it is stopped.
    pub(super) async fn keep(mut self) {
        let Some(mut inbox) = self.shared.take_inbox() else { return };
        let mut next = self.next();
        loop {
            next = match next {
                NextStep::Stop => break,
                NextStep::WaitForDemand => self.rest(&mut inbox).await,
                NextStep::BackOff(error) => self.back_off(error, &mut inbox).await,
                NextStep::ConnectNow => self.begin(&mut inbox).await,
            };
        }
        let stopped = "the client was stopped".to_owned();
        self.shared
            .conn_state
            .send_replace(ConnState::Failed(ClientError::Unreachable(stopped.clone())));
        self.retired.shutdown().await;
        self.shared.states.send_replace(State::Disabled(stopped));
    }

    /// Connects, and serves the connection until it ends.
    async fn begin(&mut self, inbox: &mut Commands) -> NextStep {
        self.shared.conn_state.send_replace(ConnState::Connecting);
        self.shared.states.send_replace(State::Starting);
        let (sender, events) = mpsc::channel(self.shared.settings.queue.max(1));
        match self.open(sender, inbox).await {
            None => NextStep::Stop,
            Some(Ok(connection)) => {
                self.era_in_doubt = false;
                let over = self.live(&connection, events, inbox).await;
                self.end(connection, over).await
            }
            Some(Err(error)) => {
                self.era_in_doubt = true;
                NextStep::BackOff(error)
            }
        }
    }

    /// The next step after a normal end.
    fn next(&self) -> NextStep {
        match self.shared.settings.start {
            Start::Eager => NextStep::ConnectNow,
            Start::Lazy => NextStep::WaitForDemand,
        }
    }

    /// Waits until a connection is wanted.
    async fn rest(&mut self, inbox: &mut Commands) -> NextStep {
        self.shared.conn_state.send_replace(ConnState::None);
        self.shared.states.send_replace(State::Configured);
        loop {
            tokio::select! {
                () = self.shared.demand.notified() => return NextStep::ConnectNow,
                command = inbox.recv() => match command {
                    Some((Command::Stop, _done)) => return NextStep::Stop,
                    Some((Command::Restart | Command::Replace(_) | Command::ConnectNow, _done)) => {}
                    None => return NextStep::Stop,
                },
            }
        }
    }

    /// The era for the next connection. A known era is not probed again, unless it is in doubt: the
    /// server may have been replaced.
    fn era(&self) -> Era {
        let given = self.shared.settings.era;
        match self.shared.known() {
            Some(peer) if given == Era::Auto && !self.era_in_doubt => {
                if peer.revision.is_stateless() { Era::Modern } else { Era::Legacy }
            }
            _ => given,
        }
    }

    /// Connects; none when stopped meanwhile.
    async fn open(
        &self,
        events: mpsc::Sender<Event>,
        inbox: &mut Commands,
    ) -> Option<Result<Arc<Connection>, ClientError>> {
        let settings = self.shared.settings.clone();
        let opening = Connection::attempt(&self.target, settings, self.era(), events);
        tokio::pin!(opening);
        loop {
            tokio::select! {
                opened = &mut opening => return Some(opened.map(Arc::new).map_err(|(error, words)| {
                    self.shared.record_stderr(&words, &error.to_string());
                    error
                })),
                command = inbox.recv() => match command {
                    Some((Command::Stop, _)) | None => return None,
                    // Already connecting.
                    Some((Command::Restart | Command::Replace(_) | Command::ConnectNow, _done)) => {}
                },
            }
        }
    }

    /// Serves a connection until it ends.
    async fn live(
        &mut self,
        connection: &Arc<Connection>,
        mut events: mpsc::Receiver<Event>,
        inbox: &mut Commands,
    ) -> EndReason {
        let (connected_at, shared) = (Instant::now(), self.shared.clone());
        let mut watched = self.shared.watched.subscribe();
        watched.mark_changed();
        self.shared.told.send_replace(Some(BTreeSet::new()));
        self.negotiate(connection);
        let mut pressure = None;
        loop {
            tokio::select! {
                reason = connection.ended() => return EndReason::Lost(reason),
                event = events.recv() => if let Some(event) = event { self.pass_on(event) },
                () = self.forwarder.settle() => {}
                Ok(()) = watched.changed() => {
                    let uris = watched.borrow_and_update().clone();
                    self.watch(connection, uris).await;
                }
                command = inbox.recv() => match command {
                    Some((Command::Stop, _)) | None => return EndReason::Stopped,
                    Some((Command::Restart, _done)) => return EndReason::Replaced("it was restarted"),
                    Some((Command::ConnectNow, _done)) => {}
                    Some((Command::Replace(old), _done)) => if Arc::ptr_eq(&old, connection) {
                        return match connection.has_era_changed() {
                            true => EndReason::Outdated,
                            false => EndReason::Replaced("it could no longer be used"),
                        };
                    },
                },
                () = connection.era_changed() => return EndReason::Outdated,
                () = connection.flooded(), if pressure.is_none() => {
                    pressure = Some(interval(FLOOD_CHECK));
                }
                () = tick(&mut pressure) => match connection.flood() {
                    Some((reason, time)) if time >= self.shared.settings.flood.disconnect_after => {
                        return EndReason::Flooded(format!("disconnected: {reason}"));
                    }
                    Some((reason, _)) => self.shared.set_state(State::Degraded(reason)),
                    None => {
                        pressure = None;
                        self.shared.set_state(State::Ready);
                    }
                },
                () = idle(&shared, connection) => return EndReason::Idle,
                () = lifetime_over(connected_at, self.shared.settings.lifetime) => {
                    return EndReason::Replaced("its maximum lifetime was reached");
                }
            }
        }
    }

    /// Subscribes to exactly these resources.
    async fn watch(&self, connection: &Connection, uris: BTreeSet<String>) {
        let told = &self.shared.told;
        // A resource that is being unsubscribed no longer counts.
        told.send_modify(|told| {
            if let Some(told) = told {
                told.retain(|uri| uris.contains(uri));
            }
        });
        if let Err(error) = connection.watch(&uris).await {
            tracing::debug!(%error, "resources cannot be watched");
        }
        // Nobody waits for a server that refuses.
        told.send_replace(Some(uris));
    }

    fn negotiate(&mut self, connection: &Arc<Connection>) {
        self.shared.set_connected(connection);
        if self.connections_made > 0 {
            self.shared.restarts.fetch_add(1, Ordering::Relaxed);
            self.pass_on(Event::Reconnected);
        }
        self.connections_made += 1;
    }

    fn pass_on(&mut self, event: Event) {
        self.shared.cache.invalidate(&event);
        self.forwarder.tell(event);
    }

    /// Ends a connection and decides on the next step.
    async fn end(&mut self, connection: Arc<Connection>, over: EndReason) -> NextStep {
        self.shared.told.send_replace(None);
        if let ConnState::Connected(_, since) =
            self.shared.conn_state.send_replace(ConnState::Connecting)
            && since.elapsed() >= STABLE
            && !matches!(over, EndReason::Flooded(_))
        {
            self.failures = 0;
        }
        self.shared.record_stderr(&connection.log(), over.reason());
        match over {
            // Its requests in flight may be running at the server that it was made with.
            EndReason::Replaced(_) | EndReason::Outdated => {
                self.retired.spawn(retire(connection, self.shared.settings.at_most));
            }
            EndReason::Lost(_) | EndReason::Flooded(_) | EndReason::Idle | EndReason::Stopped => {
                connection.close().await;
            }
        }
        self.era_in_doubt = matches!(over, EndReason::Outdated);
        match over {
            // The first loss after a stable time reconnects at once, since most losses are restarts
            // of the server; after that the backoff grows.
            EndReason::Lost(_) | EndReason::Outdated if self.failures == 0 => {
                self.failures = 1;
                self.next()
            }
            EndReason::Lost(_) | EndReason::Flooded(_) | EndReason::Outdated => {
                NextStep::BackOff(ClientError::Unreachable(over.reason().to_owned()))
            }
            EndReason::Replaced(_) => NextStep::ConnectNow,
            EndReason::Idle => NextStep::WaitForDemand,
            EndReason::Stopped => NextStep::Stop,
        }
    }

    /// Waits for the backoff; whoever wants a connection gets the error meanwhile.
    async fn back_off(&mut self, error: ClientError, inbox: &mut Commands) -> NextStep {
        self.failures = self.failures.saturating_add(1);
        let wait = self.shared.settings.backoff.after(self.failures);
        let reason = error.to_string();
        // The reason may hold secrets, and only the owner of the configuration can redact them.
        tracing::debug!(?wait, "a server cannot be reached; it is tried again");
        self.shared.states.send_replace(State::BackingOff { reason, wait });
        self.shared.conn_state.send_replace(ConnState::Failed(error));
        let wait = sleep(wait);
        tokio::pin!(wait);
        loop {
            let command = tokio::select! {
                () = &mut wait => return self.next(),
                command = inbox.recv() => command,
            };
            match command {
                Some((Command::Stop, _done)) => return NextStep::Stop,
                Some((Command::Restart | Command::ConnectNow, _done)) => {
                    // Set before the command is acknowledged: nobody may see the old failure again.
                    self.shared.conn_state.send_replace(ConnState::Connecting);
                    return NextStep::ConnectNow;
                }
                Some((Command::Replace(_), _done)) => {}
                None => return NextStep::Stop,
            }
        }
    }
}

/// Waits for the next flood check; for ever if there is none.
async fn tick(pressure: &mut Option<Interval>) {
    match pressure {
        Some(pressure) => drop(pressure.tick().await),
        None => std::future::pending().await,
    }
}

/// Waits until the connection has been idle for long enough.
async fn idle(shared: &Shared, connection: &Connection) {
    let Some(idle) = shared.settings.idle else {
        return std::future::pending().await;
    };
    loop {
        let until = shared.used() + idle;
        if connection.in_flight() > 0 {
            sleep(idle.max(POLL_INTERVAL)).await;
        } else if until <= Instant::now() {
            return;
        } else {
            sleep_until(until).await;
        }
    }
}

/// Closes a connection after its requests in flight have ended.
async fn retire(connection: Arc<Connection>, at_most: Duration) {
    let finished = async {
        while connection.in_flight() > 0 {
            sleep(POLL_INTERVAL).await;
        }
    };
    let _ = timeout(at_most, finished).await;
    connection.close().await;
}

async fn lifetime_over(connected_at: Instant, lifetime: Option<Duration>) {
    match lifetime {
        Some(lifetime) => sleep_until(connected_at + lifetime).await,
        None => std::future::pending().await,
    }
}
