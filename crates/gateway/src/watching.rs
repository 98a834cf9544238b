//! Which resources are watched by any client, so that their providers can watch them too.

mod watched;
mod watcher;

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;

use crate::catalog::Snapshot;
use crate::provider::Provider;

pub use watched::{TooManyWatched, Watched};
pub(crate) use watcher::Watcher;

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

#[cfg(test)]
mod tests;
