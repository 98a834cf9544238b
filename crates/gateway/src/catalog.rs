//! Everything that can be called, as an immutable snapshot behind an atomic pointer.

mod cursor;
mod listing;
mod resolve;
mod snapshot;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use gantry_protocol::RawJson;

use crate::events::Events;
use crate::page::ListKind;
use crate::provider::Provider;

pub use listing::Listing;
pub(crate) use snapshot::PageSettings;
pub use snapshot::Snapshot;

/// The catalog: what each provider has published, merged.
#[derive(Debug)]
pub struct Catalog {
    current: ArcSwap<Snapshot>,
    shelves: Mutex<Vec<Shelf>>,
    pages: PageSettings,
    events: Arc<Events>,
}

/// One provider's part of the catalog.
struct Shelf {
    provider: Arc<dyn Provider>,
    listing: Arc<Listing>,
}

impl Catalog {
    pub(crate) fn new(pages: PageSettings, events: Arc<Events>) -> Self {
        let current = ArcSwap::from_pointee(Snapshot::merge(&[], &pages));
        Self { current, shelves: Mutex::default(), pages, events }
    }

    /// What the catalog holds now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Runs `read` on what the catalog holds now, without taking a share of it.
    pub fn with<T>(&self, read: impl FnOnce(&Snapshot) -> T) -> T {
        read(&self.current.load())
    }

    /// Adds a provider. It lists nothing until it publishes.
    pub(crate) fn attach(self: &Arc<Self>, provider: Arc<dyn Provider>) -> Publisher {
        let mut shelves = self.shelves();
        shelves.push(Shelf { provider, listing: Arc::default() });
        Publisher { catalog: self.clone(), shelf: shelves.len() - 1 }
    }

    fn publish(&self, shelf: usize, listing: Listing) {
        let mut shelves = self.shelves();
        shelves[shelf].listing = Arc::new(listing);
        let parts: Vec<_> =
            shelves.iter().map(|it| (it.provider.clone(), it.listing.clone())).collect();
        let next = Arc::new(Snapshot::merge(&parts, &self.pages));
        let before = self.current.swap(next.clone());
        drop(shelves);
        for kind in before.changes_to(&next) {
            self.events.list_changed(kind);
        }
    }

    fn shelves(&self) -> MutexGuard<'_, Vec<Shelf>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A provider's pen: replaces what it lists, and says what changed.
#[derive(Debug, Clone)]
pub struct Publisher {
    catalog: Arc<Catalog>,
    shelf: usize,
}

impl Publisher {
    /// Replaces everything this provider lists. Clients hear only of lists that really changed.
    pub fn publish(&self, listing: Listing) {
        self.catalog.publish(self.shelf, listing);
    }

    /// Tells subscribers that a resource has new content.
    pub fn resource_updated(&self, uri: &str, metadata: Option<RawJson>) {
        self.catalog.events.resource_updated(uri.into(), metadata);
    }

    /// Tells subscribers that a list changed although its definitions did not.
    pub fn list_changed(&self, kind: ListKind) {
        self.catalog.events.list_changed(kind);
    }
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Shelf({})", self.provider.name())
    }
}

#[cfg(test)]
mod tests;
