//! Resource subscriptions: which resources clients watch, counted over all subscriptions, so that the
//! providers can be told what to subscribe to.

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

/// Counts who watches what, and tells providers when that changes.
#[derive(Debug)]
pub(crate) struct Watching {
    current: Arc<ArcSwap<Snapshot>>,
    /// How many subscriptions watch each resource.
    tally: Mutex<HashMap<Arc<str>, usize>>,
    /// Changes that providers have not been told of. Whoever raises it from nothing tells them.
    untold: AtomicUsize,
    told: Mutex<Vec<Told>>,
}

/// What a provider was told last.
#[derive(Clone)]
struct Told {
    provider: Arc<dyn Provider>,
    uris: BTreeSet<String>,
}

/// A running subscription's place: what it watches is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct WatchHandle {
    watching: Weak<Watching>,
    watched: Arc<Watched>,
}

impl Watching {
    /// Nobody watches anything of this catalog yet.
    pub(crate) fn over(current: Arc<ArcSwap<Snapshot>>) -> Arc<Self> {
        let (tally, told) = Default::default();
        Arc::new(Self { current, tally, untold: AtomicUsize::new(0), told })
    }

    /// Counts what is in this set, now and as it changes.
    pub(crate) fn watch_handle(self: &Arc<Self>, watched: &Arc<Watched>) -> WatchHandle {
        let watching = Arc::downgrade(self);
        if watched.add_watcher(&watching) {
            self.tell();
        }
        WatchHandle { watching, watched: watched.clone() }
    }

    /// One more watches this. Returns whether it is the first.
    fn raise(&self, uri: &Arc<str>) -> bool {
        let mut tally = self.tally();
        let count = tally.entry(uri.clone()).or_default();
        *count += 1;
        *count == 1
    }

    /// One less watches this. Returns whether it was the last.
    fn lower(&self, uri: &str) -> bool {
        let mut tally = self.tally();
        let Some(count) = tally.get_mut(uri) else { return false };
        *count -= 1;
        let last = *count == 0;
        if last {
            tally.remove(uri);
        }
        last
    }

    /// Tells every provider for which something has changed. While one thread does so, others
    /// leave their changes to it.
    pub(crate) fn tell(&self) {
        if self.untold.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        loop {
            let seen = self.untold.load(Ordering::Acquire);
            for Told { provider, uris } in self.changes() {
                // A provider that panics must not keep the others from hearing.
                let heard = catch_unwind(AssertUnwindSafe(|| provider.watched(&uris)));
                if heard.is_err() {
                    let name = provider.name();
                    tracing::error!(name, "a provider panicked when told what is watched");
                }
            }
            let done = self.untold.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire);
            if done.is_ok() {
                return;
            }
        }
    }

    /// Waits until the provider of a resource would hear of its changes.
    pub(crate) async fn in_force(&self, uri: &str) {
        // Another thread may be about to tell the provider; that takes but a moment.
        while self.untold.load(Ordering::Acquire) > 0 {
            tokio::task::yield_now().await;
        }
        let provider = self.current.load().provider_of(uri);
        if let Some(provider) = provider {
            provider.watching(uri).await;
        }
    }

    /// What differs from what providers were told, and from now on counts as told.
    fn changes(&self) -> Vec<Told> {
        let mut told = self.told();
        let now = self.by_provider();
        let gone = told.iter().filter(|it| now.iter().all(|other| !other.is_for(&it.provider)));
        let gone = gone.map(|it| Told { provider: it.provider.clone(), uris: BTreeSet::new() });
        let mut changes: Vec<Told> = gone.collect();
        let is_known =
            |it: &&Told| told.iter().any(|told| told.is_for(&it.provider) && told.uris == it.uris);
        changes.extend(now.iter().filter(|it| !is_known(it)).cloned());
        *told = now;
        changes
    }

    fn by_provider(&self) -> Vec<Told> {
        let uris: Vec<Arc<str>> = self.tally().keys().cloned().collect();
        let snapshot = self.current.load();
        let mut all: Vec<Told> = Vec::new();
        for uri in uris {
            let Some(provider) = snapshot.provider_of(&uri) else { continue };
            match all.iter_mut().find(|it| it.is_for(&provider)) {
                Some(told) => told.uris.extend([uri.to_string()]),
                None => all.push(Told { provider, uris: [uri.to_string()].into() }),
            }
        }
        all
    }

    fn tally(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, Vec<Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        let changed = self.watched.remove_watcher();
        if let Some(watching) = self.watching.upgrade().filter(|_| changed) {
            watching.tell();
        }
    }
}

impl Told {
    fn is_for(&self, provider: &Arc<dyn Provider>) -> bool {
        // The address alone: one provider may be known by several tables of functions.
        std::ptr::addr_eq(Arc::as_ptr(&self.provider), Arc::as_ptr(provider))
    }
}

impl std::fmt::Debug for Told {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Told({}, {:?})", self.provider.name(), self.uris)
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
    counted: Weak<Watching>,
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
        let first = inner.counted().filter(|watching| watching.raise(&uri));
        drop(inner);
        tell(first);
        Ok(true)
    }

    /// Watches one less. Returns whether it was watched before.
    pub fn remove(&self, uri: &str) -> bool {
        let mut inner = self.write();
        if !inner.uris.remove(uri) {
            return false;
        }
        let last = inner.counted().filter(|watching| watching.lower(uri));
        drop(inner);
        tell(last);
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
    pub(super) fn add_watcher(&self, watching: &Weak<Watching>) -> bool {
        let mut inner = self.write();
        inner.watchers += 1;
        if inner.watchers > 1 {
            return false;
        }
        inner.counted = watching.clone();
        inner.counted().is_some_and(|it| inner.uris.iter().filter(|uri| it.raise(uri)).count() > 0)
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
        counted.is_some_and(|it| inner.uris.iter().filter(|uri| it.lower(uri)).count() > 0)
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn counted(&self) -> Option<Arc<Watching>> {
        self.counted.upgrade()
    }
}

/// Providers are told with no lock held.
fn tell(watching: Option<Arc<Watching>>) {
    if let Some(watching) = watching {
        watching.tell();
    }
}

/// Who watches, where, and under which policies.
pub(crate) struct Watcher {
    pub(crate) caller: Arc<Caller>,
    /// Held weakly: a subscription does not keep its gateway.
    pub(crate) catalog: Weak<Catalog>,
    pub(crate) policies: Arc<Policies>,
}

impl Watcher {
    /// Whether they may hear that a resource has changed. What one may not see one hears nothing
    /// of, and what is gone cannot be judged; who sees everything hears of it still.
    pub(crate) fn may_hear_of(&self, uri: &str) -> bool {
        let views = self.policies.views(&self.caller);
        if views.is_empty() {
            return true;
        }
        let catalog = self.catalog.upgrade();
        catalog.is_some_and(|catalog| catalog.has_resource(uri, &views).is_ok())
    }
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Watcher({})", self.caller.principal)
    }
}

#[cfg(test)]
mod tests;
