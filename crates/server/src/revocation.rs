//! Token revocation: ends the sessions and parked calls of a token as soon as it is revoked or
//! expires. Streams, connections and tasks wait for that themselves.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gantry_gateway::TokenLease;
use tokio_util::sync::CancellationToken;

use crate::server_state::ServerState;

/// Watches tokens.
#[derive(Debug)]
pub(crate) struct RevocationWatcher {
    /// The addresses of watched leases. Their tasks hold the leases, so no address is reused.
    watched: Mutex<HashSet<usize>>,
    /// Cancelled when the server stops. A virtual server that is closed earlier must not end the
    /// watch: other endpoints share the tokens.
    stopping: CancellationToken,
}

impl RevocationWatcher {
    pub(crate) fn new(stopping: CancellationToken) -> Self {
        Self { watched: Mutex::default(), stopping }
    }

    /// Watches a token. To be called before something of it is stored; the caller then checks, with
    /// its table locked, whether the token was revoked meanwhile.
    pub(crate) fn watch(self: &Arc<Self>, server_state: &ServerState, lease: &Arc<TokenLease>) {
        let address = Arc::as_ptr(lease).addr();
        if !self.watched().insert(address) {
            return;
        }
        let (watcher, settings) = (self.clone(), server_state.settings.clone());
        let (sessions, parked_calls) =
            (server_state.sessions.clone(), server_state.parked_calls.clone());
        let lease = lease.clone();
        server_state.tasks.spawn(async move {
            let over = watcher.stopping.run_until_cancelled(lease.over()).await;
            if over.is_some() {
                // An expired token is marked as ended too, so that nothing is stored for it later.
                lease.end();
                sessions.end_credential(&settings, &lease);
                parked_calls.end_credential(&lease);
            }
            watcher.watched().remove(&address);
        });
    }

    fn watched(&self) -> MutexGuard<'_, HashSet<usize>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
