//! The HTTP doors: one listener, a few paths.

mod accept;
mod allowed_hosts;
pub(crate) mod answer;
mod auth;
mod batch;
mod body;
mod budget;
mod call;
mod connection;
mod control;
mod date;
mod endpoint;
mod events;
pub(crate) mod handler;
mod head;
mod legacy_sse;
mod origin_check;
mod pace;
mod receive;
mod refusals;
mod route;
mod send;
mod session;
mod session_call;
mod slots;
mod stateless;
mod status;
mod stream;
mod timer;
mod virtual_servers;
mod workers;
mod write_timeout;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gantry_transport::descriptors;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use crate::server_state::ServerState;
pub use allowed_hosts::AllowedHosts;
pub(crate) use body::Body;
pub(crate) use budget::{Charge, ReceiveBudget};
pub use control::ControlServer;
pub(crate) use head::Head;
use legacy_sse::Mailboxes;
pub(crate) use pace::Pace;
use refusals::RefusalLog;
use slots::Slots;
use workers::{Place, WorkerPool};
pub(crate) use write_timeout::WriteTimeout;

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
    http_state: Arc<HttpState>,
    listener: TcpListener,
}

/// What the HTTP doors share.
#[derive(Debug)]
pub(crate) struct HttpState {
    pub(crate) server_state: Arc<ServerState>,
    mailboxes: Mailboxes,
    slots: Arc<Slots>,
    pub(crate) budget: Arc<ReceiveBudget>,
    /// What is being sent.
    pub(crate) sending: Arc<ReceiveBudget>,
    refusals: Arc<RefusalLog>,
    tasks: TaskTracker,
    address: SocketAddr,
    /// The only pages that are served, if this is the listener of the control socket.
    control: Option<handler::Mounts>,
}

impl HttpServer {
    /// Listens on an address of this machine. Unless people are asked who they are, it must be
    /// one that no other machine can reach.
    pub async fn bind(server_state: Arc<ServerState>, address: &str) -> Result<Self, ListenError> {
        let failed = |error| ListenError::Bind { address: address.to_owned(), error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        if !local.ip().is_loopback() && !server_state.authenticator().requires_credentials() {
            return Err(ListenError::Exposed(local));
        }
        let http_state = HttpState {
            slots: Arc::new(Slots::new(&server_state.settings, descriptors::limit())),
            budget: Arc::new(ReceiveBudget::new(&server_state.settings)),
            sending: Arc::new(ReceiveBudget::of_answers(&server_state.settings)),
            refusals: Arc::new(RefusalLog::new(&server_state.settings)),
            mailboxes: Mailboxes::default(),
            tasks: TaskTracker::new(),
            address: local,
            control: None,
            server_state,
        };
        Ok(Self { http_state: Arc::new(http_state), listener })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.http_state.address
    }

    /// Serves until the lobby stops, then lets what is under way end.
    pub async fn serve(self) {
        let Self { http_state, listener } = self;
        let stopping = http_state.server_state.stopping.clone();
        let mut sweep = tokio::time::interval(SWEEP);
        let workers = WorkerPool::start(http_state.server_state.settings.threads);
        // A client that waits for a place; those behind it wait in the system's queue.
        let mut waiting = None;
        loop {
            tokio::select! {
                () = stopping.cancelled() => break,
                _ = sweep.tick() => http_state.server_state.sweep(),
                accepted = accept(&listener, &http_state), if waiting.is_none() => waiting = accepted,
                () = http_state.slots.room(), if waiting.is_some() => {
                    if let Some((stream, peer)) = waiting.take() {
                        http_state.seat(stream, peer, workers.place());
                    }
                }
            }
        }
        drop(listener);
        http_state.tasks.close();
        http_state.server_state.drained(http_state.tasks.wait()).await;
        workers.close().await;
    }
}

/// Waits for a client.
async fn accept(listener: &TcpListener, http_state: &HttpState) -> Option<(TcpStream, IpAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Answers are small and must not wait for company.
            let _ = stream.set_nodelay(true);
            Some((stream, peer.ip()))
        }
        Err(error) => {
            http_state.refusals.connection(&error);
            // Most often too many open files: give some time to be closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

impl HttpState {
    /// Has a connection served at its place, or right here, unless its peer has too many.
    fn seat(self: &Arc<Self>, stream: TcpStream, peer: IpAddr, place: Option<Place>) {
        let Some(slot) = self.slots.acquire(peer) else {
            self.refusals.connection(&format_args!("{peer} has too many"));
            return;
        };
        let (http_state, id) = (self.clone(), slot.id());
        let Some(place) = place else {
            let task = self.tasks.spawn(connection::serve(http_state, stream, slot));
            self.slots.served_by(id, task.abort_handle());
            return;
        };
        let runtime = place.runtime().clone();
        // The runtime that accepted it is not the one that will wait for its bytes.
        let stream = stream.into_std();
        let serving = async move {
            match stream.and_then(TcpStream::from_std) {
                Ok(stream) => connection::serve(http_state, stream, slot).await,
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
