//! The HTTP doors: one listener, a few paths.

mod accept;
mod alarm;
pub(crate) mod annex;
pub(crate) mod answer;
mod batch;
mod body;
mod budget;
mod call;
mod connection;
mod control;
mod date;
mod desks;
mod endpoint;
mod entrance;
mod events;
mod faces;
mod flight;
mod guard;
mod head;
mod legacy_sse;
mod names;
mod pace;
mod patience;
mod receive;
mod refusals;
mod route;
mod send;
mod session;
mod slots;
mod stateless;
mod status;
mod stream;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gantry_transport::descriptors;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use crate::lobby::Lobby;
pub(crate) use body::Body;
pub(crate) use budget::{Charge, ReceiveBudget};
pub use control::ControlServer;
use desks::{Desks, Place};
pub(crate) use head::Head;
use legacy_sse::Mailboxes;
pub use names::Names;
pub(crate) use pace::Pace;
pub(crate) use patience::Patient;
use refusals::RefusalLog;
use slots::Slots;

/// Why the door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Other machines could reach it, and nobody is asked who they are.
    #[error(
        "refusing to listen on {0}: other machines can reach it and clients are not \
         authenticated; set `auth` to `token`, or listen on 127.0.0.1 instead"
    )]
    Exposed(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: String,
        /// Why.
        error: std::io::Error,
    },
}

/// How often what has waited too long is forgotten.
const SWEEP: Duration = Duration::from_secs(30);

/// The HTTP doors, listening.
#[derive(Debug)]
pub struct HttpServer {
    hall: Arc<Hall>,
    listener: TcpListener,
}

/// What the HTTP doors share.
#[derive(Debug)]
pub(crate) struct Hall {
    pub(crate) lobby: Arc<Lobby>,
    mailboxes: Mailboxes,
    slots: Arc<Slots>,
    pub(crate) budget: Arc<ReceiveBudget>,
    refusals: Arc<RefusalLog>,
    tasks: TaskTracker,
    address: SocketAddr,
    /// The only pages that are served, if this is the listener of the control socket.
    control: Option<annex::Annexes>,
}

impl HttpServer {
    /// Listens on an address of this machine. Unless people are asked who they are, it must be
    /// one that no other machine can reach.
    pub async fn bind(lobby: Arc<Lobby>, address: &str) -> Result<Self, ListenError> {
        let failed = |error| ListenError::Bind { address: address.to_owned(), error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        if !local.ip().is_loopback() && !lobby.doorman().asks() {
            return Err(ListenError::Exposed(local));
        }
        let hall = Hall {
            slots: Arc::new(Slots::new(&lobby.settings, descriptors::limit())),
            budget: Arc::new(ReceiveBudget::new(&lobby.settings)),
            refusals: Arc::new(RefusalLog::new(&lobby.settings)),
            mailboxes: Mailboxes::default(),
            tasks: TaskTracker::new(),
            address: local,
            control: None,
            lobby,
        };
        Ok(Self { hall: Arc::new(hall), listener })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.hall.address
    }

    /// Serves until the lobby stops, then lets what is under way end.
    pub async fn serve(self) {
        let Self { hall, listener } = self;
        let stopping = hall.lobby.stopping.clone();
        let mut sweep = tokio::time::interval(SWEEP);
        let desks = Desks::start(hall.lobby.settings.threads);
        // A client that waits for a place; those behind it wait in the system's queue.
        let mut waiting = None;
        loop {
            tokio::select! {
                () = stopping.cancelled() => break,
                _ = sweep.tick() => hall.lobby.sweep(),
                accepted = accept(&listener, &hall), if waiting.is_none() => waiting = accepted,
                () = hall.slots.room(), if waiting.is_some() => {
                    if let Some((stream, peer)) = waiting.take() {
                        hall.seat(stream, peer, desks.place());
                    }
                }
            }
        }
        drop(listener);
        hall.tasks.close();
        hall.lobby.drained(hall.tasks.wait()).await;
        desks.close().await;
    }
}

/// Waits for a client.
async fn accept(listener: &TcpListener, hall: &Hall) -> Option<(TcpStream, IpAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Answers are small and must not wait for company.
            let _ = stream.set_nodelay(true);
            Some((stream, peer.ip()))
        }
        Err(error) => {
            hall.refusals.connection(&error);
            // Most often too many open files: give some time to be closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

impl Hall {
    /// Has a connection served at its place, or right here, unless its peer has too many.
    fn seat(self: &Arc<Self>, stream: TcpStream, peer: IpAddr, place: Option<Place>) {
        let Some(slot) = self.slots.admit(peer) else {
            self.refusals.connection(&format_args!("{peer} has too many"));
            return;
        };
        let (hall, id) = (self.clone(), slot.id());
        let Some(place) = place else {
            let task = self.tasks.spawn(connection::serve(hall, stream, slot));
            self.slots.served_by(id, task.abort_handle());
            return;
        };
        let runtime = place.runtime().clone();
        // The runtime that accepted it is not the one that will wait for its bytes.
        let stream = stream.into_std();
        let serving = async move {
            match stream.and_then(TcpStream::from_std) {
                Ok(stream) => connection::serve(hall, stream, slot).await,
                Err(error) => tracing::warn!(%error, "a connection could not be taken over"),
            }
            drop(place);
        };
        let task = self.tasks.spawn_on(serving, &runtime);
        self.slots.served_by(id, task.abort_handle());
    }

    /// Runs something that may outlive the request that started it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}
