//! One life of a server: connected, greeted, asked, and gone.

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

/// How long the stream for what belongs to no request may take to be there.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to a server. Dropping it ends it, and the program behind it.
pub struct Connection {
    peer: Arc<Peer>,
    inner: Arc<ConnectionInner>,
    subscriptions: ResourceSubscriptions,
    /// What runs for as long as the connection does.
    tasks: Mutex<JoinSet<()>>,
}

impl Connection {
    /// Connects, finds out the era, and greets the server. What the server says that belongs to no
    /// request goes to `events`; what finds no room there is left out.
    pub async fn open(
        target: &Target,
        settings: Arc<Settings>,
        events: mpsc::Sender<Event>,
    ) -> Result<Self, ClientError> {
        let era = settings.era;
        Self::attempt(target, settings, era, events).await.map_err(|(error, _)| error)
    }

    /// The same for a server that was of that era before, where a failure comes with what the
    /// program wrote to standard error.
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
            // What was begun is still there, and can say how far it came.
            Err(_) => Err(opening.timed_out(within)),
        };
        let (new, negotiated) = opened.map_err(|error| (error, opening.stderr()))?;
        let (connection, listening) = Self::begin(new, negotiated);
        // What a server asks or changes before it is listened to is lost. One that leaves the
        // question for the stream open is not waited for.
        let _ = timeout(LISTEN_TIMEOUT, listening).await;
        Ok(connection)
    }

    /// Begins what runs for as long as the connection does. The receiver hears, or is dropped,
    /// when the server is listened to.
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

    /// What the server said of itself.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Asks for something and waits for the answer. Dropping the future tells the server that
    /// nobody waits any more.
    pub async fn request(
        &self,
        request: Request,
        handler: &dyn RequestHandler,
    ) -> Result<Answer, ClientError> {
        call::send_request(&self.inner, &request, handler).await
    }

    /// The same, of a request that may have to be made again elsewhere.
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

    /// Sets the resources whose changes are to be told. A server that tells of none is left alone.
    pub async fn watch(&self, uris: &BTreeSet<String>) -> Result<(), ClientError> {
        if !self.peer.has(&["resources", "subscribe"]) {
            return Ok(());
        }
        match self.peer.revision.is_stateless() {
            true => self.subscriptions.resubscribe(uris, &self.inner).await,
            false => self.subscriptions.update(uris, &self.inner).await,
        }
    }

    /// Whether the server can tell now of lists that change: over a pipe, a subscription or a stream.
    pub fn is_subscribed(&self) -> bool {
        self.inner.is_subscribed()
    }

    /// Waits until the connection has ended, and says why.
    pub async fn ended(&self) -> String {
        self.inner.pending_requests.ended().await
    }

    /// Tells of something that the server did not say itself.
    pub(crate) fn tell(&self, event: Event) {
        self.inner.event(event);
    }

    /// Waits until it is seen that what was agreed on does not hold any more.
    pub(crate) async fn era_changed(&self) {
        self.inner.era_changed.cancelled().await;
    }

    /// Whether that was seen.
    pub(crate) fn has_era_changed(&self) -> bool {
        self.inner.era_changed.is_cancelled()
    }

    /// Waits until the server says more than it may for the first time.
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

    /// What the server says more of than it may, and for how long it has done so.
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

    /// Ends it in good order.
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

    /// The number of the program behind it, if there is one.
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

    /// Requests under way.
    pub fn in_flight(&self) -> usize {
        self.inner.pending_requests.in_flight()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("peer", &self.peer).finish_non_exhaustive()
    }
}
