//! A cache of the server's lists, with the TTL that the server sets.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::event::{ChangedList, Event};
use crate::request::{List, Listed};

const LISTS: usize = 4;

/// The cached lists of one server.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<[Slot; LISTS]>);

#[derive(Debug, Default)]
struct Slot {
    /// Counts announced changes.
    version: u64,
    kept: Option<(Instant, Listed)>,
}

impl Cache {
    /// The list, if it is fresh.
    pub(super) fn fresh(&self, list: List) -> Option<Listed> {
        let slots = self.slots();
        let (until, listed) = slots[list as usize].kept.as_ref()?;
        (Instant::now() < *until).then(|| listed.clone())
    }

    /// The version to read before a request and to pass to `store`: a response that a change
    /// overtook must not be cached.
    pub(super) fn version_of(&self, list: List) -> u64 {
        self.slots()[list as usize].version
    }

    pub(super) fn store(&self, list: List, version_of: u64, listed: &Listed) {
        let mut slots = self.slots();
        let slot = &mut slots[list as usize];
        if slot.version == version_of && !listed.ttl.is_zero() {
            slot.kept = Instant::now().checked_add(listed.ttl).map(|until| (until, listed.clone()));
        }
    }

    /// Invalidates what an event reports as changed.
    pub(super) fn invalidate(&self, event: &Event) {
        let stale: &[List] = match event {
            Event::ListChanged(ChangedList::Tools) => &[List::Tools],
            Event::ListChanged(ChangedList::Prompts) => &[List::Prompts],
            Event::ListChanged(ChangedList::Resources) => &[List::Resources, List::Templates],
            Event::Reconnected => &[List::Tools, List::Resources, List::Templates, List::Prompts],
            Event::ResourceUpdated { .. } | Event::Log(..) => &[],
        };
        stale.iter().for_each(|list| self.forget(*list));
    }

    /// Invalidates a list, also one that is being fetched.
    pub(super) fn forget(&self, list: List) {
        let slot = &mut self.slots()[list as usize];
        slot.version += 1;
        slot.kept = None;
    }

    fn slots(&self) -> MutexGuard<'_, [Slot; LISTS]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
