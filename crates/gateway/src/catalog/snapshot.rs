//! One state of the catalog: sorted, merged, its lists serialized when first asked for.

use std::sync::{Arc, OnceLock};

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::cursor;
use super::listing::Listing;
use super::parts::Parts;
use crate::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::page::{ListKind, Page};
use crate::policy::View;
use crate::provider::{Matcher, Provider, Target};

/// How lists are cut into pages, and how long clients may keep them.
#[derive(Debug, Clone)]
pub(crate) struct PageSettings {
    /// Items on one page.
    pub(crate) size: usize,
    /// Bytes of the items on one page, unless it holds a single one.
    pub(crate) bytes: usize,
    pub(crate) ttl_ms: u64,
    pub(crate) public: bool,
}

/// Pages of a list, by the number of their first item.
type PagesByStart = Vec<(usize, Arc<Page>)>;

/// One state of the catalog. It never changes; a change makes a new one.
pub struct Snapshot {
    pub(super) tools: Vec<Listed<ToolEntry>>,
    /// Older versions of tools, which are few.
    pub(super) older: Vec<Listed<ToolEntry>>,
    pub(super) resources: Vec<Listed<ResourceEntry>>,
    pub(super) templates: Vec<(Listed<TemplateEntry>, Matcher)>,
    pub(super) prompts: Vec<Listed<PromptEntry>>,
    pages: PageSettings,
    /// The pages of each list.
    lists: [OnceLock<PagesByStart>; 4],
    /// What of it some callers see, each made when first asked for.
    parts: Parts,
}

/// Something listed, and who serves it.
pub(super) struct Listed<T> {
    pub(super) entry: Arc<T>,
    pub(super) provider: Arc<dyn Provider>,
}

impl<T> Clone for Listed<T> {
    fn clone(&self) -> Self {
        Self { entry: self.entry.clone(), provider: self.provider.clone() }
    }
}

/// Things have a name to sort and find them by.
pub(super) trait Named {
    fn name(&self) -> &str;
    fn definition(&self) -> &RawJson;
}

macro_rules! named {
    ($($entry:ident by $name:ident),*) => {$(
        impl Named for $entry {
            fn name(&self) -> &str { &self.$name }
            fn definition(&self) -> &RawJson { &self.definition }
        }
    )*};
}
named!(ToolEntry by name, ResourceEntry by uri, TemplateEntry by uri_template, PromptEntry by name);

impl Snapshot {
    /// Merges what all providers list. Of two things with one name the earlier provider's stays.
    pub(super) fn merge(parts: &[(Arc<dyn Provider>, Arc<Listing>)], pages: &PageSettings) -> Self {
        let matchers = parts.iter().flat_map(|(provider, listing)| {
            let list = |(entry, matcher): &(Arc<TemplateEntry>, Matcher)| {
                (Listed { entry: entry.clone(), provider: provider.clone() }, matcher.clone())
            };
            listing.templates.iter().map(list)
        });
        let mut templates: Vec<_> = matchers.collect();
        templates.sort_by(|(one, _), (other, _)| one.entry.name().cmp(other.entry.name()));
        templates.dedup_by(|(later, _), (first, _)| later.entry.name() == first.entry.name());
        let older = parts.iter().flat_map(|(provider, listing)| {
            let list = |entry: &Arc<ToolEntry>| Listed {
                entry: entry.clone(),
                provider: provider.clone(),
            };
            listing.older.iter().map(list)
        });
        Self {
            older: older.collect(),
            tools: collect(parts, |listing| &listing.tools),
            resources: collect(parts, |listing| &listing.resources),
            templates,
            prompts: collect(parts, |listing| &listing.prompts),
            pages: pages.clone(),
            lists: Default::default(),
            parts: Parts::default(),
        }
    }

    /// Shows other tools in the place of those listed: the same under the same name, but for their
    /// definitions. Where there is none, the tool is not listed.
    pub fn replace_tools(
        &mut self,
        mut instead: impl FnMut(Arc<ToolEntry>) -> Option<Arc<ToolEntry>>,
    ) {
        replace(&mut self.tools, &mut instead);
        replace(&mut self.older, &mut instead);
    }

    /// The same for prompts.
    pub fn replace_prompts(
        &mut self,
        mut instead: impl FnMut(Arc<PromptEntry>) -> Option<Arc<PromptEntry>>,
    ) {
        replace(&mut self.prompts, &mut instead);
    }

    /// What of it is shown by all these views.
    pub(crate) fn seen_by(&self, views: &[View]) -> Arc<Self> {
        self.parts.find(views, || self.part(|target| views.iter().all(|view| (view.sees)(target))))
    }

    fn part(&self, sees: impl Fn(&Target) -> bool) -> Self {
        fn keep<T>(list: &[Listed<T>], sees: impl Fn(Arc<T>) -> bool) -> Vec<Listed<T>> {
            list.iter().filter(|it| sees(it.entry.clone())).cloned().collect()
        }
        let template = |it: &&(Listed<TemplateEntry>, Matcher)| {
            let entry = &it.0.entry;
            sees(&Target::Template(entry.clone(), entry.uri_template.clone()))
        };
        Self {
            tools: keep(&self.tools, |it| sees(&Target::Tool(it))),
            older: keep(&self.older, |it| sees(&Target::Tool(it))),
            resources: keep(&self.resources, |it| sees(&Target::Resource(it))),
            templates: self.templates.iter().filter(template).cloned().collect(),
            prompts: keep(&self.prompts, |it| sees(&Target::Prompt(it))),
            pages: self.pages.clone(),
            lists: Default::default(),
            parts: Parts::default(),
        }
    }

    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        find(&self.tools, name).map(|listed| &listed.entry)
    }

    /// All tools, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.tools.iter().map(|listed| &listed.entry)
    }

    /// Older versions of tools, which are in no list.
    pub fn older(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.older.iter().map(|listed| &listed.entry)
    }

    /// All prompts, in the order of their names.
    pub fn prompts(&self) -> impl Iterator<Item = &Arc<PromptEntry>> {
        self.prompts.iter().map(|listed| &listed.entry)
    }

    /// Everything that is listed, templates as they are listed.
    pub fn targets(&self) -> Vec<Target> {
        let tools = self.tools.iter().map(|it| Target::Tool(it.entry.clone()));
        let resources = self.resources.iter().map(|it| Target::Resource(it.entry.clone()));
        let templates = self
            .templates
            .iter()
            .map(|(it, _)| Target::Template(it.entry.clone(), it.entry.uri_template.clone()));
        let prompts = self.prompts.iter().map(|it| Target::Prompt(it.entry.clone()));
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
        let differs = |kind: ListKind| self.definitions(kind) != next.definitions(kind);
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
        let after = cursor::decode(kind, cursor)?;
        let names = self.names(kind);
        let start = names.partition_point(|name| *name <= after.as_str());
        if let Ok(index) = pages.binary_search_by_key(&start, |(start, _)| *start)
            && start < names.len()
        {
            return pages.get(index).map(|(_, page)| page.clone());
        }
        // The list changed since the page before: what follows is made for this client alone.
        Some(Arc::new(self.build_page(kind, start).0))
    }

    fn build_pages(&self, kind: ListKind) -> Vec<(usize, Arc<Page>)> {
        let (mut start, mut pages) = (0, Vec::new());
        loop {
            let (page, end) = self.build_page(kind, start);
            pages.push((start, Arc::new(page)));
            if end >= self.count(kind) {
                return pages;
            }
            start = end;
        }
    }

    /// How many of the first items fit on one page: at least one.
    fn fitting(&self, items: &[&RawJson]) -> usize {
        let mut bytes = 0usize;
        let fits = |item: &&&RawJson| {
            bytes = bytes.saturating_add(item.bytes().len() + 1);
            bytes <= self.pages.bytes
        };
        items.iter().take(self.pages.size).take_while(fits).count().max(1)
    }

    /// A page from that item on, and the number of the first item behind it.
    fn build_page(&self, kind: ListKind, start: usize) -> (Page, usize) {
        let definitions = self.definitions(kind);
        let rest = definitions.get(start..).unwrap_or_default();
        let end = definitions.len().min(start.saturating_add(self.fitting(rest)));
        let items = definitions.get(start..end).unwrap_or_default();
        let size: usize = items.iter().map(|item| item.bytes().len() + 1).sum();
        let names = self.names(kind);
        let next = (end < names.len()).then(|| cursor::encode(kind, names[end - 1]));
        let scope = if self.pages.public { "public" } else { "private" };
        let result = ObjectWriter::with_capacity(size + 256)
            .array(kind.member(), items.iter().copied())
            .value_some("nextCursor", next)
            .value("ttlMs", &self.pages.ttl_ms)
            .value("cacheScope", scope)
            .value("resultType", "complete")
            .finish();
        (Page::new(result), end)
    }

    fn names(&self, kind: ListKind) -> Vec<&str> {
        match kind {
            ListKind::Tools => self.tools.iter().map(|it| it.entry.name()).collect(),
            ListKind::Resources => self.resources.iter().map(|it| it.entry.name()).collect(),
            ListKind::Templates => self.templates.iter().map(|it| it.0.entry.name()).collect(),
            ListKind::Prompts => self.prompts.iter().map(|it| it.entry.name()).collect(),
        }
    }

    fn definitions(&self, kind: ListKind) -> Vec<&RawJson> {
        match kind {
            ListKind::Tools => self.tools.iter().map(|it| it.entry.definition()).collect(),
            ListKind::Resources => self.resources.iter().map(|it| it.entry.definition()).collect(),
            ListKind::Templates => {
                self.templates.iter().map(|it| it.0.entry.definition()).collect()
            }
            ListKind::Prompts => self.prompts.iter().map(|it| it.entry.definition()).collect(),
        }
    }
}

fn replace<T: Named>(
    list: &mut Vec<Listed<T>>,
    instead: &mut impl FnMut(Arc<T>) -> Option<Arc<T>>,
) {
    list.retain_mut(|listed| match instead(listed.entry.clone()) {
        // The list is sorted by names.
        Some(entry) if entry.name() == listed.entry.name() => {
            listed.entry = entry;
            true
        }
        _ => false,
    });
}

/// Finds by name in a sorted list.
pub(super) fn find<'a, T: Named>(list: &'a [Listed<T>], name: &str) -> Option<&'a Listed<T>> {
    let index = list.binary_search_by(|listed| listed.entry.name().cmp(name)).ok()?;
    list.get(index)
}

fn collect<T: Named>(
    parts: &[(Arc<dyn Provider>, Arc<Listing>)],
    pick: impl Fn(&Listing) -> &Vec<Arc<T>>,
) -> Vec<Listed<T>> {
    let list = |(provider, listing): &(Arc<dyn Provider>, Arc<Listing>)| {
        let provider = provider.clone();
        let entries = pick(listing).clone();
        entries.into_iter().map(move |entry| Listed { entry, provider: provider.clone() })
    };
    let mut all: Vec<_> = parts.iter().flat_map(list).collect();
    // The sort is stable, so of two with one name the earlier provider's comes first.
    all.sort_by(|one, other| one.entry.name().cmp(other.entry.name()));
    all.dedup_by(|later, first| {
        let same = later.entry.name() == first.entry.name();
        if same {
            let (name, kept, hidden) =
                (first.entry.name(), first.provider.name(), later.provider.name());
            tracing::warn!(name, kept, hidden, "two providers list the same name; rename one");
        }
        same
    });
    all
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
