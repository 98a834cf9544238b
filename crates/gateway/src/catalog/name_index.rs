//! Looks up tools or prompts by name: by the name that clients see, and by every other name of the same entry.
//! Two entries that would be shown under one name get different names, the same after each start.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::named_entry::{Named, client_names, is_shortened_from, with_client_names, with_suffix};
use super::sorted_map::SortedMap;
use crate::names::NameStyle;
use crate::provider::Provider;

/// A listed entry and its provider.
pub(super) struct Listed<T> {
    pub(super) entry: Arc<T>,
    pub(super) provider: Arc<dyn Provider>,
}

/// The tools or prompts of a catalog, by name.
pub(super) struct NameIndex<T> {
    /// By the name that clients see.
    shown: SortedMap<IndexedEntry<T>>,
    /// The names that clients see by every other name.
    aliases: SortedMap<Arc<[Alias]>>,
    /// Names that several entries want.
    contested: Arc<HashSet<String>>,
}

/// An entry as its provider listed it and as it is shown.
struct IndexedEntry<T> {
    listed: Listed<T>,
    /// As the provider listed it.
    base: Arc<T>,
    /// The same with its names, before a publish hook replaced its definition.
    made: Arc<T>,
    registration: u64,
}

/// What another name refers to. Of several the least wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Alias {
    registration: u64,
    kind: AliasKind,
    shown: Arc<str>,
}

/// Where an alias comes from, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AliasKind {
    /// It is the canonical name, or what the provider lists it as.
    Name,
    /// It is what its author wrote.
    Written,
    /// It is what it would be called if that had not been too long.
    Full,
    /// It is made of the names of server and tool.
    Contract,
}

/// An entry, and the name that it wants for clients.
struct Candidate<T> {
    name: String,
    registration: u64,
    provider: Arc<dyn Provider>,
    entry: Arc<T>,
}

/// What one provider lists, and the number of its registration.
pub(super) type ProviderEntries<T> = (u64, Arc<dyn Provider>, Vec<Arc<T>>);

impl<T: Named> Candidate<T> {
    /// Of two that would have one name, the lesser keeps it.
    fn rank(&self) -> (&str, u64, bool, &str) {
        let listed = self.entry.listed_as();
        (&self.name, self.registration, self.name != listed, listed)
    }
}

impl<T: Named> NameIndex<T> {
    /// Everything that these providers list. Of two things that would have one name, that of the
    /// earlier provider keeps it, then the one that has the name as it is, then the one whose own
    /// name comes first. What is the same as `before` is not made again.
    pub(super) fn new(
        providers: Vec<ProviderEntries<T>>,
        style: &NameStyle,
        before: &Self,
    ) -> Self {
        let mut candidates: Vec<Candidate<T>> = Vec::new();
        for (registration, provider, entries) in providers {
            for entry in entries {
                let name = style.fit(entry.listed_as());
                candidates.push(Candidate {
                    name,
                    registration,
                    provider: provider.clone(),
                    entry,
                });
            }
        }
        candidates.sort_by(|one, other| one.rank().cmp(&other.rank()));
        candidates.dedup_by(|later, first| {
            let (name, provider) = (later.entry.listed_as(), later.provider.name());
            let is_same =
                later.registration == first.registration && name == first.entry.listed_as();
            if is_same {
                tracing::warn!(name, provider, "a provider lists the same name twice; rename one");
            }
            is_same
        });
        let (mut taken, mut items, mut later) = (HashMap::new(), Vec::new(), Vec::new());
        for Candidate { name, registration, provider, entry } in candidates {
            if taken.contains_key(&name) {
                later.push((name, registration, provider, entry));
            } else {
                taken.insert(name.clone(), entry.canonical().name.to_owned());
                let item = IndexedEntry::new(
                    &name,
                    false,
                    (registration, &provider, entry),
                    style,
                    before,
                );
                items.push((name.into(), item));
            }
        }
        let mut contested = HashSet::new();
        for (name, registration, provider, entry) in later {
            let mut free = (0u32..).map(|number| with_suffix(style, &entry.canonical(), number));
            let shown = free.find(|it| !taken.contains_key(it)).unwrap_or_default();
            let other = taken.get(&name).map_or("", String::as_str);
            let canonical = entry.canonical().name;
            // The canonical name of what is shown under the name permits for that, not for this.
            let is_taken = canonical == other || canonical == name;
            if before.shown.get(&shown).is_none_or(|it| it.base.listed_as() != entry.listed_as()) {
                tracing::warn!(
                    "`{canonical}` is shown to clients as `{shown}`, because `{other}` is shown as \
                     `{name}`; both can be called; rename one of them to choose its name yourself"
                );
            }
            taken.insert(shown.clone(), canonical.to_owned());
            contested.insert(name);
            let item = IndexedEntry::new(
                &shown,
                is_taken,
                (registration, &provider, entry),
                style,
                before,
            );
            items.push((shown.into(), item));
        }
        let mut all: Vec<(Arc<str>, Alias)> =
            items.iter().flat_map(|(shown, item)| item.aliases(shown)).collect();
        all.sort();
        let mut aliases: Vec<(Arc<str>, Vec<Alias>)> = Vec::new();
        for (name, alias) in all {
            match aliases.last_mut() {
                Some((last, list)) if *last == name => list.push(alias),
                _ => aliases.push((name, vec![alias])),
            }
        }
        let aliases = aliases.into_iter().map(|(name, list)| (name, list.into())).collect();
        Self {
            shown: SortedMap::new(items),
            aliases: SortedMap::new(aliases),
            contested: Arc::new(contested),
        }
    }

    /// The same with this thing in the place of what the provider listed under its name. None if
    /// that concerns the names of others, which takes everything to be named again.
    pub(super) fn with(
        &self,
        (registration, provider): (u64, &Arc<dyn Provider>),
        entry: &Arc<T>,
        style: &NameStyle,
    ) -> Option<Self> {
        let name = style.fit(entry.listed_as());
        let mut next = self.without(registration, entry.listed_as(), style)?;
        if next.shown.get(&name).is_some() {
            return None;
        }
        let item =
            IndexedEntry::new(&name, false, (registration, provider, entry.clone()), style, self);
        let shown: Arc<str> = name.into();
        for (name, alias) in item.aliases(&shown) {
            let known = next.aliases.get(&name).into_iter().flat_map(|it| it.iter());
            let mut list: Vec<Alias> = known.cloned().chain([alias]).collect();
            list.sort();
            next.aliases.insert(name, list.into());
        }
        next.shown.insert(shown, item);
        Some(next)
    }

    /// The same without what the provider listed under a name.
    pub(super) fn without(
        &self,
        registration: u64,
        listed: &str,
        style: &NameStyle,
    ) -> Option<Self> {
        let name = style.fit(listed);
        if self.contested.contains(&name) {
            return None;
        }
        let mut next = self.clone();
        let is_meant = |it: &&IndexedEntry<T>| {
            it.registration == registration && it.base.listed_as() == listed
        };
        if let Some(item) = self.shown.get(&name).filter(is_meant) {
            let shown: Arc<str> = name.as_str().into();
            for (name, alias) in item.aliases(&shown) {
                let known = next.aliases.get(&name).into_iter().flat_map(|it| it.iter());
                let list: Vec<Alias> = known.filter(|it| **it != alias).cloned().collect();
                match list.is_empty() {
                    true => drop(next.aliases.remove(&name)),
                    false => drop(next.aliases.insert(name, list.into())),
                }
            }
            next.shown.remove(&name);
        }
        Some(next)
    }

    /// What a name means: the thing that clients see under it, or else the one that it is another
    /// name of. None if that is not certain.
    pub(super) fn find(&self, name: &str) -> Option<&Listed<T>> {
        let item = self.shown.get(name).or_else(|| match &**self.aliases.get(name)? {
            [one] => self.shown.get(&one.shown),
            [one, other, ..] if (one.registration, one.kind) < (other.registration, other.kind) => {
                self.shown.get(&one.shown)
            }
            _ => None,
        });
        item.map(|it| &it.listed)
    }

    /// All of them, by the names that clients see.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Listed<T>)> {
        self.shown.iter().map(|(name, item)| (&**name, &item.listed))
    }

    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// Shows others in the place of these, under the same names. Where there is none, nothing is.
    pub(super) fn replace(&mut self, instead: &mut impl FnMut(Arc<T>) -> Option<Arc<T>>) {
        let replaced = |(name, item): (&Arc<str>, &IndexedEntry<T>)| {
            let entry = instead(item.listed.entry.clone())?;
            let listed = Listed { entry, provider: item.listed.provider.clone() };
            Some((name.clone(), IndexedEntry { listed, ..item.clone() }))
        };
        self.shown = SortedMap::new(self.shown.iter().filter_map(replaced).collect());
    }

    /// Those that are seen. What they are called does not depend on what is not.
    pub(super) fn filter(&self, sees: impl Fn(&Arc<T>) -> bool) -> Self {
        let kept = self.shown.iter().filter(|(_, it)| sees(&it.listed.entry));
        let kept = kept.map(|(name, it)| (name.clone(), it.clone())).collect();
        Self { shown: SortedMap::new(kept), ..self.clone() }
    }
}

impl<T: Named> IndexedEntry<T> {
    fn new(
        shown: &str,
        is_taken: bool,
        (registration, provider, base): (u64, &Arc<dyn Provider>, Arc<T>),
        style: &NameStyle,
        before: &NameIndex<T>,
    ) -> Self {
        let names = client_names(&*base, shown, is_taken, style);
        let known = before.shown.get(shown).filter(|it| Arc::ptr_eq(&it.base, &base));
        let known = known.filter(|it| it.made.client_names() == names.as_ref());
        let entry = match (known, names) {
            (Some(known), _) => known.made.clone(),
            (None, None) => base.clone(),
            (None, names) => Arc::new(with_client_names(&*base, names)),
        };
        let made = entry.clone();
        Self { listed: Listed { entry, provider: provider.clone() }, base, made, registration }
    }

    /// Every other name, and what it means.
    fn aliases(&self, shown: &Arc<str>) -> Vec<(Arc<str>, Alias)> {
        let names = self.base.canonical();
        let contract = self.made.client_names().and_then(|it| it.contract.as_deref());
        let all = [
            (AliasKind::Name, Some(names.name)),
            (AliasKind::Name, Some(self.base.listed_as())),
            (AliasKind::Written, self.base.written().map(|it| &**it)),
            (AliasKind::Full, names.full.filter(|full| is_shortened_from(full, names.name))),
            (AliasKind::Contract, contract),
        ];
        let mut found: Vec<(Arc<str>, Alias)> = Vec::new();
        for (kind, name) in all {
            let name = name.filter(|name| **name != **shown);
            if let Some(name) = name.filter(|name| found.iter().all(|(it, _)| **it != **name)) {
                found.push((
                    name.into(),
                    Alias { registration: self.registration, kind, shown: shown.clone() },
                ));
            }
        }
        found
    }
}

impl<T> Default for NameIndex<T> {
    fn default() -> Self {
        let (shown, aliases, contested) = Default::default();
        Self { shown, aliases, contested }
    }
}

impl<T> Clone for NameIndex<T> {
    fn clone(&self) -> Self {
        let (shown, aliases) = (self.shown.clone(), self.aliases.clone());
        Self { shown, aliases, contested: self.contested.clone() }
    }
}

impl<T> Clone for IndexedEntry<T> {
    fn clone(&self) -> Self {
        let (base, made) = (self.base.clone(), self.made.clone());
        Self { listed: self.listed.clone(), base, made, registration: self.registration }
    }
}

impl<T> Clone for Listed<T> {
    fn clone(&self) -> Self {
        Self { entry: self.entry.clone(), provider: self.provider.clone() }
    }
}
