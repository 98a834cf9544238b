//! The resources that one subscriber watches.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use super::Watching;

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
