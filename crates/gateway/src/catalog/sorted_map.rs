//! A persistent sorted map: it shares its chunks with the maps that it was made from. A change copies one chunk
//! and the list of chunks, however many entries there are.

use std::sync::Arc;

/// The most entries of one part.
const MOST: usize = 128;

/// One part of the map: keys and values, sorted.
type Chunk<V> = Arc<Vec<(Arc<str>, V)>>;

/// A map from names to values, sorted by name. To clone it costs little.
pub struct SortedMap<V> {
    /// Never empty ones.
    chunks: Vec<Chunk<V>>,
    len: usize,
}

impl<V: Clone> SortedMap<V> {
    /// A map of these entries. Of two with one name the first stays.
    pub fn new(mut entries: Vec<(Arc<str>, V)>) -> Self {
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries.dedup_by(|(later, _), (first, _)| later == first);
        let len = entries.len();
        let (mut chunks, mut entries) = (Vec::with_capacity(len / MOST + 1), entries.into_iter());
        loop {
            // Half full, so that there is room for more.
            let chunk: Vec<_> = entries.by_ref().take(MOST / 2).collect();
            if chunk.is_empty() {
                return Self { chunks, len };
            }
            chunks.push(Arc::new(chunk));
        }
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&V> {
        let chunk = self.chunks.get(self.chunk_of(name))?;
        let index = chunk.binary_search_by(|(key, _)| (**key).cmp(name)).ok()?;
        chunk.get(index).map(|(_, value)| value)
    }

    /// Sets the value of a name; gives the one before.
    pub fn insert(&mut self, name: Arc<str>, value: V) -> Option<V> {
        let index = self.chunk_of(&name).min(self.chunks.len().saturating_sub(1));
        let Some(chunk) = self.chunks.get_mut(index) else {
            self.chunks.push(Arc::new(vec![(name, value)]));
            self.len = 1;
            return None;
        };
        let chunk = Arc::make_mut(chunk);
        match chunk.binary_search_by(|(key, _)| (**key).cmp(&*name)) {
            Ok(at) => Some(std::mem::replace(&mut chunk[at].1, value)),
            Err(at) => {
                chunk.insert(at, (name, value));
                self.len += 1;
                if chunk.len() > MOST {
                    let upper = chunk.split_off(MOST / 2);
                    self.chunks.insert(index + 1, Arc::new(upper));
                }
                None
            }
        }
    }

    /// Removes a name; gives its value.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        let index = self.chunk_of(name);
        let chunk = Arc::make_mut(self.chunks.get_mut(index)?);
        let at = chunk.binary_search_by(|(key, _)| (**key).cmp(name)).ok()?;
        let (_, value) = chunk.remove(at);
        if chunk.is_empty() {
            self.chunks.remove(index);
        }
        self.len -= 1;
        Some(value)
    }

    /// The first part whose last name is not before this one; the number of parts if there is none.
    fn chunk_of(&self, name: &str) -> usize {
        self.chunks.partition_point(|it| it.last().is_some_and(|(last, _)| **last < *name))
    }
}

impl<V> SortedMap<V> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, by name.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Arc<str>, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|(name, value)| (name, value))
    }

    /// The entries from one name to another one, which is left out.
    pub fn range(&self, from: &str, to: &str) -> impl Iterator<Item = (&Arc<str>, &V)> {
        let is_before = |it: &Chunk<V>| it.last().is_some_and(|(last, _)| **last < *from);
        let first = self.chunks.partition_point(is_before);
        let entries = self.chunks.iter().skip(first).flat_map(|chunk| chunk.iter());
        let entries = entries.map(|(name, value)| (name, value));
        entries
            .skip_while(move |(name, _)| ***name < *from)
            .take_while(move |(name, _)| ***name < *to)
    }

    /// All values, by name.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<V> Clone for SortedMap<V> {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone(), len: self.len }
    }
}

impl<V> Default for SortedMap<V> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<V: std::fmt::Debug> std::fmt::Debug for SortedMap<V> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn it_is_like_a_map_and_leaves_its_copies_alone() {
        let (mut sorted, mut expected) = (SortedMap::<u32>::default(), BTreeMap::new());
        let mut state = 1u32;
        for step in 0..20_000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let name = format!("{:03}", (state >> 16) % 1000);
            let before = sorted.clone();
            if state >> 31 == 0 {
                assert_eq!(sorted.insert(name.as_str().into(), step), expected.get(&name).copied());
                expected.insert(name, step);
            } else {
                assert_eq!(sorted.remove(&name), expected.get(&name).copied());
                assert_eq!(before.get(&name), expected.remove(&name).as_ref());
            }
            assert_eq!(sorted.len(), expected.len());
        }
        let all: Vec<_> = sorted.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        assert_eq!(all, expected.into_iter().collect::<Vec<_>>());
        let again = SortedMap::new(sorted.iter().map(|(it, n)| (it.clone(), *n)).collect());
        assert!(again.iter().eq(sorted.iter()) && again.get("nothing").is_none());
    }

    #[test]
    fn a_change_copies_one_part() {
        let entries = (0..10_000u32).map(|it| (format!("{it:05}").into(), it)).collect();
        let before = SortedMap::new(entries);
        let mut after = before.clone();
        after.insert("05000x".into(), 0);
        let shared = |it: &&Chunk<u32>| before.chunks.iter().any(|other| Arc::ptr_eq(it, other));
        assert_eq!(after.chunks.iter().filter(shared).count() + 1, before.chunks.len());
    }
}
