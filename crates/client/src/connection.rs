//! One life of a server: connected, greeted, asked, and gone.

mod answer;
mod asking;
mod attribute;
mod begin;
mod call;
mod clock;
mod compose;
mod connection_inner;
mod decode;
mod era_changed;
mod handshake;
mod hear;
mod list;
mod listen;
mod mailbox;
mod negotiate;
mod open;
mod pending_requests;
mod reply;
mod source;
#[cfg(test)]
pub(crate) mod tests;
mod watching;

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
use connection_inner::{Agreed, ConnectionInner, Transport};
use listen::{Awaited, Tried, Wish};
use open::{Draft, Opening};
use watching::Watching;

/// How long the stream for what belongs to no request may take to be there.
const LISTEN_WITHIN: Duration = Duration::from_secs(1);

/// A connection to a server. Dropping it ends it, and the program behind it.
pub struct Connection {
    peer: Arc<Peer>,
    inner: Arc<ConnectionInner>,
    watching: Watching,
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
        let opening = Opening::new(settings, era, events);
        let mut open = pin!(opening.open(target));
        let opened = match timeout(within, &mut open).await {
            Ok(opened) => opened,
            // What was begun is still there, and can say how far it came.
            Err(_) => Err(opening.took_too_long(within)),
        };
        let (draft, agreed) = opened.map_err(|error| (error, opening.words()))?;
        let (connection, listening) = Self::begin(draft, agreed);
        // What a server asks or changes before it is listened to is lost. One that leaves the
        // question for the stream open is not waited for.
        let _ = timeout(LISTEN_WITHIN, listening).await;
        Ok(connection)
    }

    /// Begins what runs for as long as the connection does. The receiver hears, or is dropped,
    /// when the server is listened to.
    fn begin(draft: Draft, agreed: Agreed) -> (Self, oneshot::Receiver<()>) {
        let Draft { inner, mut tasks } = draft;
        let peer = agreed.peer.clone();
        let stateless = agreed.revision().is_stateless();
        inner.agree(agreed);
        let (wishes, wished) = watch::channel(Wish::default());
        let (trying, tried) = watch::channel(Tried::default());
        let (awaited, listening) = oneshot::channel();
        let awaited = Awaited::new(awaited);
        if stateless {
            tasks.spawn(listen::subscribe(inner.clone(), wished, trying, awaited));
        } else if !inner.is_pipe() {
            tasks.spawn(listen::general(inner.clone(), awaited));
        }
        let watching = Watching::new(wishes, tried);
        (Self { peer, inner, watching, tasks: Mutex::new(tasks) }, listening)
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
        line: &dyn RequestHandler,
    ) -> Result<Answer, ClientError> {
        self.inner.request(&request, line).await
    }

    /// The same, of a request that may have to be made again elsewhere.
    pub(crate) fn ask<'a>(
        &'a self,
        request: &'a Request,
        line: &'a dyn RequestHandler,
    ) -> impl Future<Output = Result<Answer, ClientError>> + Send + 'a {
        self.inner.request(request, line)
    }

    /// All pages of a list. A server that does not declare it has an empty one.
    pub async fn list(&self, list: List) -> Result<Listed, ClientError> {
        self.inner.list(list).await
    }

    /// Sets the resources whose changes are to be told. A server that tells of none is left alone.
    pub async fn watch(&self, uris: &BTreeSet<String>) -> Result<(), ClientError> {
        if !self.peer.has(&["resources", "subscribe"]) {
            return Ok(());
        }
        match self.peer.revision.is_stateless() {
            true => self.watching.wish(uris, &self.inner).await,
            false => self.watching.subscribe(uris, &self.inner).await,
        }
    }

    /// Whether the server can tell now of lists that change: over a pipe, a subscription or a stream.
    pub fn is_listened_to(&self) -> bool {
        self.inner.is_listened_to()
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
    pub(crate) async fn outdated(&self) {
        self.inner.outdated.cancelled().await;
    }

    /// Whether that was seen.
    pub(crate) fn is_outdated(&self) -> bool {
        self.inner.outdated.is_cancelled()
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
        match &self.inner.way {
            Transport::Pipe { program: Some(program), .. } => drop(program.stop().await),
            Transport::Pipe { stop, .. } => stop.cancel(),
            Transport::Http { wire, .. } => {
                if self.inner.has_session() {
                    let within = self.inner.settings.grace;
                    let _ = timeout(within, wire.end_session()).await;
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
