//! The control socket: a Unix socket with mounted handlers (administration) and MCP for the user
//! who runs the gateway. The peer is authenticated by its credentials in the kernel
//! (`SO_PEERCRED`), so no request carries a token.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::Caller;
use tokio::net::{UnixListener, UnixStream};

use crate::http::connection_limits::ConnectionLimiter;
use crate::http::mount::Mounts;
use crate::http::{HttpState, connection};
use crate::server_state::ServerState;

/// The pause after a failed accept. Most often there are too many open files: some may be closed.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The server of a control socket, listening.
#[derive(Debug)]
pub struct ControlServer {
    http_state: Arc<HttpState>,
    listener: UnixListener,
    owner: u32,
}

impl ControlServer {
    /// Serves `handlers`, and MCP at `/mcp`, to processes of the user with id `owner` and of root.
    pub fn new(
        server_state: Arc<ServerState>,
        listener: UnixListener,
        handlers: Mounts,
        owner: u32,
    ) -> Self {
        let limiter = ConnectionLimiter::with_total(server_state.settings.control_connections);
        // A Unix socket has no address; nothing on this listener uses it.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let http_state = HttpState::new(server_state, limiter, address, Some(handlers));
        Self { http_state, listener, owner }
    }

    /// Serves until the server stops, then drains requests in flight.
    pub async fn serve(self) {
        let Self { http_state, listener, owner } = self;
        let stopping = http_state.server_state.stopping.clone();
        let local = Caller::LOCAL.into();
        loop {
            let accepted = async {
                http_state.connection_limiter.available().await;
                accept(&listener, owner).await
            };
            let accepted = tokio::select! {
                () = stopping.cancelled() => break,
                accepted = accepted => accepted,
            };
            // Every peer here is authenticated already, so that none is closed to make room.
            let slot = http_state.connection_limiter.acquire(Ipv4Addr::LOCALHOST.into());
            if let (Some(stream), Some(mut slot)) = (accepted, slot)
                && slot.authenticate(&local)
            {
                http_state.tasks.spawn(connection::serve(http_state.clone(), stream, slot));
            }
        }
        drop(listener);
        http_state.tasks.close();
        http_state.server_state.drained(http_state.tasks.wait()).await;
    }
}

/// The next authorized peer. Any other is closed before a byte is read.
async fn accept(listener: &UnixListener, owner: u32) -> Option<UnixStream> {
    let stream = match listener.accept().await {
        Ok((stream, _)) => stream,
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection to the control socket");
            tokio::time::sleep(ACCEPT_RETRY).await;
            return None;
        }
    };
    match stream.peer_cred().map(|peer| peer.uid()) {
        Ok(uid) if uid == owner || uid == 0 => Some(stream),
        Ok(uid) => {
            tracing::warn!(uid, "rejected another user at the control socket");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "rejected a peer without credentials at the control socket");
            None
        }
    }
}
