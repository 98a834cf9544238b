//! The HTTP doors: one listener, a few paths.

mod accept;
mod alarm;
pub(crate) mod annex;
pub(crate) mod answer;
mod batch;
mod body;
mod call;
mod connection;
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
mod patience;
mod receive;
mod route;
mod send;
mod session;
mod stateless;
mod status;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use crate::lobby::Lobby;
pub(crate) use body::{Body, Given};
use desks::{Desks, Place};
pub(crate) use head::Head;
use legacy_sse::Mailboxes;
pub use names::Names;
pub(crate) use patience::Patient;

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
    connections: Arc<Semaphore>,
    tasks: TaskTracker,
    address: SocketAddr,
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
            connections: Arc::new(Semaphore::new(lobby.settings.connections)),
            mailboxes: Mailboxes::default(),
            tasks: TaskTracker::new(),
            address: local,
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
        loop {
            tokio::select! {
                () = stopping.cancelled() => break,
                _ = sweep.tick() => hall.lobby.sweep(),
                accepted = accept(&listener, &hall) => {
                    if let Some((stream, permit)) = accepted {
                        hall.seat(stream, permit, desks.place());
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

/// Waits for a place, then for a client: beyond the limit, clients wait in the system's queue.
async fn accept(listener: &TcpListener, hall: &Hall) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = hall.connections.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Answers are small and must not wait for company.
            let _ = stream.set_nodelay(true);
            Some((stream, permit))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            // Most often too many open files: give some time to be closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

impl Hall {
    /// Has a connection served at its place, or right here.
    fn seat(
        self: &Arc<Self>,
        stream: TcpStream,
        permit: OwnedSemaphorePermit,
        place: Option<Place>,
    ) {
        let hall = self.clone();
        let Some(place) = place else {
            self.tasks.spawn(hall.connection(stream, permit));
            return;
        };
        let runtime = place.runtime().clone();
        // The runtime that accepted it is not the one that will wait for its bytes.
        let stream = stream.into_std();
        let serving = async move {
            match stream.and_then(TcpStream::from_std) {
                Ok(stream) => hall.connection(stream, permit).await,
                Err(error) => tracing::warn!(%error, "a connection could not be taken over"),
            }
            drop(place);
        };
        self.tasks.spawn_on(serving, &runtime);
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, permit: OwnedSemaphorePermit) {
        connection::serve(self, stream).await;
        drop(permit);
    }

    /// Runs something that may outlive the request that started it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}
