//! Short names for what is counted, made without allocating: a keyed hash of who and what.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

/// What is counted, as a number. Nobody outside can make two things meet in one, since the key of
/// the hash is made at random at each start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

impl Key {
    /// Which of so many parts of a map it belongs to.
    pub(super) fn shard(self, shards: usize) -> usize {
        // The map itself uses the low bits.
        (self.0 >> 32) as usize % shards
    }
}

/// Makes keys.
#[derive(Debug)]
pub(super) struct Keys(RandomState);

impl Keys {
    pub(super) fn new() -> Self {
        Self(RandomState::new())
    }

    /// The key of what these names have to do with. Names are told apart.
    pub(super) fn of(&self, what: &str, parts: &[&str]) -> Key {
        let mut hasher = self.0.build_hasher();
        what.hash(&mut hasher);
        for part in parts {
            part.hash(&mut hasher);
        }
        Key(hasher.finish())
    }
}

/// A map by key. Keys are hashes already.
pub(super) type KeyMap<T> = HashMap<Key, T, BuildHasherDefault<AsIs>>;

/// Takes a key as its own hash.
#[derive(Debug, Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
