//! The control socket: mounted pages for the user who runs the gateway, over a Unix socket. Whoever
//! connects is known by the credentials that the kernel reports, so no request carries a token.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::Caller;
use tokio::net::{UnixListener, UnixStream};
use tokio_util::task::TaskTracker;

use super::budget::ReceiveBudget;
use super::handler::Mounts;
use super::legacy_sse::Mailboxes;
use super::refusals::RefusalLog;
use super::slots::Slots;
use super::{HttpState, connection};
use crate::server_state::ServerState;

/// How long to wait after a failed accept, most often for open files to be closed.
const RETRY: Duration = Duration::from_millis(100);

/// A control socket, listening.
#[derive(Debug)]
pub struct ControlServer {
    http_state: Arc<HttpState>,
    listener: UnixListener,
    owner: u32,
}

impl ControlServer {
    /// Serves these pages, and nothing else, to processes of the user with id `owner` and to root.
    pub fn new(
        server_state: Arc<ServerState>,
        listener: UnixListener,
        pages: Mounts,
        owner: u32,
    ) -> Self {
        let http_state = HttpState {
            slots: Arc::new(Slots::of_one_peer(server_state.settings.control_connections)),
            budget: Arc::new(ReceiveBudget::new(&server_state.settings)),
            sending: Arc::new(ReceiveBudget::of_answers(&server_state.settings)),
            refusals: Arc::new(RefusalLog::new(&server_state.settings)),
            mailboxes: Mailboxes::default(),
            tasks: TaskTracker::new(),
            // There is no address; nothing on this listener looks at it.
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            control: Some(pages),
            server_state,
        };
        Self { http_state: Arc::new(http_state), listener, owner }
    }

    /// Serves until the server stops, then lets requests in progress end.
    pub async fn serve(self) {
        let Self { http_state, listener, owner } = self;
        let stopping = http_state.server_state.stopping.clone();
        let local = Caller::LOCAL.into();
        loop {
            let accepted = async {
                http_state.slots.room().await;
                accept(&listener, owner).await
            };
            let accepted = tokio::select! {
                () = stopping.cancelled() => break,
                accepted = accepted => accepted,
            };
            // Every peer here is authenticated already, so that none is closed to make room.
            let slot = http_state.slots.acquire(Ipv4Addr::LOCALHOST.into());
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

/// The next peer that may use the socket. One that may not is closed before a byte is read.
async fn accept(listener: &UnixListener, owner: u32) -> Option<UnixStream> {
    let stream = match listener.accept().await {
        Ok((stream, _)) => stream,
        Err(error) => {
            tracing::warn!(%error, "a connection to the control socket could not be accepted");
            tokio::time::sleep(RETRY).await;
            return None;
        }
    };
    match stream.peer_cred().map(|peer| peer.uid()) {
        Ok(uid) if uid == owner || uid == 0 => Some(stream),
        Ok(uid) => {
            tracing::warn!(uid, "another user was refused at the control socket");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "a peer without credentials was refused at the control socket");
            None
        }
    }
}
