//! Resource subscriptions: which resources clients watch, counted over all subscriptions, so that the
//! providers can be reported what to subscribe to.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};

use arc_swap::ArcSwap;

use crate::caller::Caller;
use crate::catalog::{Catalog, Snapshot};
use crate::pipeline::Policies;
use crate::provider::Provider;

/// Counts the subscriptions to each resource, and tells providers when the set changes.
#[derive(Debug)]
pub(crate) struct WatchedResources {
    current: Arc<ArcSwap<Snapshot>>,
    /// How many subscriptions watch each resource.
    counts: Mutex<HashMap<Arc<str>, usize>>,
    /// Changes that providers have not been reported of yet. The thread that raises it from zero tells them, with no
    /// lock held; a thread that finds another one telling leaves its change to it.
    unreported: AtomicUsize,
    reported: Mutex<Vec<ReportedSet>>,
}

/// What a provider was told last.
#[derive(Clone)]
struct ReportedSet {
    provider: Arc<dyn Provider>,
    uris: BTreeSet<String>,
}

/// A running subscription: what it watches is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct WatchHandle {
    watching: Weak<WatchedResources>,
    watched: Arc<Watched>,
}

impl WatchedResources {
    /// Counts for a catalog, all zero.
    pub(crate) fn new(current: Arc<ArcSwap<Snapshot>>) -> Arc<Self> {
        let (counts, reported) = Default::default();
        Arc::new(Self { current, counts, unreported: AtomicUsize::new(0), reported })
    }

    /// Counts what is in this set, now and as it changes.
    pub(crate) fn watch_handle(self: &Arc<Self>, watched: &Arc<Watched>) -> WatchHandle {
        let watching = Arc::downgrade(self);
        if watched.add_watcher(&watching) {
            self.report();
        }
        WatchHandle { watching, watched: watched.clone() }
    }

    /// Adds a subscription. Returns whether it is the first.
    fn increment(&self, uri: &Arc<str>) -> bool {
        let mut counts = self.counts();
        let count = counts.entry(uri.clone()).or_default();
        *count += 1;
        *count == 1
    }

    /// Removes a subscription. Returns whether it was the last.
    fn decrement(&self, uri: &str) -> bool {
        let mut counts = self.counts();
        let Some(count) = counts.get_mut(uri) else { return false };
        *count -= 1;
        let last = *count == 0;
        if last {
            counts.remove(uri);
        }
        last
    }

    /// Tells every provider whose set has changed. While one thread does so, others leave their changes
    /// to it.
    pub(crate) fn report(&self) {
        if self.unreported.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        loop {
            let seen = self.unreported.load(Ordering::Acquire);
            for ReportedSet { provider, uris } in self.changes() {
                // A provider that panics must not keep the others from hearing.
                let heard = catch_unwind(AssertUnwindSafe(|| provider.watched(&uris)));
                if heard.is_err() {
                    let name = provider.name();
                    tracing::error!(
                        name,
                        "a provider panicked on a change of resource subscriptions"
                    );
                }
            }
            let done =
                self.unreported.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire);
            if done.is_ok() {
                return;
            }
        }
    }

    /// Waits until the provider of a resource would hear of its changes.
    pub(crate) async fn wait_until_watched(&self, uri: &str) {
        // Another thread may be about to tell the provider; that takes but a moment.
        while self.unreported.load(Ordering::Acquire) > 0 {
            tokio::task::yield_now().await;
        }
        let provider = self.current.load().provider_of(uri);
        if let Some(provider) = provider {
            provider.watching(uri).await;
        }
    }

    /// What differs from what providers were reported, and from now on counts as reported.
    fn changes(&self) -> Vec<ReportedSet> {
        let mut reported = self.reported();
        let now = self.by_provider();
        let gone = reported.iter().filter(|it| now.iter().all(|other| !other.is_for(&it.provider)));
        let gone =
            gone.map(|it| ReportedSet { provider: it.provider.clone(), uris: BTreeSet::new() });
        let mut changes: Vec<ReportedSet> = gone.collect();
        let is_known = |it: &&ReportedSet| {
            reported
                .iter()
                .any(|reported| reported.is_for(&it.provider) && reported.uris == it.uris)
        };
        changes.extend(now.iter().filter(|it| !is_known(it)).cloned());
        *reported = now;
        changes
    }

    fn by_provider(&self) -> Vec<ReportedSet> {
        let uris: Vec<Arc<str>> = self.counts().keys().cloned().collect();
        let snapshot = self.current.load();
        let mut all: Vec<ReportedSet> = Vec::new();
        for uri in uris {
            let Some(provider) = snapshot.provider_of(&uri) else { continue };
            match all.iter_mut().find(|it| it.is_for(&provider)) {
                Some(reported) => reported.uris.extend([uri.to_string()]),
                None => all.push(ReportedSet { provider, uris: [uri.to_string()].into() }),
            }
        }
        all
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reported(&self) -> MutexGuard<'_, Vec<ReportedSet>> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        let changed = self.watched.remove_watcher();
        if let Some(watching) = self.watching.upgrade().filter(|_| changed) {
            watching.report();
        }
    }
}

impl ReportedSet {
    fn is_for(&self, provider: &Arc<dyn Provider>) -> bool {
        // The address alone: one provider may be known by several tables of functions.
        std::ptr::addr_eq(Arc::as_ptr(&self.provider), Arc::as_ptr(provider))
    }
}

impl std::fmt::Debug for ReportedSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ReportedSet({}, {:?})", self.provider.name(), self.uris)
    }
}

/// The parts of an address that are looked at, from its end on.
const DEPTH: usize = 64;

/// The resources that one subscriber watches. It may change while the subscription runs.
#[derive(Debug, Default)]
pub struct Watched(RwLock<Inner>);

/// As many resources are watched as one subscriber may watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one subscriber may watch {0} resources; unsubscribe from one first")]
pub struct TooManyWatched(pub usize);

#[derive(Debug, Default)]
struct Inner {
    uris: HashSet<Arc<str>>,
    /// Where all this is counted while at least one subscription runs.
    counted: Weak<WatchedResources>,
    watchers: usize,
}

impl Watched {
    /// Watches one more. Returns whether it was not watched before.
    pub fn add(&self, uri: &str, limit: usize) -> Result<bool, TooManyWatched> {
        let mut inner = self.write();
        if inner.uris.contains(uri) {
            return Ok(false);
        }
        if inner.uris.len() >= limit {
            return Err(TooManyWatched(limit));
        }
        let uri: Arc<str> = uri.into();
        inner.uris.insert(uri.clone());
        let first = inner.counted().filter(|watching| watching.increment(&uri));
        drop(inner);
        report(first);
        Ok(true)
    }

    /// Watches one less. Returns whether it was watched before.
    pub fn remove(&self, uri: &str) -> bool {
        let mut inner = self.write();
        if !inner.uris.remove(uri) {
            return false;
        }
        let last = inner.counted().filter(|watching| watching.decrement(uri));
        drop(inner);
        report(last);
        true
    }

    /// Whether news of this resource are wanted: it is watched, or something that it is a part of.
    pub(crate) fn covers(&self, uri: &str) -> bool {
        let uris = &self.read().uris;
        let ends = uri.rmatch_indices(['/', '?', '#']).take(DEPTH);
        uris.contains(uri)
            || ends
                .into_iter()
                .any(|(end, _)| uris.contains(&uri[..end]) || uris.contains(&uri[..=end]))
    }

    pub(crate) fn all(&self) -> Vec<Arc<str>> {
        self.read().uris.iter().cloned().collect()
    }

    /// A subscription begins. Returns whether something is watched that was not before.
    pub(super) fn add_watcher(&self, watching: &Weak<WatchedResources>) -> bool {
        let mut inner = self.write();
        inner.watchers += 1;
        if inner.watchers > 1 {
            return false;
        }
        inner.counted = watching.clone();
        inner
            .counted()
            .is_some_and(|it| inner.uris.iter().filter(|uri| it.increment(uri)).count() > 0)
    }

    /// A subscription ends. Returns whether something is no longer watched.
    pub(super) fn remove_watcher(&self) -> bool {
        let mut inner = self.write();
        let counted = inner.counted();
        inner.watchers -= 1;
        if inner.watchers > 0 {
            return false;
        }
        inner.counted = Weak::new();
        counted.is_some_and(|it| inner.uris.iter().filter(|uri| it.decrement(uri)).count() > 0)
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn counted(&self) -> Option<Arc<WatchedResources>> {
        self.counted.upgrade()
    }
}

/// Providers are reported with no lock held.
fn report(watching: Option<Arc<WatchedResources>>) {
    if let Some(watching) = watching {
        watching.report();
    }
}

/// A subscriber: whether it may still receive updates, by the access rules in force now.
pub(crate) struct Subscriber {
    pub(crate) caller: Arc<Caller>,
    /// Held weakly: a subscription does not keep its gateway.
    pub(crate) catalog: Weak<Catalog>,
    pub(crate) policies: Arc<Policies>,
}

impl Subscriber {
    /// Whether the subscriber may receive an update of a resource. One that is not visible sends none, and
    /// neither does one that is gone, since it cannot be judged; unless the subscriber sees everything.
    pub(crate) fn may_receive(&self, uri: &str) -> bool {
        let views = self.policies.views(&self.caller);
        if views.is_empty() {
            return true;
        }
        let catalog = self.catalog.upgrade();
        catalog.is_some_and(|catalog| catalog.has_resource(uri, &views).is_ok())
    }
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Subscriber({})", self.caller.principal)
    }
}

#[cfg(test)]
mod tests;
