//! Calls in a day, by caller and by tool. A day is a day of UTC; a clock that is set back does not
//! begin another one.

mod document;
mod flusher;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::refusal::Scope;
use document::Document;
pub use flusher::BudgetFlusher;

/// The length of a day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What was used up so far.
#[derive(Debug)]
pub(super) struct Budget(Mutex<Used>);

#[derive(Debug)]
struct Used {
    /// Days since 1970.
    day: u64,
    /// When it was begun to count.
    since: Instant,
    counts: HashMap<(Kind, Box<str>), Count>,
}

/// What has a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Principal,
    Tool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// Calls of today, as far as is known.
    calls: u64,
    /// Those of them that are in the cabinet.
    kept: u64,
}

/// One budget that a call must be within.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuotaCharge<'a> {
    pub(super) scope: Scope,
    pub(super) name: &'a str,
    pub(super) limit: u64,
}

impl Budget {
    pub(super) fn new() -> Self {
        let used = Used { day: 0, since: Instant::now(), counts: HashMap::new() };
        Self(Mutex::new(used))
    }

    /// Takes one call out of all of these budgets, or none out of any: then it says which of them
    /// is used up. The time is since 1970.
    pub(super) fn charge(
        &self,
        draws: &[QuotaCharge<'_>],
        time: Duration,
        most: usize,
    ) -> Result<(), usize> {
        let mut used = self.used();
        used.turn(days(time));
        let key = |charge: &QuotaCharge<'_>| (Kind::of(charge.scope), Box::from(charge.name));
        let keys: Vec<_> = draws.iter().map(key).collect();
        let calls = |key| used.counts.get(key).map_or(0, |count| count.calls);
        let is_used_up = |(key, charge): (_, &QuotaCharge<'_>)| calls(key) >= charge.limit;
        if let Some(at) = keys.iter().zip(draws).position(is_used_up) {
            return Err(at);
        }
        for key in keys {
            used.make_room(&key, most);
            used.counts.entry(key).or_default().calls += 1;
        }
        Ok(())
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is not in the cabinet yet; none if all is.
    fn unkept(&self) -> Option<Document> {
        let used = self.used();
        let unkept = used.counts.iter().filter(|(_, count)| count.calls > count.kept);
        let unkept = unkept.map(|(key, count)| (key.clone(), count.calls - count.kept));
        let document = Document { day: used.day, counts: unkept.collect() };
        (!document.counts.is_empty()).then_some(document)
    }

    /// Takes over what is in the cabinet: what others have used up, or what was before a restart.
    /// `added` is what was added to it from here.
    fn learn(&self, kept: &Document, added: &Document) {
        let mut used = self.used();
        if kept.day > used.day {
            *used = Used { day: kept.day, since: Instant::now(), counts: HashMap::new() };
        }
        if kept.day < used.day {
            return;
        }
        for (key, total) in &kept.counts {
            let count = used.counts.entry(key.clone()).or_default();
            let added = added.counts.get(key).copied().unwrap_or(0);
            let others = total.saturating_sub(count.kept).saturating_sub(added);
            count.calls += others;
            count.kept = *total;
        }
    }
}

impl Used {
    /// Begins a new day when it is one. If the clock was set back, only when a whole day has passed.
    fn turn(&mut self, day: u64) {
        if day > self.day || (day < self.day && self.since.elapsed() >= DAY) {
            *self = Self { day, since: Instant::now(), counts: HashMap::new() };
        }
    }

    /// Forgets who has used the least, if too many are known.
    fn make_room(&mut self, key: &(Kind, Box<str>), most: usize) {
        if self.counts.len() < most.max(1) || self.counts.contains_key(key) {
            return;
        }
        let least = self.counts.iter().min_by_key(|(_, count)| count.calls);
        if let Some(key) = least.map(|(key, _)| key.clone()) {
            self.counts.remove(&key);
        }
    }
}

impl Kind {
    fn of(scope: Scope) -> Self {
        if scope == Scope::Tool { Self::Tool } else { Self::Principal }
    }
}

/// How long until the next day begins.
pub(super) fn until_tomorrow(time: Duration) -> Duration {
    DAY.saturating_mul(u32::try_from(days(time) + 1).unwrap_or(u32::MAX)).saturating_sub(time)
}

fn days(time: Duration) -> u64 {
    time.as_secs() / DAY.as_secs()
}

#[cfg(test)]
mod tests;
