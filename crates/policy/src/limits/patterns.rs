//! Settings by name, where a name may be a pattern: the most specific one that fits counts.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use gantry_gateway::pattern;

/// Values by pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns<T> {
    exact: HashMap<String, Chosen<T>>,
    /// Those with a `*`, the most specific one first.
    wild: Vec<Chosen<T>>,
}

/// A value, and the pattern under which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen<T> {
    pub(super) pattern: Arc<str>,
    pub(super) value: T,
}

impl<T> Patterns<T> {
    /// These values; where one name fits several patterns, the one with the most characters beside
    /// `*` counts.
    pub fn new(values: impl IntoIterator<Item = (String, T)>) -> Self {
        let mut patterns = Self::default();
        for (pattern, value) in values {
            let chosen = Chosen { pattern: pattern.as_str().into(), value };
            match pattern.contains('*') {
                true => patterns.wild.push(chosen),
                false => drop(patterns.exact.insert(pattern, chosen)),
            }
        }
        let plain = |pattern: &str| pattern.chars().filter(|sign| *sign != '*').count();
        patterns.wild.sort_by_key(|chosen| Reverse(plain(&chosen.pattern)));
        patterns
    }

    /// What counts for a name.
    pub(super) fn find(&self, name: &str) -> Option<&Chosen<T>> {
        let fits = |chosen: &&Chosen<T>| pattern::matches(&chosen.pattern, name);
        self.exact.get(name).or_else(|| self.wild.iter().find(fits))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.wild.is_empty()
    }
}

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Self { exact: HashMap::new(), wild: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_one_counts() {
        let values = ["*", "git*", "github_*", "github_get", "*_get"];
        let values = values.map(|pattern| (pattern.to_owned(), pattern.to_owned()));
        let patterns = Patterns::new(values);
        let cases = [
            ("github_get", "github_get"),
            ("github_put", "github_*"),
            ("gitlab_put", "git*"),
            ("gitlab_get", "*_get"),
            ("other", "*"),
        ];
        for (name, expected) in cases {
            assert_eq!(patterns.find(name).map(|it| &*it.value), Some(expected), "{name}");
        }
        assert!(Patterns::<u8>::default().find("a").is_none());
    }
}
