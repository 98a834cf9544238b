//! Ends what was opened with a credential as soon as it is revoked or expires.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gantry_gateway::TokenLease;
use tokio_util::sync::CancellationToken;

use crate::server_state::ServerState;

/// The credentials whose end is waited for.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// By their address, which is theirs for as long as somebody waits for their end.
    watched: Mutex<HashSet<usize>>,
    /// Says that the server stops. An endpoint that is closed earlier must not end the waiting, for
    /// others have credentials in common with it.
    stopping: CancellationToken,
}

impl Credentials {
    /// No credentials yet.
    pub(crate) fn new(stopping: CancellationToken) -> Self {
        Self { watched: Mutex::default(), stopping }
    }

    fn watched(&self) -> MutexGuard<'_, HashSet<usize>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerState {
    /// Ends the sessions and the parked calls of a credential when it is over. To be called before
    /// something is kept; who keeps it then looks whether the credential has ended meanwhile.
    /// Streams, connections and tasks wait for that themselves.
    pub(crate) fn watch_credential(&self, lease: &Arc<TokenLease>) {
        let address = Arc::as_ptr(lease).addr();
        if !self.credentials.watched().insert(address) {
            return;
        }
        let (credentials, settings) = (self.credentials.clone(), self.settings.clone());
        let (sessions, parking, lease) =
            (self.sessions.clone(), self.parking.clone(), lease.clone());
        self.tasks.spawn(async move {
            let over = credentials.stopping.run_until_cancelled(lease.over()).await;
            if over.is_some() {
                // One that has expired is marked too, so that nothing is kept for it from here on.
                lease.end();
                sessions.end_credential(&settings, &lease);
                parking.end_credential(&lease);
            }
            credentials.watched().remove(&address);
        });
    }
}
