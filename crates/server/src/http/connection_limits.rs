//! Connection limits: in all, per peer address, per principal, and before authentication. In all they
//! are also bounded by what the limit of open files leaves after a reserve.
//!
//! At a limit, the oldest connection without an authenticated request is closed, and if there is none,
//! an idle one of the principal that has the most. Rejecting the new connection instead would let
//! whoever opens many keep everybody else out. A connection is closed by aborting its task, so that
//! requests need not check for it.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::settings::Settings;

/// Connections that may be open beyond the limit while evicted ones are being closed.
const CLOSING: usize = 16;

/// How often a listener at its limit looks for connections that have become idle.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The minimum of connections, however few files may be open.
const MIN_CONNECTIONS: u64 = 8;

/// The limits and open connections of one listener.
#[derive(Debug)]
pub(super) struct ConnectionLimiter {
    total: usize,
    of_peer: usize,
    of_principal: usize,
    unauthenticated: usize,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    open: usize,
    peers: HashMap<IpAddr, usize>,
    /// Connections without an authenticated request, oldest first.
    unauthenticated: BTreeMap<u64, Open>,
    /// All others.
    authenticated: BTreeMap<u64, Open>,
    /// The number of authenticated connections of each principal.
    principals: HashMap<Arc<str>, usize>,
}

/// An open connection.
#[derive(Debug)]
struct Open {
    peer: IpAddr,
    /// The principal of its last authenticated request.
    principal: Option<Arc<str>>,
    is_busy: Arc<AtomicBool>,
    /// Its task, to abort; none until it is spawned.
    task: Option<AbortHandle>,
}

/// The slot of a connection, released when dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    limiter: Arc<ConnectionLimiter>,
    id: u64,
    peer: IpAddr,
    principal: Option<Arc<str>>,
    /// Whether a request is in flight. An atomic, so that requests need no lock for it.
    is_busy: Arc<AtomicBool>,
}

impl ConnectionLimiter {
    /// The limits of the settings, and of the open files that remain after the reserve.
    pub(super) fn new(settings: &Settings, files: u64) -> Self {
        let reserve = (settings.descriptor_reserve as u64).min(files / 2);
        let left = usize::try_from((files - reserve).max(MIN_CONNECTIONS)).unwrap_or(usize::MAX);
        if left < settings.connections {
            tracing::info!(
                connections = left,
                files,
                "the limit of open files bounds the HTTP connections; raise it with `ulimit -n`"
            );
        }
        Self {
            total: settings.connections.min(left),
            of_peer: settings.connections_of_peer,
            of_principal: share(settings.connections.min(left), settings.principal_share),
            unauthenticated: settings.connections_unauthenticated,
            state: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// Only a total limit.
    pub(super) fn with_total(total: usize) -> Self {
        let (state, freed, all) = (Mutex::default(), Notify::new(), usize::MAX);
        Self { total, of_peer: all, of_principal: all, unauthenticated: all, state, freed }
    }

    /// Waits until another connection can be accepted: there is a slot, or one can be evicted.
    pub(super) async fn available(&self) {
        loop {
            let freed = self.freed.notified();
            let is_available = {
                let state = self.state();
                let can_evict =
                    || !state.unauthenticated.is_empty() || state.oldest_idle(|_| true).is_some();
                state.open < self.total + CLOSING && (state.count() < self.total || can_evict())
            };
            if is_available {
                return;
            }
            // Polled: a notification of idle connections would cost every request.
            let _ = timeout(POLL_INTERVAL, freed).await;
        }
    }

    /// Acquires a slot for a connection; none if its peer has too many authenticated and busy ones.
    pub(super) fn acquire(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionSlot> {
        let peer = peer(address);
        let mut state = self.state();
        let of_peer = state.peers.get(&peer).copied().unwrap_or_default();
        if of_peer >= self.of_peer {
            let oldest =
                state.unauthenticated.iter().find(|(_, it)| it.peer == peer).map(|(id, _)| *id);
            let oldest = oldest.or_else(|| state.oldest_idle(|it| it.peer == peer));
            state.evict(oldest?);
        } else if state.unauthenticated.len() >= self.unauthenticated || state.count() >= self.total
        {
            let oldest = state.unauthenticated.keys().next().copied();
            let oldest = oldest.or_else(|| state.oldest_idle(|_| true));
            oldest.into_iter().for_each(|id| state.evict(id));
        }
        let id = state.next;
        state.next += 1;
        state.open += 1;
        *state.peers.entry(peer).or_default() += 1;
        let is_busy = Arc::new(AtomicBool::new(false));
        let open = Open { peer, principal: None, is_busy: is_busy.clone(), task: None };
        state.unauthenticated.insert(id, open);
        Some(ConnectionSlot { limiter: self.clone(), id, peer, principal: None, is_busy })
    }

    /// Sets the task of a connection, so that it can be aborted.
    pub(super) fn set_task(&self, id: u64, task: AbortHandle) {
        let mut state = self.state();
        // It may have authenticated already, on another thread.
        let State { unauthenticated, authenticated, .. } = &mut *state;
        if let Some(open) = unauthenticated.get_mut(&id).or_else(|| authenticated.get_mut(&id)) {
            open.task = Some(task);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Closes a connection. Its slot is released when its task ends.
    fn evict(&mut self, id: u64) {
        let Some(open) = self.remove(id) else { return };
        count_down(&mut self.peers, &open.peer);
        if let Some(task) = open.task {
            task.abort();
        }
    }

    fn remove(&mut self, id: u64) -> Option<Open> {
        let open = self.unauthenticated.remove(&id).or_else(|| self.authenticated.remove(&id))?;
        if let Some(principal) = &open.principal {
            count_down(&mut self.principals, principal);
        }
        Some(open)
    }

    /// Open connections, without evicted ones.
    fn count(&self) -> usize {
        self.unauthenticated.len() + self.authenticated.len()
    }

    /// The oldest idle connection that matches, of the principal that has the most.
    fn oldest_idle(&self, matches: impl Fn(&Open) -> bool) -> Option<u64> {
        let idle = |(_, it): &(&u64, &Open)| {
            it.task.is_some() && !it.is_busy.load(Ordering::Acquire) && matches(it)
        };
        let held = |it: &Open| it.principal.as_ref().and_then(|it| self.principals.get(it));
        let most = |(id, it): &(&u64, &Open)| (held(it).copied(), std::cmp::Reverse(**id));
        self.authenticated.iter().filter(idle).max_by_key(most).map(|(id, _)| *id)
    }
}

impl ConnectionSlot {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Records an authenticated request of this principal. Returns false if the connection was evicted
    /// already. A principal beyond its share loses its oldest idle connection.
    pub(super) fn authenticate(&mut self, principal: &Arc<str>) -> bool {
        if self.principal.as_ref() == Some(principal) {
            return true;
        }
        let mut state = self.limiter.state();
        let Some(mut open) = state.remove(self.id) else { return false };
        let own = *state.principals.entry(principal.clone()).and_modify(|it| *it += 1).or_insert(1);
        open.principal = Some(principal.clone());
        self.principal = Some(principal.clone());
        state.authenticated.insert(self.id, open);
        if own > self.limiter.of_principal {
            let oldest = state.oldest_idle(|it| it.principal.as_ref() == Some(principal));
            oldest.filter(|id| *id != self.id).into_iter().for_each(|id| state.evict(id));
        }
        true
    }

    /// Records whether a request is in flight: a busy connection is not evicted.
    pub(super) fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Release);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        state.open -= 1;
        if state.remove(self.id).is_some() {
            count_down(&mut state.peers, &self.peer);
        }
        drop(state);
        self.limiter.freed.notify_one();
    }
}

fn count_down<K: Eq + std::hash::Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// The share of a principal, at least one.
fn share(total: usize, percent: u8) -> usize {
    (total.saturating_mul(percent.into()) / 100).max(1)
}

/// What counts as one peer: an IPv4 address, or a /64 network of IPv6.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & (u128::MAX << 64);
            if address.is_loopback() { address.into() } else { Ipv6Addr::from(network).into() }
        }
        address => address,
    }
}

#[cfg(test)]
mod tests;
