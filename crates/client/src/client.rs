//! A client for one server: connects when needed, reconnects with backoff, retries what is safe to
//! retry, and caches lists.

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

/// A client, connected or not. Clones share it; it stops when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Client(Arc<Owned>);

#[derive(Debug)]
struct Owned {
    shared: Arc<Shared>,
    _keeper: AbortOnDropHandle<()>,
}

/// Health of the connection or program behind a client.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// The process id.
    pub process: Option<u32>,
    /// Resident memory in bytes.
    pub memory: Option<u64>,
    /// How often it reconnected.
    pub restarts: u64,
    /// Requests in flight.
    pub in_flight: usize,
    /// The age of the connection.
    pub age: Option<Duration>,
}

impl Client {
    /// A client that connects as its settings say. Notifications that belong to no request go to
    /// `events`. Must be called within a tokio runtime.
    pub fn new(target: Target, settings: Settings, events: mpsc::Sender<Event>) -> Self {
        let shared = Arc::new(Shared::new(settings));
        let reconnector = Reconnector::new(target, shared.clone(), events);
        let reconnector = AbortOnDropHandle::new(tokio::spawn(reconnector.keep()));
        Self(Arc::new(Owned { shared, _keeper: reconnector }))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.shared.settings
    }

    /// The state.
    pub fn state(&self) -> State {
        self.0.shared.states.borrow().clone()
    }

    /// A receiver of state changes.
    pub fn states(&self) -> watch::Receiver<State> {
        self.0.shared.states.subscribe()
    }

    /// What the server declared last; none if it was never reached.
    pub fn known(&self) -> Option<Arc<Peer>> {
        self.0.shared.known()
    }

    /// Connects if necessary, and returns what the server declares.
    pub async fn peer(&self) -> Result<Arc<Peer>, ClientError> {
        Ok(self.0.shared.connected(None).await?.peer().clone())
    }

    /// Sends a request, connecting first if necessary. A request that the server has certainly not
    /// begun is sent once more over a new connection: one that was not sent, one that a lost
    /// session refused, or one that the server refused because it changed its era. A tool call that
    /// was refused for its headers (-32020) is sent once more with those of a fresh definition, if
    /// these differ.
    ///
    /// One that failed transiently is retried with backoff within its timeout, see
    /// [`Settings::retry`]: after a refused connection every request, since nothing was sent; a
    /// [repeatable](Request::is_repeatable) one also when the connection was reset before a byte of
    /// the response, and on HTTP status 502, 503, and 429 with `Retry-After`.
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

    /// All pages of a list, from the cache while the server's TTL lasts and no change was
    /// announced. Listing does not keep an idle connection open.
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

    /// Drops a list from the cache.
    pub fn forget(&self, list: List) {
        self.0.shared.cache.forget(list);
    }

    /// Whether the server announces changes of this list, and can be heard now.
    pub fn is_told(&self, list: List) -> bool {
        let Some(connection) = self.0.shared.current() else { return false };
        connection.peer().has(&[list.capability(), "listChanged"]) && connection.is_subscribed()
    }

    /// Sets the resources to subscribe to, now and after every reconnection.
    pub fn watch(&self, uris: BTreeSet<String>) {
        let changed = |watched: &mut BTreeSet<String>| {
            let differs = *watched != uris;
            *watched = uris;
            differs
        };
        self.0.shared.watched.send_if_modified(changed);
    }

    /// Waits until the server was told of the subscription to this resource, at most the connect
    /// timeout, and not at all while the server is not connected.
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

    /// Health of the connection or program.
    pub fn health(&self) -> Health {
        self.0.shared.health()
    }

    /// The end of standard error, earlier connections included.
    pub fn log(&self) -> String {
        self.0.shared.log()
    }

    /// Closes the connection; the next request, or eager start, opens a new one.
    pub async fn restart(&self) {
        self.0.shared.command(conn_state::Command::Restart).await;
    }

    /// Stops the client, and waits until the connection is closed.
    pub async fn stop(&self) {
        let mut states = self.states();
        self.0.shared.command(conn_state::Command::Stop).await;
        let _ = states.wait_for(|state| matches!(state, State::Disabled(_))).await;
    }

    /// A connection in the place of one that can no longer be used.
    async fn renewed(&self, old: &Arc<Connection>) -> Result<Arc<Connection>, ClientError> {
        self.0.shared.connected(Some(old)).await
    }
}

/// Whether a refused request can be sent again unchanged. Input responses and request state mean
/// nothing to a server of another era, which would start the call from the beginning.
fn may_be_repeated(request: &Request, error: &ClientError) -> bool {
    let InputRequired { entries, state } = &request.input;
    !matches!(error, ClientError::Outdated(_)) || entries.is_none() && state.is_none()
}
