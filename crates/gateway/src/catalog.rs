//! The catalog: all tools, prompts and resources of all providers, as an immutable snapshot behind an
//! atomic pointer. Readers take no lock.

mod name_index;
mod named_entry;
mod pages;
mod registration;
mod resolve;
mod snapshot;
mod sorted_map;
mod views;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;
use gantry_protocol::RawJson;

use self::registration::Registration;
use crate::events::{Events, Recipients};
use crate::filter::PublishHook;
use crate::provider::Provider;
use crate::subscriptions::WatchedResources;

pub use self::pages::{ListKind, Page};
pub(crate) use self::pages::{PageSettings, STARTING_TTL_MS};
pub use self::registration::{Listing, ToolVersions};
pub use self::snapshot::Snapshot;
pub use self::sorted_map::SortedMap;

/// The catalog: what each provider has published, merged.
pub struct Catalog {
    current: Arc<ArcSwap<Snapshot>>,
    registrations: Mutex<Registrations>,
    /// What runs before a snapshot is published.
    publish_hooks: Vec<Arc<dyn PublishHook>>,
    events: Arc<Events>,
    watching: Arc<WatchedResources>,
}

/// What all providers list, in the order in which they were attached.
#[derive(Debug, Default)]
struct Registrations {
    all: BTreeMap<u64, Registration>,
    /// The number of the last one: numbers are not used again.
    last: u64,
}

impl Catalog {
    pub(crate) fn new(
        pages: PageSettings,
        publish_hooks: Vec<Arc<dyn PublishHook>>,
        events: Arc<Events>,
    ) -> Self {
        let current = Arc::new(ArcSwap::from_pointee(Snapshot::empty(&pages)));
        let watching = WatchedResources::new(current.clone());
        Self { current, registrations: Mutex::default(), publish_hooks, events, watching }
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
        let mut registrations = self.registrations();
        registrations.last += 1;
        let number = registrations.last;
        registrations.all.insert(number, Registration::new(number, provider, Listing::default()));
        Publisher { catalog: self.clone(), registration: number }
    }

    /// The subscriptions to its resources.
    pub(crate) fn watching(&self) -> &Arc<WatchedResources> {
        &self.watching
    }

    /// All providers.
    fn providers(&self) -> Vec<Arc<dyn Provider>> {
        self.registrations()
            .all
            .values()
            .map(|registration| registration.provider.clone())
            .collect()
    }

    /// Puts a listing in the place of a registration's old one.
    fn publish(&self, registration: u64, listing: Listing) {
        self.change(|registrations| match registrations.get_mut(&registration) {
            Some(it) => *it = Registration::new(registration, it.provider.clone(), listing),
            None => tracing::debug!("ignoring a listing of a withdrawn provider"),
        });
    }

    /// Removes a registration with everything on it.
    fn withdraw(&self, registration: u64) {
        self.change(|registrations| drop(registrations.remove(&registration)));
    }

    /// Runs the publish hooks again on what is listed.
    fn run_publish_hooks(&self) {
        self.change(|_| {});
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u64, Registration>)) {
        let mut registrations = self.registrations();
        change(&mut registrations.all);
        let mut next = self.current.load().merge(registrations.all.values());
        // Before it is published: no client ever sees a definition that was not judged.
        self.publish_hooks.iter().for_each(|publish_hook| publish_hook.publish_hook(&mut next));
        let next = Arc::new(next);
        let before = self.current.swap(next.clone());
        drop(registrations);
        for kind in before.changes_to(&next) {
            self.events.list_changed(kind);
        }
        self.watching.report();
    }

    /// Puts the versions of one tool in the place of those that the provider lists. That costs the
    /// same however many tools there are, unless several would have its name.
    fn replace(&self, number: u64, versions: &ToolVersions) {
        let mut registrations = self.registrations();
        let Some(registration) = registrations.all.get_mut(&number) else {
            tracing::debug!("ignoring a listing of a withdrawn provider");
            return;
        };
        let before = self.current.load_full();
        registration.replace(versions);
        let next = before.with_versions(registration, versions);
        let mut next = next.unwrap_or_else(|| before.merge(registrations.all.values()));
        let changed: Vec<_> = versions.listed.iter().chain(&versions.older).cloned().collect();
        self.publish_hooks
            .iter()
            .for_each(|publish_hook| publish_hook.publish_tools_hook(&mut next, &changed));
        let next = Arc::new(next);
        self.current.store(next.clone());
        drop(registrations);
        let definition = |snapshot: &Snapshot| {
            let tool = snapshot.tool(&versions.name).filter(|it| it.name == versions.name);
            tool.map(|it| it.definition.clone())
        };
        if definition(&before) != definition(&next) {
            self.events.list_changed(ListKind::Tools);
        }
    }

    fn registrations(&self) -> MutexGuard<'_, Registrations> {
        self.registrations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All catalogs of a gateway: its own, and those of its virtual servers.
#[derive(Debug, Default)]
pub(crate) struct Catalogs(Mutex<Vec<Weak<Catalog>>>);

impl Catalogs {
    /// This one belongs to them for as long as it is there.
    pub(crate) fn register(&self, catalog: &Arc<Catalog>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|catalog| catalog.strong_count() > 0);
        all.push(Arc::downgrade(catalog));
    }

    /// Runs the publish hooks of all catalogs again.
    pub(crate) fn run_publish_hooks(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().filter_map(Weak::upgrade).for_each(|catalog| catalog.run_publish_hooks());
    }
}

/// A provider's handle to the catalog: replaces what it lists, and notifies of changes.
#[derive(Debug, Clone)]
pub struct Publisher {
    catalog: Arc<Catalog>,
    registration: u64,
}

impl Publisher {
    /// Replaces everything this provider lists. Clients hear only of lists that really changed.
    pub fn publish(&self, listing: Listing) {
        self.catalog.publish(self.registration, listing);
    }

    /// Replaces the versions of one tool in what this provider lists, and nothing else.
    pub fn replace(&self, versions: &ToolVersions) {
        self.catalog.replace(self.registration, versions);
    }

    /// Takes the provider out of the catalog for good, with everything it lists. Calls in flight
    /// continue; what it publishes afterwards is ignored.
    pub fn withdraw(&self) {
        self.catalog.withdraw(self.registration);
    }

    /// Notifies subscribers that a resource has new content.
    pub fn resource_updated(&self, uri: &str, metadata: Option<RawJson>) {
        self.catalog.events.resource_updated(uri.into(), metadata, None);
    }

    /// The same, where only some have this resource with that content.
    pub fn resource_updated_for(
        &self,
        uri: &str,
        metadata: Option<RawJson>,
        recipients: Recipients,
    ) {
        self.catalog.events.resource_updated(uri.into(), metadata, Some(recipients));
    }

    /// Notifies subscribers that a list changed although its definitions did not.
    pub fn list_changed(&self, kind: ListKind) {
        self.catalog.events.list_changed(kind);
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Catalog").field(&self.current).finish()
    }
}

impl std::fmt::Debug for Listing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Listing")
            .field("tools", &self.tools.len())
            .field("resources", &self.resources.len())
            .field("templates", &self.templates.len())
            .field("prompts", &self.prompts.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
