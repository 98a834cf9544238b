//! What was counted for each thing that has a rate, for a bounded number of things.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use super::key::{Key, KeyMap};
use super::rate::{Cell, Rate};

/// Locks, so that calls for different things seldom meet.
const SHARDS: usize = 16;

/// A cell for each key.
#[derive(Debug)]
pub(super) struct Buckets {
    shards: [RwLock<KeyMap<Cell>>; SHARDS],
}

impl Buckets {
    pub(super) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| RwLock::new(HashMap::default())) }
    }

    /// Takes one for this key at this time, or says how long until there is one. No more than so
    /// many keys are remembered.
    pub(super) fn take(&self, key: Key, rate: Rate, now: u64, most: usize) -> Result<(), Duration> {
        let shard = &self.shards[key.shard(SHARDS)];
        if let Some(cell) = shard.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return cell.take(rate, now);
        }
        let mut cells = shard.write().unwrap_or_else(PoisonError::into_inner);
        if !cells.contains_key(&key) {
            make_room(&mut cells, now, (most / SHARDS).max(1));
        }
        cells.entry(key).or_default().take(rate, now)
    }

    /// How many keys are remembered.
    pub(super) fn len(&self) -> usize {
        let of = |shard: &RwLock<KeyMap<Cell>>| {
            shard.read().unwrap_or_else(PoisonError::into_inner).len()
        };
        self.shards.iter().map(of).sum()
    }
}

/// Forgets what says nothing any more, and if that is not enough what comes nearest to it.
fn make_room(cells: &mut KeyMap<Cell>, now: u64, most: usize) {
    if cells.len() < most {
        return;
    }
    cells.retain(|_, cell| cell.settled() > now);
    while cells.len() >= most {
        let nearest = cells.iter().min_by_key(|(_, cell)| cell.settled());
        let Some(key) = nearest.map(|(key, _)| *key) else { return };
        cells.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Keys;
    use super::*;

    #[test]
    fn no_more_keys_are_remembered_than_may_be() {
        let (buckets, keys) = (Buckets::new(), Keys::new());
        let rate: Rate = "1/d".parse().expect("a rate");
        for number in 0..10_000 {
            assert_eq!(buckets.take(keys.of("test", &[&number.to_string()]), rate, 1, 160), Ok(()));
        }
        assert!(buckets.len() <= 160, "{}", buckets.len());
    }

    #[test]
    fn what_says_nothing_any_more_is_forgotten_first() {
        let (buckets, keys) = (Buckets::new(), Keys::new());
        let (slow, fast) = ("1/d".parse().expect("a rate"), "1000000/s".parse().expect("a rate"));
        let kept = keys.of("test", &["kept"]);
        assert_eq!(buckets.take(kept, slow, 0, 1600), Ok(()));
        for number in 0..10_000_u64 {
            let key = keys.of("test", &[&number.to_string()]);
            assert_eq!(buckets.take(key, fast, number * 1_000_000, 1600), Ok(()));
        }
        assert!(buckets.take(kept, slow, 10_000_000_000, 1600).is_err(), "it is still known");
    }
}
