//! The control socket: mounted pages for the user who runs the gateway, over a Unix socket. Whoever
//! connects is known by the credentials that the kernel reports, so no request carries a token.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::Caller;
use tokio::net::{UnixListener, UnixStream};
use tokio_util::task::TaskTracker;

use super::annex::Annexes;
use super::budget::ReceiveBudget;
use super::legacy_sse::Mailboxes;
use super::refusals::RefusalLog;
use super::slots::Slots;
use super::{Hall, connection};
use crate::lobby::Lobby;

/// How long to wait after a failed accept, most often for open files to be closed.
const RETRY: Duration = Duration::from_millis(100);

/// A control socket, listening.
#[derive(Debug)]
pub struct ControlServer {
    hall: Arc<Hall>,
    listener: UnixListener,
    owner: u32,
}

impl ControlServer {
    /// Serves these pages, and nothing else, to processes of the user with id `owner` and to root.
    pub fn new(lobby: Arc<Lobby>, listener: UnixListener, pages: Annexes, owner: u32) -> Self {
        let hall = Hall {
            slots: Arc::new(Slots::of_one_peer(lobby.settings.control_connections)),
            budget: Arc::new(ReceiveBudget::new(&lobby.settings)),
            refusals: Arc::new(RefusalLog::new(&lobby.settings)),
            mailboxes: Mailboxes::default(),
            tasks: TaskTracker::new(),
            // There is no address; nothing on this listener looks at it.
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            control: Some(pages),
            lobby,
        };
        Self { hall: Arc::new(hall), listener, owner }
    }

    /// Serves until the server stops, then lets requests in progress end.
    pub async fn serve(self) {
        let Self { hall, listener, owner } = self;
        let stopping = hall.lobby.stopping.clone();
        let local = Caller::LOCAL.into();
        loop {
            let accepted = async {
                hall.slots.room().await;
                accept(&listener, owner).await
            };
            let accepted = tokio::select! {
                () = stopping.cancelled() => break,
                accepted = accepted => accepted,
            };
            // Every peer here is authenticated already, so that none is closed to make room.
            let slot = hall.slots.admit(Ipv4Addr::LOCALHOST.into());
            if let (Some(stream), Some(mut slot)) = (accepted, slot)
                && slot.authenticate(&local)
            {
                hall.tasks.spawn(connection::serve(hall.clone(), stream, slot));
            }
        }
        drop(listener);
        hall.tasks.close();
        hall.lobby.drained(hall.tasks.wait()).await;
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
