//! One connection to a server: connected, negotiated, used, closed. A reconnection is a new one.

mod call;
mod compose;
mod connection_inner;
mod dispatch;
mod lists;
mod negotiate;
mod open;
mod pending_requests;
mod resource_subscriptions;
mod response;
mod response_stream;
mod server_requests;
mod subscriptions;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gantry_process::Session;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::ClientError;
use crate::event::Event;
use crate::peer::Peer;
use crate::request::{Answer, List, Listed, Request};
use crate::request_handler::RequestHandler;
use crate::settings::{Era, Settings};
use crate::target::Target;
use connection_inner::{ConnectionInner, Negotiated, Transport};
use open::{Connector, NewConnection};
use resource_subscriptions::ResourceSubscriptions;
use subscriptions::{ListeningSignal, WatchRequest, WatchResult};

/// How long to wait for the subscription or the general stream before the connection is handed out.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to a server. Dropping it closes it, and stops the program behind it.
pub struct Connection {
    peer: Arc<Peer>,
    inner: Arc<ConnectionInner>,
    subscriptions: ResourceSubscriptions,
    /// Tasks that run as long as the connection.
    tasks: Mutex<JoinSet<()>>,
}

impl Connection {
    /// Connects, detects the era and negotiates the revision. Notifications that belong to no
    /// request go to `events`, and are dropped when that is full.
    pub async fn open(
        target: &Target,
        settings: Arc<Settings>,
        events: mpsc::Sender<Event>,
    ) -> Result<Self, ClientError> {
        let era = settings.era;
        Self::attempt(target, settings, era, events).await.map_err(|(error, _)| error)
    }

    /// The same with an era that is known from an earlier connection. A failure carries the
    /// program's standard error.
    pub(crate) async fn attempt(
        target: &Target,
        settings: Arc<Settings>,
        era: Era,
        events: mpsc::Sender<Event>,
    ) -> Result<Self, (ClientError, String)> {
        let within = settings.connect_within;
        let opening = Connector::new(settings, era, events);
        let mut open = pin!(opening.open(target));
        let opened = match timeout(within, &mut open).await {
            Ok(opened) => opened,
            // The last attempt still exists, and its standard error shows how far it got.
            Err(_) => Err(opening.timed_out(within)),
        };
        let (new, negotiated) = opened.map_err(|error| (error, opening.stderr()))?;
        let (connection, listening) = Self::begin(new, negotiated);
        // Requests and changes that the server sends before its stream is open are lost. A server
        // that does not open the stream in time is not waited for.
        let _ = timeout(LISTEN_TIMEOUT, listening).await;
        Ok(connection)
    }

    /// Starts the tasks of the connection. The receiver completes, or is dropped, when the server
    /// can send what belongs to no request.
    fn begin(new: NewConnection, negotiated: Negotiated) -> (Self, oneshot::Receiver<()>) {
        let NewConnection { inner, mut tasks } = new;
        let peer = negotiated.peer.clone();
        let stateless = negotiated.revision().is_stateless();
        inner.agree(negotiated);
        let (watch_requests, requested) = watch::channel(WatchRequest::default());
        let (results, result) = watch::channel(WatchResult::default());
        let (signal, listening) = oneshot::channel();
        let signal = ListeningSignal::new(signal);
        if stateless {
            tasks.spawn(subscriptions::keep_subscribed(inner.clone(), requested, results, signal));
        } else if !inner.is_pipe() {
            tasks.spawn(subscriptions::keep_general_stream(inner.clone(), signal));
        }
        let subscriptions = ResourceSubscriptions::new(watch_requests, result);
        (Self { peer, inner, subscriptions, tasks: Mutex::new(tasks) }, listening)
    }

    /// What the server declared during negotiation.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Sends a request and waits for the response. Dropping the future cancels the request at the
    /// server.
    pub async fn request(
        &self,
        request: Request,
        handler: &dyn RequestHandler,
    ) -> Result<Answer, ClientError> {
        call::send_request(&self.inner, &request, handler).await
    }

    /// The same for a request that may have to be sent again on another connection.
    pub(crate) fn ask<'a>(
        &'a self,
        request: &'a Request,
        handler: &'a dyn RequestHandler,
    ) -> impl Future<Output = Result<Answer, ClientError>> + Send + 'a {
        call::send_request(&self.inner, request, handler)
    }

    /// All pages of a list. A server that does not declare it has an empty one.
    pub async fn list(&self, list: List) -> Result<Listed, ClientError> {
        lists::list(&self.inner, list).await
    }

    /// Sets the resources to subscribe to. Does nothing for a server without resource
    /// subscriptions.
    pub async fn watch(&self, uris: &BTreeSet<String>) -> Result<(), ClientError> {
        if !self.peer.has(&["resources", "subscribe"]) {
            return Ok(());
        }
        match self.peer.revision.is_stateless() {
            true => self.subscriptions.resubscribe(uris, &self.inner).await,
            false => self.subscriptions.update(uris, &self.inner).await,
        }
    }

    /// Whether the server can send list changes now: over a pipe, a subscription or a general
    /// stream.
    pub fn is_subscribed(&self) -> bool {
        self.inner.is_subscribed()
    }

    /// Waits for the end of the connection, and returns the reason.
    pub async fn ended(&self) -> String {
        self.inner.pending_requests.ended().await
    }

    /// Reports an event that did not come from the server.
    pub(crate) fn tell(&self, event: Event) {
        self.inner.event(event);
    }

    /// Waits until the server is known to have changed its era or revision.
    pub(crate) async fn era_changed(&self) {
        self.inner.era_changed.cancelled().await;
    }

    /// Whether that is known.
    pub(crate) fn has_era_changed(&self) -> bool {
        self.inner.era_changed.is_cancelled()
    }

    /// Waits until the server exceeds a flood limit for the first time.
    pub(crate) async fn flooded(&self) {
        let stderr = async {
            match self.inner.program() {
                Some(program) => program.stderr_throttle().held_back().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.inner.flood.held_back() => {}
            () = stderr => {}
        }
    }

    /// Which flood limit the server exceeds, and for how long.
    pub(crate) fn flood(&self) -> Option<(String, Duration)> {
        let limits = &self.inner.settings.flood;
        if let Some(time) = self.inner.flood.pressure() {
            let reason = format!(
                "it sends more than {} messages a second that answer nothing, and is read no \
                 faster (`limits.messages`)",
                limits.messages
            );
            return Some((reason, time));
        }
        let time = self.inner.program()?.stderr_throttle().pressure()?;
        let reason = format!(
            "it writes more than {} bytes a second to standard error, and is read no faster \
             (`limits.stderr`)",
            limits.stderr
        );
        Some((reason, time))
    }

    /// Closes the connection gracefully.
    pub async fn close(self: Arc<Self>) {
        self.inner.pending_requests.end("the connection was closed");
        match &self.inner.transport {
            Transport::Pipe { program: Some(program), .. } => drop(program.stop().await),
            Transport::Pipe { stop, .. } => stop.cancel(),
            Transport::Http { http, .. } => {
                if self.inner.has_session() {
                    let within = self.inner.settings.grace;
                    let _ = timeout(within, http.end_session()).await;
                }
            }
        }
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// The process id of the program behind it, if any.
    pub fn process(&self) -> Option<u32> {
        Some(self.inner.program()?.id())
    }

    /// The bytes of memory that the program holds now.
    pub fn memory(&self) -> Option<u64> {
        Some(self.inner.program()?.memory())
    }

    /// The end of what the program wrote to standard error.
    pub fn log(&self) -> String {
        self.inner.program().map(Session::stderr).unwrap_or_default()
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.inner.pending_requests.in_flight()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("peer", &self.peer).finish_non_exhaustive()
    }
}
