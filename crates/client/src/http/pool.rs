//! The connection pool of one origin, apart for each runtime.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::time::Instant;

use super::body::UnreadBody;
use super::http1_connection::Http1Connection;

/// How long a connection may be idle: servers close theirs after some time, and one that is about
/// to be closed would lose a request.
const IDLE: Duration = Duration::from_secs(25);
/// Unread responses whose end is waited for.
const UNREAD_BODIES: usize = 32;

/// Idle connections, apart for each runtime that opened some: a connection of another runtime would
/// wake a second thread for each request. Locked for moments, never across an await.
#[derive(Debug)]
pub(super) struct Pool {
    runtimes: Mutex<Vec<(Id, RuntimePool)>>,
    at_most: usize,
}

#[derive(Debug, Default)]
struct RuntimePool {
    /// The most recently used at the back.
    idle: VecDeque<(Box<Http1Connection>, Instant)>,
    unread_bodies: VecDeque<UnreadBody>,
    /// Whether a sweeper task runs.
    has_sweeper: bool,
}

impl Pool {
    /// Keeps at most so many connections for each runtime.
    pub(super) fn new(at_most: usize) -> Self {
        Self { runtimes: Mutex::default(), at_most }
    }

    /// The most recently used connection of this runtime that is still usable.
    pub(super) fn take(self: &Arc<Self>) -> Option<Box<Http1Connection>> {
        let here = Handle::try_current().ok()?.id();
        self.pop(here).or_else(|| {
            self.settle(here);
            self.pop(here)
        })
    }

    fn pop(&self, id: Id) -> Option<Box<Http1Connection>> {
        let mut runtimes = self.runtimes();
        let (_, runtime_pool) = runtimes.iter_mut().find(|(other, _)| *other == id)?;
        while let Some((mut connection, since)) = runtime_pool.idle.pop_back() {
            if since.elapsed() <= IDLE && connection.is_reusable() {
                return Some(connection);
            }
        }
        None
    }

    /// Takes back a connection whose response has been read to its end.
    pub(super) fn give(self: &Arc<Self>, connection: Box<Http1Connection>) {
        let (now, at_most) = (Instant::now(), self.at_most);
        let Some(home) = connection.home() else { return };
        self.with_runtime_pool(home, |runtime_pool| {
            if runtime_pool.idle.len() < at_most {
                runtime_pool.idle.push_back((connection, now));
            }
        });
    }

    /// Takes a response that nobody reads any more, for its connection once it has ended.
    pub(super) fn drain_later(self: &Arc<Self>, rest: UnreadBody) {
        let Ok(here) = Handle::try_current() else { return };
        self.with_runtime_pool(here.id(), |runtime_pool| {
            if runtime_pool.unread_bodies.len() == UNREAD_BODIES {
                runtime_pool.unread_bodies.pop_front();
            }
            runtime_pool.unread_bodies.push_back(rest);
        });
    }

    /// Drains unread responses: those that have ended return their connection, which takes the
    /// lock.
    fn settle(self: &Arc<Self>, id: Id) {
        let unread_bodies = match self.runtimes().iter_mut().find(|(other, _)| *other == id) {
            Some((_, runtime_pool)) if !runtime_pool.unread_bodies.is_empty() => {
                std::mem::take(&mut runtime_pool.unread_bodies)
            }
            _ => return,
        };
        let unread_bodies: VecDeque<UnreadBody> =
            unread_bodies.into_iter().filter_map(UnreadBody::settle).collect();
        if let Some((_, runtime_pool)) = self.runtimes().iter_mut().find(|(other, _)| *other == id)
        {
            runtime_pool.unread_bodies.extend(unread_bodies);
        }
    }

    fn with_runtime_pool(self: &Arc<Self>, id: Id, act: impl FnOnce(&mut RuntimePool)) {
        let mut runtimes = self.runtimes();
        let place = runtimes.iter().position(|(other, _)| *other == id);
        let place = place.unwrap_or_else(|| {
            // New runtimes are rare, so this is the time to drop dead ones.
            runtimes.retain_mut(|(_, runtime_pool)| !runtime_pool.is_dead());
            runtimes.push((id, RuntimePool::default()));
            runtimes.len() - 1
        });
        let runtime_pool = &mut runtimes[place].1;
        act(runtime_pool);
        if !runtime_pool.has_sweeper
            && let Ok(runtime) = Handle::try_current()
        {
            runtime_pool.has_sweeper = true;
            runtime.spawn(sweep(Arc::downgrade(self), id));
        }
    }

    /// Closes connections that were idle for too long; returns whether any are left.
    fn sweep(self: &Arc<Self>, id: Id) -> bool {
        self.settle(id);
        let mut runtimes = self.runtimes();
        let Some((_, runtime_pool)) = runtimes.iter_mut().find(|(other, _)| *other == id) else {
            return false;
        };
        runtime_pool
            .idle
            .retain_mut(|(connection, since)| since.elapsed() < IDLE && connection.is_reusable());
        runtime_pool.has_sweeper = !runtime_pool.is_dead();
        runtime_pool.has_sweeper
    }

    fn runtimes(&self) -> MutexGuard<'_, Vec<(Id, RuntimePool)>> {
        self.runtimes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RuntimePool {
    /// Whether nothing here can be used any more.
    fn is_dead(&mut self) -> bool {
        self.unread_bodies.is_empty()
            && !self.idle.iter_mut().any(|(connection, _)| connection.is_reusable())
    }
}

/// Sweeps the pool of one runtime until it is empty, so that no connection stays open for ever
/// after the last request.
async fn sweep(pool: Weak<Pool>, id: Id) {
    loop {
        tokio::time::sleep(IDLE).await;
        if !pool.upgrade().is_some_and(|pool| pool.sweep(id)) {
            return;
        }
    }
}
