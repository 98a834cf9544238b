//! A registered provider, and what it lists.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::name_index::Listed;
use super::sorted_map::SortedMap;
use crate::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::provider::{Matcher, Provider};

impl fmt::Debug for Registration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Registration({})", self.provider.name())
    }
}

/// Everything one provider lists, in any order.
#[derive(Clone, Default)]
pub struct Listing {
    /// Its tools.
    pub tools: Vec<Arc<ToolEntry>>,
    /// Older versions of its tools. They are in no list, but can be called by `name@version`.
    pub older: Vec<Arc<ToolEntry>>,
    /// Its resources.
    pub resources: Vec<Arc<ResourceEntry>>,
    /// Its templates, and what each covers.
    pub templates: Vec<(Arc<TemplateEntry>, Matcher)>,
    /// Its prompts.
    pub prompts: Vec<Arc<PromptEntry>>,
}

/// What one provider lists, and its number in the order of all.
pub(super) struct Registration {
    pub(super) number: u64,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) tools: SortedMap<Arc<ToolEntry>>,
    pub(super) older: SortedMap<Arc<[Arc<ToolEntry>]>>,
    /// What is listed beside tools.
    pub(super) rest: Arc<Listing>,
}

/// All versions of one tool that a provider lists.
#[derive(Debug, Clone)]
pub struct ToolVersions {
    /// The name under which the provider lists it.
    pub name: String,
    /// The one in the list; none if there is none any more.
    pub listed: Option<Arc<ToolEntry>>,
    /// Older ones, which can be called by `name@version`.
    pub older: Vec<Arc<ToolEntry>>,
}

impl Registration {
    pub(super) fn new(number: u64, provider: Arc<dyn Provider>, listing: Listing) -> Self {
        let Listing { tools, older, resources, templates, prompts } = listing;
        let by_name = |it: Arc<ToolEntry>| (it.name.as_str().into(), it);
        let mut versions: BTreeMap<String, Vec<Arc<ToolEntry>>> = BTreeMap::new();
        for entry in older {
            versions.entry(entry.name.clone()).or_default().push(entry);
        }
        let versions = versions.into_iter().map(|(name, all)| (name.into(), all.into()));
        let rest = Listing { resources, templates, prompts, ..Listing::default() };
        Self {
            number,
            provider,
            tools: SortedMap::new(tools.into_iter().map(by_name).collect()),
            older: SortedMap::new(versions.collect()),
            rest: Arc::new(rest),
        }
    }

    /// Puts the versions of a tool in the place of those before.
    pub(super) fn replace(&mut self, versions: &ToolVersions) {
        let name: Arc<str> = versions.name.as_str().into();
        match versions.older.is_empty() {
            true => drop(self.older.remove(&name)),
            false => drop(self.older.insert(name.clone(), versions.older.clone().into())),
        }
        match &versions.listed {
            Some(entry) => drop(self.tools.insert(name, entry.clone())),
            None => drop(self.tools.remove(&name)),
        }
    }
}

/// All resources, sorted. Of two with one address the earlier provider's stays.
pub(super) fn resources<'a>(
    registrations: impl Iterator<Item = &'a Registration>,
) -> Vec<Listed<ResourceEntry>> {
    let list = |registration: &'a Registration| {
        let listed = |entry: &Arc<ResourceEntry>| Listed {
            entry: entry.clone(),
            provider: registration.provider.clone(),
        };
        registration.rest.resources.iter().map(listed)
    };
    let mut all: Vec<_> = registrations.flat_map(list).collect();
    // The sort is stable, so of two with one address the earlier provider's comes first.
    all.sort_by(|one, other| one.entry.uri.cmp(&other.entry.uri));
    all.dedup_by(|later, first| {
        let same = later.entry.uri == first.entry.uri;
        if same {
            let (uri, kept, hidden) =
                (&first.entry.uri, first.provider.name(), later.provider.name());
            tracing::warn!(uri, kept, hidden, "two providers list the same address; rename one");
        }
        same
    });
    all
}
