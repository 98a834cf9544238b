//! An immutable snapshot of the catalog: sorted, merged lists, looked up by binary search. Pages are
//! serialized on first use. Tools are in sorted maps that share their parts with the previous snapshot, so that
//! to register one tool costs the same however many there are.

use std::sync::{Arc, OnceLock};

use gantry_protocol::RawJson;

use super::name_index::{Listed, NameIndex};
use super::named_entry::with_client_names;
use super::pages::{self, ListKind, Page, PageSettings, PagesByStart};
use super::registration::{Registration, ToolVersions, resources};
use super::sorted_map::SortedMap;
use super::views::FilteredSnapshots;
use crate::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::filter::View;
use crate::provider::{Matcher, Target};

/// One state of the catalog. It never changes; a change makes a new one, and shares with it what did
/// not change.
#[derive(Clone)]
pub struct Snapshot {
    tools: NameIndex<ToolEntry>,
    /// Older versions of tools, by `name@version`.
    older: SortedMap<Listed<ToolEntry>>,
    pub(super) resources: Arc<Vec<Listed<ResourceEntry>>>,
    pub(super) templates: Arc<Vec<(Listed<TemplateEntry>, Matcher)>>,
    prompts: NameIndex<PromptEntry>,
    pages: PageSettings,
    /// The pages of each list.
    lists: [Arc<OnceLock<PagesByStart>>; 4],
    /// What of it some callers see, each made when first asked for.
    filtered: Arc<FilteredSnapshots>,
}

impl Snapshot {
    /// One that lists nothing.
    pub(super) fn empty(pages: &PageSettings) -> Self {
        Self {
            tools: NameIndex::default(),
            older: SortedMap::default(),
            resources: Arc::default(),
            templates: Arc::default(),
            prompts: NameIndex::default(),
            pages: *pages,
            lists: Default::default(),
            filtered: Arc::default(),
        }
    }

    /// Merges what all providers list. What is the same as in this state is not made again.
    pub(super) fn merge<'a>(
        &self,
        registrations: impl Iterator<Item = &'a Registration> + Clone,
    ) -> Self {
        let (mut tools, mut prompts) = (Vec::new(), Vec::new());
        for registration in registrations.clone() {
            let listed = registration.tools.values().cloned().collect();
            tools.push((registration.number, registration.provider.clone(), listed));
            prompts.push((
                registration.number,
                registration.provider.clone(),
                registration.rest.prompts.clone(),
            ));
        }
        let matchers = registrations.clone().flat_map(|registration| {
            let list = |(entry, matcher): &(Arc<TemplateEntry>, Matcher)| {
                (
                    Listed { entry: entry.clone(), provider: registration.provider.clone() },
                    matcher.clone(),
                )
            };
            registration.rest.templates.iter().map(list)
        });
        let mut templates: Vec<_> = matchers.collect();
        let text = |it: &(Listed<TemplateEntry>, Matcher)| it.0.entry.uri_template.clone();
        templates.sort_by_key(text);
        templates.dedup_by(|later, first| text(later) == text(first));
        let style = &self.pages.names;
        let mut next = Self {
            tools: NameIndex::new(tools, style, &self.tools),
            older: SortedMap::default(),
            resources: Arc::new(resources(registrations.clone())),
            templates: Arc::new(templates),
            prompts: NameIndex::new(prompts, style, &self.prompts),
            pages: self.pages,
            lists: Default::default(),
            filtered: Arc::default(),
        };
        let mut all = Vec::new();
        for registration in registrations {
            let named = registration.older.iter();
            all.extend(named.flat_map(|(name, older)| next.older_of(registration, name, older)));
        }
        next.older = SortedMap::new(all);
        next
    }

    /// The same with other versions of one tool. None if that concerns the names of others.
    pub(super) fn with_versions(
        &self,
        registration: &Registration,
        versions: &ToolVersions,
    ) -> Option<Self> {
        let (style, name) = (&self.pages.names, &versions.name);
        let tools = match &versions.listed {
            Some(entry) => {
                self.tools.with((registration.number, &registration.provider), entry, style)?
            }
            None => self.tools.without(registration.number, name, style)?,
        };
        let mut next = Self { tools, filtered: Arc::default(), ..self.clone() };
        next.lists[ListKind::Tools as usize] = Arc::default();
        let (from, to) = (format!("{name}@"), format!("{name}A"));
        let is_ours = |it: &&Listed<ToolEntry>| Arc::ptr_eq(&it.provider, &registration.provider);
        let gone = self.older.range(&from, &to).filter(|(_, it)| is_ours(it));
        for (key, _) in gone {
            next.older.remove(key);
        }
        for (key, listed) in next.older_of(registration, name, &versions.older) {
            if next.older.get(&key).is_none() {
                next.older.insert(key, listed);
            }
        }
        Some(next)
    }

    /// Older versions under the names for clients that the newest one has.
    fn older_of(
        &self,
        registration: &Registration,
        name: &str,
        older: &[Arc<ToolEntry>],
    ) -> Vec<(Arc<str>, Listed<ToolEntry>)> {
        let is_ours = |it: &&Listed<ToolEntry>| {
            it.entry.name == name && Arc::ptr_eq(&it.provider, &registration.provider)
        };
        let newest = self.tools.find(name).filter(is_ours);
        let names = newest.and_then(|it| it.entry.client_names.clone());
        let listed = |entry: &Arc<ToolEntry>| {
            let version = entry.version.as_deref().unwrap_or_default();
            let key: Arc<str> = format!("{}@{version}", entry.name).into();
            let known = self.older.get(&key).filter(|it| {
                Arc::ptr_eq(&it.entry.own, &entry.own) && it.entry.client_names == names
            });
            let entry = match known {
                Some(known) => known.entry.clone(),
                None => Arc::new(with_client_names(&**entry, names.clone())),
            };
            (key, Listed { entry, provider: registration.provider.clone() })
        };
        older.iter().map(listed).collect()
    }

    /// Shows other tools in the place of those listed: the same under the same name, but for their
    /// definitions. Where there is none, the tool is not listed.
    pub fn replace_tools(
        &mut self,
        mut instead: impl FnMut(Arc<ToolEntry>) -> Option<Arc<ToolEntry>>,
    ) {
        self.tools.replace(&mut instead);
        let replaced = |(key, it): (&Arc<str>, &Listed<ToolEntry>)| {
            let listed =
                Listed { entry: instead(it.entry.clone())?, provider: it.provider.clone() };
            Some((key.clone(), listed))
        };
        self.older = SortedMap::new(self.older.iter().filter_map(replaced).collect());
    }

    /// The same for prompts.
    pub fn replace_prompts(
        &mut self,
        mut instead: impl FnMut(Arc<PromptEntry>) -> Option<Arc<PromptEntry>>,
    ) {
        self.prompts.replace(&mut instead);
    }

    /// What of it is shown by all these views.
    pub(crate) fn seen_by(&self, views: &[View]) -> Arc<Self> {
        self.filtered.get_or_build(views, || {
            self.filter(|target| views.iter().all(|view| (view.sees)(target)))
        })
    }

    fn filter(&self, sees: impl Fn(&Target) -> bool) -> Self {
        let template = |it: &&(Listed<TemplateEntry>, Matcher)| {
            let entry = &it.0.entry;
            sees(&Target::Template(entry.clone(), entry.uri_template.clone()))
        };
        let resource = |it: &&Listed<ResourceEntry>| sees(&Target::Resource(it.entry.clone()));
        let older = self.older.iter().filter(|(_, it)| sees(&Target::Tool(it.entry.clone())));
        Self {
            tools: self.tools.filter(|it| sees(&Target::Tool(it.clone()))),
            older: SortedMap::new(older.map(|(key, it)| (key.clone(), it.clone())).collect()),
            resources: Arc::new(self.resources.iter().filter(resource).cloned().collect()),
            templates: Arc::new(self.templates.iter().filter(template).cloned().collect()),
            prompts: self.prompts.filter(|it| sees(&Target::Prompt(it.clone()))),
            pages: self.pages,
            lists: Default::default(),
            filtered: Arc::default(),
        }
    }

    /// The tool that a name means: the one that clients see under it, or that has it otherwise.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.find_tool_entry(name).map(|listed| &listed.entry)
    }

    pub(super) fn find_tool_entry(&self, name: &str) -> Option<&Listed<ToolEntry>> {
        self.tools.find(name).or_else(|| self.find_version(name))
    }

    /// A tool in a version that the caller insists on, `name@version`. No name has that sign.
    fn find_version(&self, name: &str) -> Option<&Listed<ToolEntry>> {
        let (name, version) = name.split_once('@')?;
        let newest = self.tools.find(name)?;
        if newest.entry.version.as_deref() == Some(version) {
            return Some(newest);
        }
        self.older.get(&format!("{}@{version}", newest.entry.name))
    }

    pub(super) fn find_prompt_entry(&self, name: &str) -> Option<&Listed<PromptEntry>> {
        self.prompts.find(name)
    }

    /// All tools, in the order of the names that clients see.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.tools.iter().map(|(_, listed)| &listed.entry)
    }

    /// Older versions of tools, which are in no list.
    pub fn older(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.older.values().map(|listed| &listed.entry)
    }

    /// All prompts, in the order of the names that clients see.
    pub fn prompts(&self) -> impl Iterator<Item = &Arc<PromptEntry>> {
        self.prompts.iter().map(|(_, listed)| &listed.entry)
    }

    /// Everything that is listed, templates as they are listed.
    pub fn targets(&self) -> Vec<Target> {
        let tools = self.tools().map(|it| Target::Tool(it.clone()));
        let resources = self.resources.iter().map(|it| Target::Resource(it.entry.clone()));
        let templates = self
            .templates
            .iter()
            .map(|(it, _)| Target::Template(it.entry.clone(), it.entry.uri_template.clone()));
        let prompts = self.prompts().map(|it| Target::Prompt(it.clone()));
        tools.chain(resources).chain(templates).chain(prompts).collect()
    }

    /// How many things a list holds.
    pub fn count(&self, kind: ListKind) -> usize {
        match kind {
            ListKind::Tools => self.tools.len(),
            ListKind::Resources => self.resources.len(),
            ListKind::Templates => self.templates.len(),
            ListKind::Prompts => self.prompts.len(),
        }
    }

    /// The lists that differ between this state and the next, templates counted as resources.
    pub(super) fn changes_to(&self, next: &Self) -> Vec<ListKind> {
        let differs = |kind: ListKind| self.items(kind) != next.items(kind);
        let resources = differs(ListKind::Resources) || differs(ListKind::Templates);
        let changed = [
            (ListKind::Tools, differs(ListKind::Tools)),
            (ListKind::Resources, resources),
            (ListKind::Prompts, differs(ListKind::Prompts)),
        ];
        changed.into_iter().filter_map(|(kind, differs)| differs.then_some(kind)).collect()
    }

    /// The page that a cursor points to, the first without one; none for a cursor not of ours.
    pub(crate) fn page(&self, kind: ListKind, cursor: Option<&str>) -> Option<Arc<Page>> {
        let pages = self.lists[kind as usize].get_or_init(|| self.build_pages(kind));
        // Some clients send an empty cursor for the first page.
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
            return pages.first().map(|(_, page)| page.clone());
        };
        let after = pages::decode_cursor(kind, cursor)?;
        let items = self.items(kind);
        let start = items.partition_point(|(name, _)| *name <= after.as_str());
        if let Ok(index) = pages.binary_search_by_key(&start, |(start, _)| *start)
            && start < items.len()
        {
            return pages.get(index).map(|(_, page)| page.clone());
        }
        // The list changed since the page before: what follows is made for this client alone.
        let ttl_ms = self.ttl_ms(kind);
        Some(Arc::new(pages::build_page(kind, &items, start, &self.pages, ttl_ms).0))
    }

    fn build_pages(&self, kind: ListKind) -> PagesByStart {
        let (mut start, mut built, items) = (0, Vec::new(), self.items(kind));
        let ttl_ms = self.ttl_ms(kind);
        loop {
            let (page, end) = pages::build_page(kind, &items, start, &self.pages, ttl_ms);
            built.push((start, Arc::new(page)));
            if end >= items.len() {
                return built;
            }
            start = end;
        }
    }

    /// How long clients may keep a list: no longer than anything in it allows.
    fn ttl_ms(&self, kind: ListKind) -> u64 {
        let tools = self.tools().filter(|_| kind == ListKind::Tools);
        let least = tools.filter_map(|tool| tool.cache_ttl).min();
        let least = least.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX));
        least.map_or(self.pages.ttl_ms, |least| least.min(self.pages.ttl_ms))
    }

    /// Everything in a list, with its name or address, in the order of these.
    fn items(&self, kind: ListKind) -> Vec<(&str, &RawJson)> {
        match kind {
            ListKind::Tools => {
                self.tools.iter().map(|(name, it)| (name, &it.entry.definition)).collect()
            }
            ListKind::Resources => {
                self.resources.iter().map(|it| (&*it.entry.uri, &it.entry.definition)).collect()
            }
            ListKind::Templates => {
                let entries = self.templates.iter().map(|(it, _)| &it.entry);
                entries.map(|it| (&*it.uri_template, &it.definition)).collect()
            }
            ListKind::Prompts => {
                self.prompts.iter().map(|(name, it)| (name, &it.entry.definition)).collect()
            }
        }
    }

    /// The resource of that address.
    pub(super) fn listed_resource(&self, uri: &str) -> Option<&Listed<ResourceEntry>> {
        let found = self.resources.binary_search_by(|listed| listed.entry.uri.as_str().cmp(uri));
        self.resources.get(found.ok()?)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("Snapshot");
        for kind in ListKind::ALL {
            debug.field(kind.member(), &self.count(kind));
        }
        debug.finish()
    }
}
