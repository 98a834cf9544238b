//! A server for as long as it is wanted: connected when needed, again when lost.

mod conn_state;
mod list_cache;
mod reconnector;
mod retry;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use self::conn_state::Shared;
use self::reconnector::Reconnector;
use self::retry::Attempts;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::event::Event;
use crate::event::State;
use crate::peer::Peer;
use crate::request::{Answer, InputRequired, List, Listed, Request};
use crate::request_handler::RequestHandler;
use crate::settings::Settings;
use crate::target::Target;

/// A server, connected or not. Clones share it; it ends when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Client(Arc<Owned>);

#[derive(Debug)]
struct Owned {
    shared: Arc<Shared>,
    _keeper: AbortOnDropHandle<()>,
}

/// What is known of the program or connection behind a client.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// The number of its process.
    pub process: Option<u32>,
    /// The bytes of memory that it holds.
    pub memory: Option<u64>,
    /// How often it was connected anew after it was lost.
    pub restarts: u64,
    /// Requests under way.
    pub in_flight: usize,
    /// How long the connection has lasted.
    pub age: Option<Duration>,
}

impl Client {
    /// A client that connects when its settings say so. What the server says that belongs to no
    /// request goes to `events`. Must be called within a tokio runtime.
    pub fn new(target: Target, settings: Settings, events: mpsc::Sender<Event>) -> Self {
        let shared = Arc::new(Shared::new(settings));
        let reconnector = Reconnector::new(target, shared.clone(), events);
        let reconnector = AbortOnDropHandle::new(tokio::spawn(reconnector.keep()));
        Self(Arc::new(Owned { shared, _keeper: reconnector }))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.shared.settings
    }

    /// How it stands.
    pub fn state(&self) -> State {
        self.0.shared.states.borrow().clone()
    }

    /// Hears how it stands.
    pub fn states(&self) -> watch::Receiver<State> {
        self.0.shared.states.subscribe()
    }

    /// What the server said of itself last; none if it was never reached.
    pub fn known(&self) -> Option<Arc<Peer>> {
        self.0.shared.known()
    }

    /// Connects if need be, and gives what the server says of itself.
    pub async fn peer(&self) -> Result<Arc<Peer>, ClientError> {
        Ok(self.0.shared.connected(None).await?.peer().clone())
    }

    /// Asks for something, connecting first if need be. A request that the server has surely not
    /// begun with is sent once more over a new connection: one that was not sent, that a lost session
    /// refused, or that came in words which the server does not speak any more. So is a call of a tool
    /// whose headers the server refused, once, if its definition wants others by now.
    ///
    /// One that failed for a reason that may pass is made again within its time, as
    /// [`Settings::retry`] says: when the server refused the connection, and a
    /// [repeatable](Request::is_repeatable) one also when the connection was lost before a byte of the
    /// response, or answered with HTTP status 502, 503, or 429 with `Retry-After`.
    pub async fn request(
        &self,
        request: &Request,
        handler: &dyn RequestHandler,
    ) -> Result<Answer, ClientError> {
        let begun = Instant::now();
        match self.attempt(request, handler).await {
            Err(error) if Attempts::may_pass(&error) => {
                Box::pin(self.request_again(request, handler, begun, error)).await
            }
            answer => answer,
        }
    }

    async fn request_again(
        &self,
        request: &Request,
        handler: &dyn RequestHandler,
        begun: Instant,
        mut error: ClientError,
    ) -> Result<Answer, ClientError> {
        let shared = &self.0.shared;
        let at_most = request.at_most.unwrap_or(shared.settings.at_most);
        let mut attempts = Attempts::new(shared, request.is_repeatable, begun, at_most);
        loop {
            let at_most = Some(attempts.next(error).await?);
            error = match self.attempt(&Request { at_most, ..request.clone() }, handler).await {
                Err(error) if Attempts::may_pass(&error) => error,
                answer => return answer.map_err(|error| attempts.give_up(error)),
            };
        }
    }

    async fn attempt(
        &self,
        request: &Request,
        handler: &dyn RequestHandler,
    ) -> Result<Answer, ClientError> {
        let shared = &self.0.shared;
        let connection = match shared.use_connection() {
            Some(connection) => connection,
            None => Box::pin(shared.connected(None)).await?,
        };
        match connection.ask(request, handler).await {
            Err(error) if error.is_of_connection() && may_be_repeated(request, &error) => {
                let renewed = Box::pin(self.renewed(&connection)).await?;
                Box::pin(renewed.ask(request, handler)).await
            }
            Err(error) if retry::is_header_mismatch(connection.peer(), request, &error) => {
                match Box::pin(self.with_fresh_headers(request, &connection)).await {
                    Some(with_fresh_headers) => {
                        Box::pin(connection.ask(&with_fresh_headers, handler)).await
                    }
                    None => Err(error),
                }
            }
            answer => answer,
        }
    }

    /// All pages of a list. One that the server allows to be kept is not asked for again before it
    /// is stale or said to have changed. To ask for a list keeps no connection that nobody uses.
    pub async fn list(&self, list: List) -> Result<Listed, ClientError> {
        let shared = &self.0.shared;
        if let Some(kept) = shared.cache.fresh(list) {
            return Ok(kept);
        }
        let at_most = shared.settings.at_most;
        let mut attempts = Attempts::new(shared, true, Instant::now(), at_most);
        loop {
            match self.list_once(list).await {
                Err(error) if Attempts::may_pass(&error) => drop(attempts.next(error).await?),
                listed => return listed.map_err(|error| attempts.give_up(error)),
            }
        }
    }

    async fn list_once(&self, list: List) -> Result<Listed, ClientError> {
        let shared = &self.0.shared;
        let connection = shared.reach(None).await?;
        let version_of = shared.cache.version_of(list);
        let listed = match connection.list(list).await {
            Err(error) if error.is_of_connection() => {
                shared.reach(Some(&connection)).await?.list(list).await
            }
            listed => listed,
        }?;
        shared.cache.store(list, version_of, &listed);
        Ok(listed)
    }

    /// Has a list asked for anew though the server allowed it to be kept.
    pub fn forget(&self, list: List) {
        self.0.shared.cache.forget(list);
    }

    /// Whether the server tells now when this list changes: it says that it does, and is heard.
    pub fn is_told(&self, list: List) -> bool {
        let Some(connection) = self.0.shared.current() else { return false };
        connection.peer().has(&[list.capability(), "listChanged"]) && connection.is_subscribed()
    }

    /// Sets the resources whose changes are to be told, now and after every reconnection.
    pub fn watch(&self, uris: BTreeSet<String>) {
        let changed = |watched: &mut BTreeSet<String>| {
            let differs = *watched != uris;
            *watched = uris;
            differs
        };
        self.0.shared.watched.send_if_modified(changed);
    }

    /// Waits until the server was told to tell of this resource. Does not wait for a server that is
    /// not connected, nor longer than connecting may take.
    pub fn watching(&self, uri: &str) -> impl Future<Output = ()> + Send + use<> {
        let (shared, uri) = (self.0.shared.clone(), uri.to_owned());
        async move {
            let settled = |told: &Option<BTreeSet<String>>| {
                let is_told = told.as_ref().is_none_or(|told| told.contains(&uri));
                is_told || !shared.watched.borrow().contains(&uri)
            };
            let mut told = shared.told.subscribe();
            let _ = timeout(shared.settings.connect_within, told.wait_for(settled)).await;
        }
    }

    /// What is known of the program or connection.
    pub fn health(&self) -> Health {
        self.0.shared.health()
    }

    /// The end of what the program wrote to standard error, earlier lives included.
    pub fn log(&self) -> String {
        self.0.shared.log()
    }

    /// Ends the connection; the next request, or the settings, begin a new one.
    pub async fn restart(&self) {
        self.0.shared.command(conn_state::Command::Restart).await;
    }

    /// Ends the connection for good, and waits until it has ended.
    pub async fn stop(&self) {
        let mut states = self.states();
        self.0.shared.command(conn_state::Command::Stop).await;
        let _ = states.wait_for(|state| matches!(state, State::Disabled(_))).await;
    }

    /// A connection that takes the place of one that has turned out to be of no use.
    async fn renewed(&self, old: &Arc<Connection>) -> Result<Arc<Connection>, ClientError> {
        self.0.shared.connected(Some(old)).await
    }
}

/// Whether a request that was refused can be made again as it is. What goes on with a call after
/// questions says nothing to a server that does not know the call, which would begin it anew.
fn may_be_repeated(request: &Request, error: &ClientError) -> bool {
    let InputRequired { entries, state } = &request.input;
    !matches!(error, ClientError::Outdated(_)) || entries.is_none() && state.is_none()
}
