//! A fair concurrency limiter: at most so many at once for each key. The others wait in a queue for each
//! caller, and the queues are served round-robin, so that a caller with many calls cannot starve others.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Key, KeyMap};

/// Locks, so that calls to different rooms seldom meet.
const SHARDS: usize = 16;

/// A room for each key, for as long as someone is in it or waits for it.
#[derive(Debug)]
pub(super) struct ConcurrencyLimiter {
    shards: [Mutex<KeyMap<Room>>; SHARDS],
    tickets: AtomicU64,
}

#[derive(Debug, Default)]
struct Room {
    limit: usize,
    taken: usize,
    /// None is empty. The first one is next.
    lines: VecDeque<Line>,
}

#[derive(Debug)]
struct Line {
    who: Key,
    waiters: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    called: oneshot::Sender<()>,
}

/// Who wants to enter which room.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConcurrencyPermit {
    pub(super) room: Key,
    /// How many may be in it.
    pub(super) limit: usize,
    pub(super) who: Key,
    /// How many of one caller may wait.
    pub(super) queue: usize,
}

/// What comes of a visit.
#[derive(Debug)]
pub(super) enum Acquire {
    /// A place is taken. Who has it must leave.
    Entered,
    /// There is none now.
    Waits(Waiting),
    /// Too many of the same caller wait already.
    Full,
}

/// A place in a line. Dropping it leaves the line.
#[derive(Debug)]
pub(super) struct Waiting {
    limiter: Arc<ConcurrencyLimiter>,
    visit: ConcurrencyPermit,
    ticket: u64,
    called: oneshot::Receiver<()>,
    entered: bool,
}

impl ConcurrencyLimiter {
    pub(super) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::new(HashMap::default())),
            tickets: AtomicU64::new(0),
        }
    }

    /// Enters a room, or waits in line for it.
    pub(super) fn enter(self: &Arc<Self>, visit: ConcurrencyPermit) -> Acquire {
        let mut limiter = self.shard(visit.room);
        let room = limiter.entry(visit.room).or_default();
        room.limit = visit.limit.max(1);
        if room.lines.is_empty() && room.taken < room.limit {
            room.taken += 1;
            return Acquire::Entered;
        }
        let waits = room.lines.iter().find(|line| line.who == visit.who);
        if waits.map_or(0, |line| line.waiters.len()) >= visit.queue {
            return Acquire::Full;
        }
        let (call, called) = oneshot::channel();
        let ticket = self.tickets.fetch_add(1, Relaxed);
        room.join(visit.who, Waiter { ticket, called: call });
        room.summon();
        drop(limiter);
        Acquire::Waits(Waiting { limiter: self.clone(), visit, ticket, called, entered: false })
    }

    /// Gives a place back.
    pub(super) fn leave(&self, room: Key) {
        let mut limiter = self.shard(room);
        let Some(it) = limiter.get_mut(&room) else { return };
        it.taken = it.taken.saturating_sub(1);
        it.summon();
        if it.taken == 0 && it.lines.is_empty() {
            limiter.remove(&room);
        }
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, KeyMap<Room>> {
        self.shards[key.shard(SHARDS)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rooms that someone is in or waits for.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

impl Room {
    fn join(&mut self, who: Key, waiter: Waiter) {
        match self.lines.iter_mut().find(|line| line.who == who) {
            Some(line) => line.waiters.push_back(waiter),
            None => self.lines.push_back(Line { who, waiters: [waiter].into() }),
        }
    }

    /// Gives free places to those whose turn it is.
    fn summon(&mut self) {
        while self.taken < self.limit {
            let Some(mut line) = self.lines.pop_front() else { return };
            let waiter = line.waiters.pop_front();
            if !line.waiters.is_empty() {
                self.lines.push_back(line);
            }
            // One that has gone takes no place.
            if waiter.is_some_and(|waiter| waiter.called.send(()).is_ok()) {
                self.taken += 1;
            }
        }
    }

    /// Takes a waiter out of its line. Gives whether it was there.
    fn forget(&mut self, who: Key, ticket: u64) -> bool {
        let Some(at) = self.lines.iter().position(|line| line.who == who) else { return false };
        let waiters = &mut self.lines[at].waiters;
        let before = waiters.len();
        waiters.retain(|waiter| waiter.ticket != ticket);
        let was_there = waiters.len() < before;
        if waiters.is_empty() {
            self.lines.remove(at);
        }
        was_there
    }
}

impl Waiting {
    /// Waits for a place, for so long. Gives whether there was one.
    pub(super) async fn entered(mut self, within: Duration) -> bool {
        let called = tokio::time::timeout(within, &mut self.called).await;
        self.entered = matches!(called, Ok(Ok(())));
        self.entered
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.entered {
            return;
        }
        let key = self.visit.room;
        let mut limiter = self.limiter.shard(key);
        let was_there =
            limiter.get_mut(&key).is_some_and(|room| room.forget(self.visit.who, self.ticket));
        if limiter.get(&key).is_some_and(|room| room.taken == 0 && room.lines.is_empty()) {
            limiter.remove(&key);
        }
        drop(limiter);
        // Called, but gone before it heard of it: the place is for someone else.
        if !was_there && self.called.try_recv().is_ok() {
            self.limiter.leave(key);
        }
    }
}

#[cfg(test)]
mod tests;
