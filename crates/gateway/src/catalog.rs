//! Everything that can be called, as an immutable snapshot behind an atomic pointer.

mod awaiting;
mod cursor;
mod directory;
mod listing;
mod parts;
mod resolve;
mod snapshot;
mod sorted;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;
use gantry_protocol::RawJson;

use crate::events::{Events, Hearers};
use crate::page::ListKind;
use crate::policy::Screen;
use crate::provider::Provider;
use crate::watching::Watching;

pub use listing::Listing;
pub(crate) use snapshot::PageSettings;
use snapshot::Shelf;
pub use snapshot::{Snapshot, ToolVersions};
pub use sorted::SortedMap;

/// The catalog: what each provider has published, merged.
pub struct Catalog {
    current: Arc<ArcSwap<Snapshot>>,
    shelves: Mutex<Shelves>,
    /// Who looks at what comes into force.
    screens: Vec<Arc<dyn Screen>>,
    events: Arc<Events>,
    watching: Arc<Watching>,
}

/// What all providers list, in the order in which they were attached.
#[derive(Debug, Default)]
struct Shelves {
    all: BTreeMap<u64, Shelf>,
    /// The number of the last one: numbers are not used again.
    last: u64,
}

impl Catalog {
    pub(crate) fn new(
        pages: PageSettings,
        screens: Vec<Arc<dyn Screen>>,
        events: Arc<Events>,
    ) -> Self {
        let current = Arc::new(ArcSwap::from_pointee(Snapshot::empty(&pages)));
        let watching = Watching::over(current.clone());
        Self { current, shelves: Mutex::default(), screens, events, watching }
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
        shelves.last += 1;
        let number = shelves.last;
        shelves.all.insert(number, Shelf::new(number, provider, Listing::default()));
        Publisher { catalog: self.clone(), shelf: number }
    }

    /// Who hears which resources are watched.
    pub(crate) fn watching(&self) -> &Arc<Watching> {
        &self.watching
    }

    /// Everyone who may list something.
    fn providers(&self) -> Vec<Arc<dyn Provider>> {
        self.shelves().all.values().map(|shelf| shelf.provider.clone()).collect()
    }

    /// Puts a listing in the place of a shelf's old one.
    fn publish(&self, shelf: u64, listing: Listing) {
        self.change(|shelves| match shelves.get_mut(&shelf) {
            Some(it) => *it = Shelf::new(shelf, it.provider.clone(), listing),
            None => tracing::debug!("a provider that was withdrawn lists something"),
        });
    }

    /// Removes a shelf with everything on it.
    fn withdraw(&self, shelf: u64) {
        self.change(|shelves| drop(shelves.remove(&shelf)));
    }

    /// Has what is listed looked at again, since it may be judged otherwise now.
    fn screen_again(&self) {
        self.change(|_| {});
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u64, Shelf>)) {
        let mut shelves = self.shelves();
        change(&mut shelves.all);
        let mut next = self.current.load().merge(shelves.all.values());
        // Nobody is shown what was not judged.
        self.screens.iter().for_each(|screen| screen.screen(&mut next));
        let next = Arc::new(next);
        let before = self.current.swap(next.clone());
        drop(shelves);
        for kind in before.changes_to(&next) {
            self.events.list_changed(kind);
        }
        self.watching.tell();
    }

    /// Puts the versions of one tool in the place of those that the provider lists. That costs the
    /// same however many tools there are, unless several would have its name.
    fn replace(&self, number: u64, versions: &ToolVersions) {
        let mut shelves = self.shelves();
        let Some(shelf) = shelves.all.get_mut(&number) else {
            tracing::debug!("a provider that was withdrawn lists something");
            return;
        };
        let before = self.current.load_full();
        shelf.replace(versions);
        let next = before.with_versions(shelf, versions);
        let mut next = next.unwrap_or_else(|| before.merge(shelves.all.values()));
        let changed: Vec<_> = versions.listed.iter().chain(&versions.older).cloned().collect();
        self.screens.iter().for_each(|screen| screen.screen_tools(&mut next, &changed));
        let next = Arc::new(next);
        self.current.store(next.clone());
        drop(shelves);
        let definition = |snapshot: &Snapshot| {
            let tool = snapshot.tool(&versions.name).filter(|it| it.name == versions.name);
            tool.map(|it| it.definition.clone())
        };
        if definition(&before) != definition(&next) {
            self.events.list_changed(ListKind::Tools);
        }
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All catalogs of a gateway: its own, and those of its faces.
#[derive(Debug, Default)]
pub(crate) struct Catalogs(Mutex<Vec<Weak<Catalog>>>);

impl Catalogs {
    /// This one belongs to them for as long as it is there.
    pub(crate) fn join(&self, catalog: &Arc<Catalog>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|catalog| catalog.strong_count() > 0);
        all.push(Arc::downgrade(catalog));
    }

    /// Has what all of them list looked at again.
    pub(crate) fn screen_again(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().filter_map(Weak::upgrade).for_each(|catalog| catalog.screen_again());
    }
}

/// A provider's pen: replaces what it lists, and says what changed.
#[derive(Debug, Clone)]
pub struct Publisher {
    catalog: Arc<Catalog>,
    shelf: u64,
}

impl Publisher {
    /// Replaces everything this provider lists. Clients hear only of lists that really changed.
    pub fn publish(&self, listing: Listing) {
        self.catalog.publish(self.shelf, listing);
    }

    /// Replaces the versions of one tool in what this provider lists, and nothing else.
    pub fn replace(&self, versions: &ToolVersions) {
        self.catalog.replace(self.shelf, versions);
    }

    /// Takes the provider out of the catalog for good, with everything it lists. Calls under way
    /// go on; what it publishes afterwards is not taken.
    pub fn withdraw(&self) {
        self.catalog.withdraw(self.shelf);
    }

    /// Tells subscribers that a resource has new content.
    pub fn resource_updated(&self, uri: &str, metadata: Option<RawJson>) {
        self.catalog.events.resource_updated(uri.into(), metadata, None);
    }

    /// The same, where only some have this resource with that content.
    pub fn resource_updated_for(&self, uri: &str, metadata: Option<RawJson>, hearers: Hearers) {
        self.catalog.events.resource_updated(uri.into(), metadata, Some(hearers));
    }

    /// Tells subscribers that a list changed although its definitions did not.
    pub fn list_changed(&self, kind: ListKind) {
        self.catalog.events.list_changed(kind);
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Catalog").field(&self.current).finish()
    }
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Shelf({})", self.provider.name())
    }
}

#[cfg(test)]
mod tests;
