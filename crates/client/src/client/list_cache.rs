//! Lists that may be kept for a while.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::event::{ChangedList, Event};
use crate::request::{List, Listed};

const LISTS: usize = 4;

/// The lists of one server, for as long as it says that they may be kept.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<[Slot; LISTS]>);

#[derive(Debug, Default)]
struct Slot {
    /// How often the list was said to have changed.
    version: u64,
    kept: Option<(Instant, Listed)>,
}

impl Cache {
    /// The list, if it is still good.
    pub(super) fn fresh(&self, list: List) -> Option<Listed> {
        let slots = self.slots();
        let (until, listed) = slots[list as usize].kept.as_ref()?;
        (Instant::now() < *until).then(|| listed.clone())
    }

    /// To be taken before a list is asked for, and shown when it is to be kept: what changes
    /// meanwhile must not be kept.
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

    /// Forgets what an event says has changed.
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

    /// Forgets a list, also one that is on its way.
    pub(super) fn forget(&self, list: List) {
        let slot = &mut self.slots()[list as usize];
        slot.version += 1;
        slot.kept = None;
    }

    fn slots(&self) -> MutexGuard<'_, [Slot; LISTS]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
