//! Daily quotas: calls in a day, by caller and by tool. A day is a day of UTC; a clock that is set back
//! does not start another one. Counts are persisted, so that a restart refills no quota, and added up when
//! several gateways share a store.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Limits;
use super::refusal::Scope;
use crate::document_store::{DocumentStore, DocumentStoreError};
use crate::periodic_flush::PeriodicFlush;

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

/// What was used up on one day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Document {
    day: u64,
    counts: HashMap<(Kind, Box<str>), u64>,
}

/// The same as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    day: u64,
    principals: BTreeMap<Box<str>, u64>,
    tools: BTreeMap<Box<str>, u64>,
}

impl Document {
    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let written: Written = serde_json::from_str(text)?;
        let of = |kind, counts: BTreeMap<Box<str>, u64>| {
            counts.into_iter().map(move |(name, count)| ((kind, name), count))
        };
        let principals = of(Kind::Principal, written.principals);
        let counts = principals.chain(of(Kind::Tool, written.tools)).collect();
        Ok(Self { day: written.day, counts })
    }

    pub(super) fn write(&self) -> Result<String, serde_json::Error> {
        let of = |wanted| {
            let counts = self.counts.iter().filter(|((kind, _), _)| *kind == wanted);
            counts.map(|((_, name), count)| (name.clone(), *count)).collect()
        };
        let (principals, tools) = (of(Kind::Principal), of(Kind::Tool));
        serde_json::to_string(&Written { day: self.day, principals, tools })
    }

    /// Adds what was used up besides. A later day takes the place of an earlier one.
    pub(super) fn add(&mut self, more: &Self) {
        if more.day > self.day {
            *self = Self { day: more.day, counts: HashMap::new() };
        }
        if more.day == self.day {
            for (key, count) in &more.counts {
                let total = self.counts.entry(key.clone()).or_default();
                *total = total.saturating_add(*count);
            }
        }
    }
}

/// Where it is kept.
const KIND: &str = "budget";
const KEY: &str = "today";

/// How often: what is used up in between is lost if the program is killed.
const PAUSE: Duration = Duration::from_secs(5);

/// Keeps budgets until it is stopped. Dropping it loses what was not kept yet.
#[derive(Debug)]
pub struct BudgetFlusher(PeriodicFlush);

impl BudgetFlusher {
    /// Reads what was kept, and keeps what is used up from now on.
    pub async fn start(limits: Arc<Limits>, document_store: Arc<dyn DocumentStore>) -> Self {
        if let Err(error) = restore(&limits, &*document_store).await {
            tracing::warn!(%error, "what was used up of daily budgets is not known; counting anew");
        }
        let trouble = "what is used up of daily budgets cannot be kept now";
        Self(PeriodicFlush::start(PAUSE, trouble, move || {
            let (limits, document_store) = (limits.clone(), document_store.clone());
            Box::pin(async move { store(&limits, &*document_store).await })
        }))
    }

    /// Keeps what is left, and ends.
    pub async fn stop(self) {
        self.0.stop().await;
    }
}

pub(super) async fn restore(
    limits: &Limits,
    document_store: &dyn DocumentStore,
) -> Result<(), DocumentStoreError> {
    let kept = read(document_store).await?;
    limits.budget.learn(&kept, &Document::default());
    Ok(())
}

/// Adds what is new to what is kept.
pub(super) async fn store(
    limits: &Limits,
    document_store: &dyn DocumentStore,
) -> Result<(), DocumentStoreError> {
    let Some(added) = limits.budget.unkept() else { return Ok(()) };
    let mut kept = read(document_store).await?;
    kept.add(&added);
    let text = kept.write().map_err(|error| DocumentStoreError(error.to_string()))?;
    document_store.put(KIND, KEY, text).await?;
    limits.budget.learn(&kept, &added);
    Ok(())
}

async fn read(document_store: &dyn DocumentStore) -> Result<Document, DocumentStoreError> {
    let all = document_store.all(KIND).await?;
    let Some((_, text)) = all.iter().find(|(key, _)| key == KEY) else {
        return Ok(Document::default());
    };
    Ok(Document::read(text).unwrap_or_else(|error| {
        tracing::warn!(%error, "what was kept of daily budgets cannot be read; counting anew");
        Document::default()
    }))
}

#[cfg(test)]
mod tests;
