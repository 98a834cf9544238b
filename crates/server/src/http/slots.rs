//! Places for connections: in all, for each peer address, for each principal, and before
//! authentication. Where there is no place left, the connection that has waited longest without
//! authenticating makes room, and if all have, one that is idle of the principal that has most of
//! them: connections that do nothing keep nobody else out.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::settings::Settings;

/// Connections that may be open beyond the limit while those that made room are being closed.
const CLOSING: usize = 16;

/// How often a listener without a place left looks for connections that have become idle.
const LOOK: Duration = Duration::from_millis(100);

/// The fewest connections that are served, however few files may be open.
const FEWEST: u64 = 8;

/// The places of one listener.
#[derive(Debug)]
pub(super) struct Slots {
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
    /// Connections that have not authenticated, in the order in which they came.
    waiting: BTreeMap<u64, Open>,
    /// Those that have.
    authenticated: BTreeMap<u64, Open>,
    /// How many of them each principal has.
    principals: HashMap<Arc<str>, usize>,
}

/// An open connection.
#[derive(Debug)]
struct Open {
    peer: IpAddr,
    /// Who made its last request that was authenticated.
    principal: Option<Arc<str>>,
    is_busy: Arc<AtomicBool>,
    /// Ends it; none until it is being served.
    task: Option<AbortHandle>,
}

/// A connection's place, given back when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    id: u64,
    peer: IpAddr,
    /// Who is known to use it.
    principal: Option<Arc<str>>,
    /// Whether a request is being served: its own flag, so that no request takes a lock for it.
    is_busy: Arc<AtomicBool>,
}

impl Slots {
    /// As many as the settings say, and no more than the limit of open files leaves after the
    /// reserve for everything else.
    pub(super) fn new(settings: &Settings, files: u64) -> Self {
        let reserve = (settings.descriptor_reserve as u64).min(files / 2);
        let left = usize::try_from((files - reserve).max(FEWEST)).unwrap_or(usize::MAX);
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

    /// So many, whoever has them.
    pub(super) fn of_one_peer(total: usize) -> Self {
        let (state, freed, all) = (Mutex::default(), Notify::new(), usize::MAX);
        Self { total, of_peer: all, of_principal: all, unauthenticated: all, state, freed }
    }

    /// Waits until another connection can be taken: there is a place, or one that can be cleared.
    pub(super) async fn room(&self) {
        loop {
            let freed = self.freed.notified();
            let has_room = {
                let state = self.state();
                let clears = || !state.waiting.is_empty() || state.idle(|_| true).is_some();
                state.open < self.total + CLOSING && (state.kept() < self.total || clears())
            };
            if has_room {
                return;
            }
            // Nobody says when a connection has become idle: that would cost every request.
            let _ = timeout(LOOK, freed).await;
        }
    }

    /// Takes a place for a connection; none if its peer has too many that have authenticated.
    pub(super) fn acquire(self: &Arc<Self>, address: IpAddr) -> Option<Slot> {
        let peer = peer(address);
        let mut state = self.state();
        let of_peer = state.peers.get(&peer).copied().unwrap_or_default();
        if of_peer >= self.of_peer {
            let oldest = state.waiting.iter().find(|(_, it)| it.peer == peer).map(|(id, _)| *id);
            let oldest = oldest.or_else(|| state.idle(|it| it.peer == peer));
            state.clear(oldest?);
        } else if state.waiting.len() >= self.unauthenticated || state.kept() >= self.total {
            let oldest = state.waiting.keys().next().copied();
            let oldest = oldest.or_else(|| state.idle(|_| true));
            oldest.into_iter().for_each(|id| state.clear(id));
        }
        let id = state.next;
        state.next += 1;
        state.open += 1;
        *state.peers.entry(peer).or_default() += 1;
        let is_busy = Arc::new(AtomicBool::new(false));
        let open = Open { peer, principal: None, is_busy: is_busy.clone(), task: None };
        state.waiting.insert(id, open);
        Some(Slot { slots: self.clone(), id, peer, principal: None, is_busy })
    }

    /// Says which task serves a connection, so that it can be ended.
    pub(super) fn served_by(&self, id: u64, task: AbortHandle) {
        let mut state = self.state();
        // It may have authenticated already, on another thread.
        let State { waiting, authenticated, .. } = &mut *state;
        if let Some(open) = waiting.get_mut(&id).or_else(|| authenticated.get_mut(&id)) {
            open.task = Some(task);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends a connection. Its place is free when it is gone.
    fn clear(&mut self, id: u64) {
        let Some(open) = self.remove(id) else { return };
        count_down(&mut self.peers, &open.peer);
        if let Some(task) = open.task {
            task.abort();
        }
    }

    fn remove(&mut self, id: u64) -> Option<Open> {
        let open = self.waiting.remove(&id).or_else(|| self.authenticated.remove(&id))?;
        if let Some(principal) = &open.principal {
            count_down(&mut self.principals, principal);
        }
        Some(open)
    }

    /// Open connections without those that are being closed.
    fn kept(&self) -> usize {
        self.waiting.len() + self.authenticated.len()
    }

    /// The oldest connection that is idle and can be ended, of the principal that has most of them.
    fn idle(&self, is_meant: impl Fn(&Open) -> bool) -> Option<u64> {
        let idle = |(_, it): &(&u64, &Open)| {
            it.task.is_some() && !it.is_busy.load(Ordering::Acquire) && is_meant(it)
        };
        let held = |it: &Open| it.principal.as_ref().and_then(|it| self.principals.get(it));
        let most = |(id, it): &(&u64, &Open)| (held(it).copied(), std::cmp::Reverse(**id));
        self.authenticated.iter().filter(idle).max_by_key(most).map(|(id, _)| *id)
    }
}

impl Slot {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Says that a request of this principal was authenticated. False if the connection has made
    /// room for another already. A principal that has its share of connections gives up an idle one.
    pub(super) fn authenticate(&mut self, principal: &Arc<str>) -> bool {
        if self.principal.as_ref() == Some(principal) {
            return true;
        }
        let mut state = self.slots.state();
        let Some(mut open) = state.remove(self.id) else { return false };
        let own = *state.principals.entry(principal.clone()).and_modify(|it| *it += 1).or_insert(1);
        open.principal = Some(principal.clone());
        self.principal = Some(principal.clone());
        state.authenticated.insert(self.id, open);
        if own > self.slots.of_principal {
            let oldest = state.idle(|it| it.principal.as_ref() == Some(principal));
            oldest.filter(|id| *id != self.id).into_iter().for_each(|id| state.clear(id));
        }
        true
    }

    /// Says whether a request is being served: one that is makes room for nobody.
    pub(super) fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Release);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.slots.state();
        state.open -= 1;
        if state.remove(self.id).is_some() {
            count_down(&mut state.peers, &self.peer);
        }
        drop(state);
        self.slots.freed.notify_one();
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

/// A part of all connections, at least one.
fn share(total: usize, percent: u8) -> usize {
    (total.saturating_mul(percent.into()) / 100).max(1)
}

/// Who is counted as one peer: an address, or the network of an address that is one of very many.
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
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn slots(total: usize, of_peer: usize, unauthenticated: usize) -> Arc<Slots> {
        let settings = Settings {
            connections: total,
            connections_of_peer: of_peer,
            connections_unauthenticated: unauthenticated,
            ..Settings::default()
        };
        Arc::new(Slots::new(&settings, u64::MAX))
    }

    fn address(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    #[test]
    fn the_oldest_that_has_not_authenticated_makes_room() {
        // Limits, peers as they come (whether each authenticates), and who is left of them.
        type Case = ((usize, usize, usize), &'static [(u8, bool)], &'static [bool]);
        let cases: [Case; 6] = [
            ((2, 9, 9), &[(1, false), (2, false), (3, false)], &[false, true, true]),
            ((2, 9, 9), &[(1, true), (2, false), (3, false)], &[true, false, true]),
            ((9, 9, 1), &[(1, true), (2, false), (3, true)], &[true, false, true]),
            ((9, 1, 9), &[(1, false), (2, false), (2, false)], &[true, false, true]),
            ((9, 1, 9), &[(1, true), (2, true), (2, false)], &[true, true, false]),
            ((9, 2, 9), &[(1, false), (1, true), (1, false)], &[false, true, true]),
        ];
        for ((total, of_peer, unauthenticated), comers, expected) in cases {
            let slots = slots(total, of_peer, unauthenticated);
            let mut open = Vec::new();
            let ada: Arc<str> = "ada".into();
            for (number, authenticates) in comers {
                let mut slot = slots.acquire(address(*number));
                if *authenticates {
                    let authenticated = slot.as_mut().is_some_and(|slot| slot.authenticate(&ada));
                    assert!(authenticated, "{comers:?}");
                }
                open.push(slot);
            }
            let mut is_left =
                |slot: &mut Option<Slot>| slot.as_mut().is_some_and(|slot| slot.authenticate(&ada));
            let left: Vec<bool> = open.iter_mut().map(&mut is_left).collect();
            assert_eq!(left, expected, "{comers:?}");
            drop(open);
            let state = slots.state();
            assert_eq!((state.open, state.peers.len(), state.waiting.len()), (0, 0, 0));
            assert_eq!((state.authenticated.len(), state.principals.len()), (0, 0));
        }
    }

    #[tokio::test]
    async fn idle_connections_of_the_largest_holder_make_room() {
        // Connections as they are open (who, whether busy), then which is closed for another one.
        type Case = (&'static [(&'static str, bool)], Option<usize>);
        let cases: [Case; 5] = [
            (&[("ada", false), ("bob", false), ("bob", false)], Some(1)),
            (&[("bob", false), ("ada", false), ("ada", true)], Some(1)),
            (&[("ada", true), ("ada", true), ("bob", false)], Some(2)),
            (&[("ada", true), ("ada", true), ("bob", true)], None),
            (&[("ada", false), ("bob", false), ("eve", false)], Some(0)),
        ];
        for (open, expected) in cases {
            let slots = slots(9, 3, 9);
            let mut held = Vec::new();
            for (principal, is_busy) in open {
                let mut slot = slots.acquire(address(1)).expect("a place");
                slots.served_by(slot.id(), tokio::spawn(async {}).abort_handle());
                assert!(slot.authenticate(&Arc::from(*principal)));
                slot.set_busy(*is_busy);
                held.push(slot);
            }
            let next = slots.acquire(address(1));
            assert_eq!(next.is_some(), expected.is_some(), "{open:?}");
            let state = slots.state();
            let gone = held.iter().position(|slot| !state.authenticated.contains_key(&slot.id));
            drop(state);
            assert_eq!(gone, expected, "{open:?}");
        }
    }

    #[tokio::test]
    async fn a_principal_has_a_share_of_the_connections() {
        let slots = slots(8, 8, 8);
        let (ada, bob): (Arc<str>, Arc<str>) = ("ada".into(), "bob".into());
        let mut held = Vec::new();
        for principal in [&ada, &ada, &bob, &ada] {
            let mut slot = slots.acquire(address(1)).expect("a place");
            slots.served_by(slot.id(), tokio::spawn(async {}).abort_handle());
            slot.set_busy(principal == &bob);
            assert!(slot.authenticate(principal));
            held.push(slot);
        }
        let state = slots.state();
        let left: Vec<bool> =
            held.iter().map(|slot| state.authenticated.contains_key(&slot.id)).collect();
        assert_eq!(left, [false, true, true, true], "a quarter of eight is two");
    }

    #[tokio::test]
    async fn where_all_are_busy_the_next_one_waits() {
        let slots = slots(2, 9, 9);
        let mut first = slots.acquire(address(1)).unwrap();
        let mut second = slots.acquire(address(2)).unwrap();
        assert!(slots.room().now_or_never().is_some(), "one can be cleared");
        for slot in [&mut first, &mut second] {
            slots.served_by(slot.id(), tokio::spawn(async {}).abort_handle());
            slot.set_busy(true);
            assert!(slot.authenticate(&"ada".into()));
        }
        assert!(slots.room().now_or_never().is_none(), "none can");
        first.set_busy(false);
        assert!(slots.room().now_or_never().is_some(), "one is idle");
        first.set_busy(true);
        drop(second);
        assert!(slots.room().now_or_never().is_some(), "one is gone");
    }

    #[test]
    fn files_that_are_reserved_are_no_places() {
        for (reserve, files, total) in
            [(512, u64::MAX, 1000), (512, 1024, 512), (512, 1300, 788), (512, 100, 50), (0, 4, 8)]
        {
            let settings =
                Settings { connections: 1000, descriptor_reserve: reserve, ..Settings::default() };
            assert_eq!(Slots::new(&settings, files).total, total, "{reserve} of {files}");
        }
    }

    #[test]
    fn who_is_one_peer() {
        for (one, other, same) in [
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("10.0.0.1", "::ffff:10.0.0.1", true),
            ("2001:db8:1:2::3", "2001:db8:1:2:ffff::4", true),
            ("2001:db8:1:2::3", "2001:db8:1:3::3", false),
            ("::1", "::2", false),
        ] {
            let peers = [one, other].map(|it| peer(it.parse().unwrap()));
            assert_eq!(peers[0] == peers[1], same, "{one} {other}");
        }
    }
}
