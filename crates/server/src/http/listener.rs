//! The TCP listener: accepts connections and assigns each to a worker, until the server stops.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gantry_transport::descriptors;
use tokio::net::{TcpListener, TcpStream};

use crate::http::connection_limits::ConnectionLimiter;
use crate::http::worker_pool::{Assignment, WorkerPool};
use crate::http::{HttpState, connection};
use crate::server_state::ServerState;

/// How often expired sessions and parked calls are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);
/// The pause after a failed accept. Most often there are too many open files: some may be closed.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Why the HTTP server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is not a loopback address, and clients are not authenticated.
    #[error(
        "refusing to listen on {0}: other machines can reach it and clients are not \
         authenticated; set `auth` to `token`, or listen on 127.0.0.1 instead"
    )]
    Exposed(SocketAddr),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: String,
        /// The cause.
        error: std::io::Error,
    },
}

/// The HTTP server, listening.
#[derive(Debug)]
pub struct HttpServer {
    http_state: Arc<HttpState>,
    listener: TcpListener,
}

impl HttpServer {
    /// Binds an address of this machine. Without authentication it must be a loopback address.
    pub async fn bind(server_state: Arc<ServerState>, address: &str) -> Result<Self, ListenError> {
        let failed = |error| ListenError::Bind { address: address.to_owned(), error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        if !local.ip().is_loopback() && !server_state.authenticator().requires_credentials() {
            return Err(ListenError::Exposed(local));
        }
        let limiter = ConnectionLimiter::new(&server_state.settings, descriptors::limit());
        Ok(Self { http_state: HttpState::new(server_state, limiter, local, None), listener })
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.http_state.address
    }

    /// Serves until the server stops, then drains requests in flight.
    pub async fn serve(self) {
        let Self { http_state, listener } = self;
        let stopping = http_state.server_state.stopping.clone();
        let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
        let workers = WorkerPool::start(http_state.server_state.settings.threads);
        // One accepted connection waits for a slot; those behind it wait in the listen backlog.
        let mut waiting = None;
        loop {
            tokio::select! {
                () = stopping.cancelled() => break,
                _ = sweep.tick() => http_state.server_state.sweep(),
                accepted = accept(&listener, &http_state), if waiting.is_none() => waiting = accepted,
                () = http_state.connection_limiter.available(), if waiting.is_some() => {
                    if let Some((stream, peer)) = waiting.take() {
                        spawn_connection(&http_state, stream, peer, workers.assign());
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

async fn accept(listener: &TcpListener, http_state: &HttpState) -> Option<(TcpStream, IpAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Responses are small and must not be delayed by Nagle's algorithm.
            let _ = stream.set_nodelay(true);
            Some((stream, peer.ip()))
        }
        Err(error) => {
            http_state.rejection_log.connection(&error);
            tokio::time::sleep(ACCEPT_RETRY).await;
            None
        }
    }
}

/// Spawns a connection on its worker, or on this runtime if there are no workers. One whose peer
/// has too many connections is closed.
fn spawn_connection(
    http_state: &Arc<HttpState>,
    stream: TcpStream,
    peer: IpAddr,
    assignment: Option<Assignment>,
) {
    let Some(slot) = http_state.connection_limiter.acquire(peer) else {
        http_state.rejection_log.connection(&format_args!("{peer} has too many"));
        return;
    };
    let (limiter, tasks) = (&http_state.connection_limiter, &http_state.tasks);
    let (http_state, id) = (http_state.clone(), slot.id());
    let Some(assignment) = assignment else {
        let task = tasks.spawn(connection::serve(http_state, stream, slot));
        return limiter.set_task(id, task.abort_handle());
    };
    let runtime = assignment.runtime().clone();
    // The stream is registered again with the reactor of its worker: the runtime that accepted it
    // is not the one that will wait for its bytes.
    let stream = stream.into_std();
    let serving = async move {
        match stream.and_then(TcpStream::from_std) {
            Ok(stream) => connection::serve(http_state, stream, slot).await,
            Err(error) => tracing::warn!(%error, "cannot move a connection to its worker"),
        }
        drop(assignment);
    };
    let task = tasks.spawn_on(serving, &runtime);
    limiter.set_task(id, task.abort_handle());
}
