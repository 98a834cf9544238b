//! Connections to one origin that wait for their next request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::time::Instant;

use super::http1_connection::Http1Connection;
use super::rest::Rest;

/// How long a connection may wait: servers close theirs after some time, and one that is about to
/// be closed would lose a request.
const IDLE: Duration = Duration::from_secs(25);
/// Responses that nobody reads any more whose end is waited for.
const RESTS: usize = 32;

/// Connections that wait, apart for each runtime that opened some: one of another runtime would wake
/// a second thread for each request. Locked for moments, never while something is awaited.
#[derive(Debug)]
pub(super) struct Pool {
    shelves: Mutex<Vec<(Id, IdleConnections)>>,
    at_most: usize,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// The one used last at the back.
    idle: VecDeque<(Box<Http1Connection>, Instant)>,
    rests: VecDeque<Rest>,
    /// Whether somebody looks after those that have waited for long.
    is_swept: bool,
}

impl Pool {
    /// Keeps at most so many connections for each runtime.
    pub(super) fn new(at_most: usize) -> Self {
        Self { shelves: Mutex::default(), at_most }
    }

    /// The connection of this runtime that was used last and can take a request.
    pub(super) fn take(self: &Arc<Self>) -> Option<Box<Http1Connection>> {
        let here = Handle::try_current().ok()?.id();
        self.pop(here).or_else(|| {
            self.settle(here);
            self.pop(here)
        })
    }

    fn pop(&self, id: Id) -> Option<Box<Http1Connection>> {
        let mut shelves = self.shelves();
        let (_, shelf) = shelves.iter_mut().find(|(other, _)| *other == id)?;
        while let Some((mut connection, since)) = shelf.idle.pop_back() {
            if since.elapsed() <= IDLE && connection.is_quiet() {
                return Some(connection);
            }
        }
        None
    }

    /// Takes back a connection whose response has been read to its end.
    pub(super) fn give(self: &Arc<Self>, connection: Box<Http1Connection>) {
        let (now, at_most) = (Instant::now(), self.at_most);
        let Some(home) = connection.home() else { return };
        self.on_shelf(home, |shelf| {
            if shelf.idle.len() < at_most {
                shelf.idle.push_back((connection, now));
            }
        });
    }

    /// Takes a response that nobody reads any more, for its connection once it has ended.
    pub(super) fn give_rest(self: &Arc<Self>, rest: Rest) {
        let Ok(here) = Handle::try_current() else { return };
        self.on_shelf(here.id(), |shelf| {
            if shelf.rests.len() == RESTS {
                shelf.rests.pop_front();
            }
            shelf.rests.push_back(rest);
        });
    }

    /// Looks at the responses that nobody reads: those that have ended give their connection back,
    /// which takes the lock.
    fn settle(self: &Arc<Self>, id: Id) {
        let rests = match self.shelves().iter_mut().find(|(other, _)| *other == id) {
            Some((_, shelf)) if !shelf.rests.is_empty() => std::mem::take(&mut shelf.rests),
            _ => return,
        };
        let rests: VecDeque<Rest> = rests.into_iter().filter_map(Rest::settle).collect();
        if let Some((_, shelf)) = self.shelves().iter_mut().find(|(other, _)| *other == id) {
            shelf.rests.extend(rests);
        }
    }

    fn on_shelf(self: &Arc<Self>, id: Id, act: impl FnOnce(&mut IdleConnections)) {
        let mut shelves = self.shelves();
        let place = shelves.iter().position(|(other, _)| *other == id);
        let place = place.unwrap_or_else(|| {
            // Runtimes come seldom, so this is the time to forget those that have gone.
            shelves.retain_mut(|(_, shelf)| !shelf.is_dead());
            shelves.push((id, IdleConnections::default()));
            shelves.len() - 1
        });
        let shelf = &mut shelves[place].1;
        act(shelf);
        if !shelf.is_swept
            && let Ok(runtime) = Handle::try_current()
        {
            shelf.is_swept = true;
            runtime.spawn(sweep(Arc::downgrade(self), id));
        }
    }

    /// Closes what has waited for long. Says whether anything is left.
    fn sweep(self: &Arc<Self>, id: Id) -> bool {
        self.settle(id);
        let mut shelves = self.shelves();
        let Some((_, shelf)) = shelves.iter_mut().find(|(other, _)| *other == id) else {
            return false;
        };
        shelf
            .idle
            .retain_mut(|(connection, since)| since.elapsed() < IDLE && connection.is_quiet());
        shelf.is_swept = !shelf.is_dead();
        shelf.is_swept
    }

    fn shelves(&self) -> MutexGuard<'_, Vec<(Id, IdleConnections)>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleConnections {
    /// Whether nothing here can be used any more.
    fn is_dead(&mut self) -> bool {
        self.rests.is_empty() && !self.idle.iter_mut().any(|(connection, _)| connection.is_quiet())
    }
}

/// Looks after the connections of one runtime until none waits, so that none is open for ever after
/// the last request.
async fn sweep(pool: Weak<Pool>, id: Id) {
    loop {
        tokio::time::sleep(IDLE).await;
        if !pool.upgrade().is_some_and(|pool| pool.sweep(id)) {
            return;
        }
    }
}
