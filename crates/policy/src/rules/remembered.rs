//! What was worked out once and is looked up with no lock: maps that are copied to be changed, so
//! many that each stays small.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

const SHARDS: usize = 64;

/// Findings by a number that is spread evenly. When there is no more room, some are forgotten.
#[derive(Debug)]
pub(super) struct Remembered<T> {
    shards: Box<[ArcSwap<Shard<T>>]>,
    /// The most that one of them holds.
    limit: usize,
}

type Shard<T> = HashMap<u64, Arc<T>>;

impl<T> Remembered<T> {
    /// Room for about so many.
    pub(super) fn new(limit: usize) -> Self {
        let shards = (0..SHARDS).map(|_| ArcSwap::default()).collect();
        Self { shards, limit: limit.div_ceil(SHARDS).max(1) }
    }

    /// What is known under the number, if it is the one meant; else what is found out now.
    pub(super) fn find(
        &self,
        number: u64,
        is_meant: impl Fn(&T) -> bool,
        find: impl FnOnce() -> T,
    ) -> Arc<T> {
        let shard = &self.shards[number as usize % SHARDS];
        if let Some(known) = shard.load().get(&number).filter(|known| is_meant(known)) {
            return known.clone();
        }
        let found = Arc::new(find());
        // Of two who change at once one may lose what it found, and finds it again.
        let mut copy = HashMap::clone(&shard.load());
        if copy.len() >= self.limit {
            copy.clear();
        }
        copy.insert(number, found.clone());
        shard.store(Arc::new(copy));
        found
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.load().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_out_once_and_bounded() {
        let remembered = Remembered::new(128);
        for number in 0..10_000 {
            assert_eq!(*remembered.find(number, |_| true, || number), number);
            assert_eq!(*remembered.find(number, |_| true, || 0), number, "it is known");
            assert_eq!(*remembered.find(number, |_| false, || 7), 7, "another one is meant");
            assert!(remembered.count() <= 128);
        }
    }
}
