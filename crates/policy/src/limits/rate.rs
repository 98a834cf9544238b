//! Rate limits: the generic cell rate algorithm (GCRA), for a bounded number of keys. It has no clock:
//! the caller passes the time.
//!
//! It is our own because it is short, and a library has no keys without allocation, no bound on their
//! number, no settings that change at run time, and no clock that tests can set.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use super::{Key, KeyMap};

/// A rate such as `60/min`, or `60/min burst 10 shared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    count: u64,
    unit: Unit,
    burst: u64,
    /// Whether all callers together have it, rather than each of them.
    pub(super) shared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
    Day,
}

/// The text is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no rate; write one such as `60/min`, `10/s` or `1000/h burst 50`")]
pub struct RateError(String);

/// More than anything can be counted in a unit of time.
const MOST: u64 = 1_000_000_000;

impl Rate {
    /// So many in a minute, and as many at once.
    pub(super) const fn per_minute(count: u64) -> Self {
        Self { count, unit: Unit::Minute, burst: count, shared: false }
    }

    /// Whether it lets less pass than another.
    pub(super) fn is_stricter_than(self, other: Self) -> bool {
        let rank = |it: Self| (it.interval(), std::cmp::Reverse(it.burst), it.shared);
        rank(self) > rank(other)
    }

    /// The time from one to the next when they come evenly. Rounded up: never more than was said.
    fn interval(self) -> u64 {
        self.unit.nanos().div_ceil(self.count)
    }
}

impl Unit {
    const ALL: [(Self, &'static [&'static str]); 4] = [
        (Self::Second, &["s", "sec", "second"]),
        (Self::Minute, &["min", "m", "minute"]),
        (Self::Hour, &["h", "hour"]),
        (Self::Day, &["d", "day"]),
    ];

    fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, names)| names.contains(&name));
        found.map(|(unit, _)| *unit)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(unit, _)| *unit == self).map_or("", |(_, names)| names[0])
    }

    fn nanos(self) -> u64 {
        let seconds = match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 60 * 60,
            Self::Day => 24 * 60 * 60,
        };
        seconds * 1_000_000_000
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let wrong = || RateError(text.to_owned());
        let number = |word: &str| word.parse().ok().filter(|number| (1..=MOST).contains(number));
        let mut words = text.split_whitespace();
        let (count, unit) = words.next().and_then(|word| word.split_once('/')).ok_or_else(wrong)?;
        let count = number(count).ok_or_else(wrong)?;
        let unit = Unit::named(unit).ok_or_else(wrong)?;
        let mut rate = Self { count, unit, burst: count, shared: false };
        while let Some(word) = words.next() {
            match word {
                "burst" => rate.burst = words.next().and_then(number).ok_or_else(wrong)?,
                "shared" => rate.shared = true,
                _ => return Err(wrong()),
            }
        }
        Ok(rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.count, self.unit.name())?;
        if self.burst != self.count {
            write!(formatter, " burst {}", self.burst)?;
        }
        if self.shared {
            formatter.write_str(" shared")?;
        }
        Ok(())
    }
}

/// What has happened so far, as the one number that the algorithm needs: the time at which it will
/// be as if nothing had happened, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Cell(AtomicU64);

impl Cell {
    /// Takes one at this time, or says how long until there is one.
    pub(super) fn take(&self, rate: Rate, now: u64) -> Result<(), Duration> {
        let interval = rate.interval();
        let ahead = interval.saturating_mul(rate.burst - 1);
        let mut seen = self.0.load(Relaxed);
        loop {
            let base = seen.max(now);
            let early = (base - now).saturating_sub(ahead);
            if early > 0 {
                return Err(Duration::from_nanos(early));
            }
            let next = base.saturating_add(interval);
            match self.0.compare_exchange_weak(seen, next, Relaxed, Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => seen = other,
            }
        }
    }

    /// The time at which it will be as if nothing had happened.
    pub(super) fn settled(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Locks, so that calls for different things seldom meet.
const SHARDS: usize = 16;

/// A cell for each key.
#[derive(Debug)]
pub(super) struct Buckets {
    shards: [RwLock<KeyMap<Cell>>; SHARDS],
}

impl Buckets {
    pub(super) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| RwLock::new(HashMap::default())) }
    }

    /// Takes one for this key at this time, or says how long until there is one. No more than so
    /// many keys are remembered.
    pub(super) fn take(&self, key: Key, rate: Rate, now: u64, most: usize) -> Result<(), Duration> {
        let shard = &self.shards[key.shard(SHARDS)];
        if let Some(cell) = shard.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return cell.take(rate, now);
        }
        let mut cells = shard.write().unwrap_or_else(PoisonError::into_inner);
        if !cells.contains_key(&key) {
            make_room(&mut cells, now, (most / SHARDS).max(1));
        }
        cells.entry(key).or_default().take(rate, now)
    }

    /// How many keys are remembered.
    pub(super) fn len(&self) -> usize {
        let of = |shard: &RwLock<KeyMap<Cell>>| {
            shard.read().unwrap_or_else(PoisonError::into_inner).len()
        };
        self.shards.iter().map(of).sum()
    }
}

/// Forgets what says nothing any more, and if that is not enough what comes nearest to it.
fn make_room(cells: &mut KeyMap<Cell>, now: u64, most: usize) {
    if cells.len() < most {
        return;
    }
    cells.retain(|_, cell| cell.settled() > now);
    while cells.len() >= most {
        let nearest = cells.iter().min_by_key(|(_, cell)| cell.settled());
        let Some(key) = nearest.map(|(key, _)| *key) else { return };
        cells.remove(&key);
    }
}

#[cfg(test)]
mod tests;
