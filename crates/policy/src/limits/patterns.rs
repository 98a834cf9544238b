//! Settings by name pattern: of the patterns that match a name, the most specific one applies.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use gantry_gateway::{TargetNames, glob, qualified};

/// Values by pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns<T> {
    exact: HashMap<String, Chosen<T>>,
    /// Those with a `*`, the most specific one first.
    wild: Vec<Chosen<T>>,
    /// Those that name a server too, `SERVER/NAME`, in the same order.
    qualified: Vec<Chosen<T>>,
}

/// A value, and the pattern under which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen<T> {
    pub(super) pattern: Arc<str>,
    pub(super) value: T,
}

impl<T: Clone> Patterns<T> {
    /// These values; where one name fits several patterns, the one with the most characters beside
    /// `*` counts.
    pub fn new(values: impl IntoIterator<Item = (String, T)>) -> Self {
        let mut patterns = Self::default();
        for (pattern, value) in values {
            let chosen = Chosen { pattern: pattern.as_str().into(), value };
            if qualified(&pattern).is_some() {
                patterns.qualified.push(chosen.clone());
            }
            match pattern.contains('*') {
                true => patterns.wild.push(chosen),
                false => drop(patterns.exact.insert(pattern, chosen)),
            }
        }
        let plain = |pattern: &str| pattern.chars().filter(|sign| *sign != '*').count();
        let least = |chosen: &Chosen<T>| Reverse(plain(&chosen.pattern));
        patterns.wild.sort_by_key(least);
        patterns.qualified.sort_by_key(least);
        patterns
    }

    /// What counts for a name.
    pub(super) fn find(&self, name: &str) -> Option<&Chosen<T>> {
        let fits = |chosen: &&Chosen<T>| glob::matches(&chosen.pattern, name);
        self.exact.get(name).or_else(|| self.wild.iter().find(fits))
    }

    /// What counts for a tool that has `usual` where nothing is said; none if that counts.
    ///
    /// What is said of its canonical name, or of server and name, counts in any case. What is said
    /// of a name that its server can choose counts only if it is stricter: otherwise a server could
    /// choose a name with a wider limit.
    pub(super) fn find_tool(
        &self,
        names: &TargetNames<'_>,
        usual: &T,
        is_stricter: impl Fn(&T, &T) -> bool,
    ) -> Option<&Chosen<T>> {
        if self.is_empty() {
            return None;
        }
        let by_server = self.qualified.iter().find(|it| names.is_qualified_by(&it.pattern));
        let known = by_server.or_else(|| names.permitting().find_map(|name| self.find(name)));
        let exact = names.restricting().filter_map(|name| self.exact.get(name));
        let wild = self.wild.iter().filter(|it| names.is_restricted_by(&it.pattern));
        // What fits the canonical name too was weighed already, by how specific it is.
        let chosen = exact.chain(wild).filter(|it| !names.is_permitted_by(&it.pattern));
        chosen.fold(known, |best, other| {
            let value = best.map_or(usual, |best| &best.value);
            if is_stricter(&other.value, value) { Some(other) } else { best }
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.wild.is_empty()
    }
}

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Self { exact: HashMap::new(), wild: Vec::new(), qualified: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gantry_gateway::{CanonicalName, Origin, Target, ToolEntry};

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

    #[test]
    fn a_name_that_a_server_chose_only_narrows() {
        let tool = |shown: &str, canonical: &str| {
            let text = format!(r#"{{"name":"{shown}","inputSchema":{{"type":"object"}}}}"#);
            let text = gantry_protocol::RawJson::parse(text, Default::default()).unwrap();
            let mut tool = ToolEntry::new(text).unwrap();
            tool.origin = Some(Arc::new(Origin { server: "far".into(), identity: "x".into() }));
            let name = canonical.into();
            let canonical = CanonicalName { name, full: None, is_contested: false };
            tool.canonical = Some(Arc::new(canonical));
            Target::Tool(Arc::new(tool))
        };
        let target = tool("get", "f_get");
        // The values by pattern, the usual one, and the pattern that counts.
        type Case = (&'static [(&'static str, Option<u32>)], Option<u32>, Option<&'static str>);
        let cases: [Case; 10] = [
            (&[("f_get", Some(5))], Some(1), Some("f_get")),
            (&[("f_*", None)], Some(1), Some("f_*")),
            (&[("far/get", Some(5)), ("*", Some(1))], None, Some("far/get")),
            (&[("f_*", Some(9)), ("*", Some(1))], None, Some("f_*")),
            (&[("f_*", Some(9)), ("*get", Some(7)), ("g*", Some(1))], None, Some("g*")),
            (&[("get", Some(5))], Some(1), None),
            (&[("get", Some(5))], None, Some("get")),
            (&[("get", Some(5)), ("f_*", Some(9))], None, Some("get")),
            (&[("get", None), ("f_*", Some(9))], None, Some("f_*")),
            (&[("other", Some(1))], None, None),
        ];
        for (values, usual, expected) in cases {
            let named = values.iter().map(|(pattern, value)| ((*pattern).to_owned(), *value));
            let patterns = Patterns::new(named);
            let is_fewer = |one: &Option<u32>, other: &Option<u32>| match (one, other) {
                (Some(one), Some(other)) => one < other,
                (one, None) => one.is_some(),
                (None, _) => false,
            };
            let found = patterns.find_tool(&target.names(), &usual, is_fewer);
            assert_eq!(found.map(|it| &*it.pattern), expected, "{values:?} {usual:?}");
        }
    }
}
