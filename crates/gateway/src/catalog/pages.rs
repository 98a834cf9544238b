//! Pages of lists: a page is serialized once and shared by everyone who asks for it. A cursor names the
//! item before the page, not an offset, so nothing is skipped or repeated when the list changes.

use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use crate::names::NameStyle;

/// The cursor that continues after `name`.
pub(super) fn encode_cursor(kind: ListKind, name: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}\n{name}", kind.member()))
}

/// The name that a cursor of this list continues after.
pub(super) fn decode_cursor(kind: ListKind, cursor: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (list, name) = text.split_once('\n')?;
    (list == kind.member()).then(|| name.to_owned())
}

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

impl ListKind {
    /// The four lists.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// How many forms of a page are cached: one for each revision that a listener may speak.
const VARIANTS: usize = 8;

/// How long clients may keep a list, in milliseconds, while servers are being started.
pub(crate) const STARTING_TTL_MS: u64 = 1000;

/// A list result in the form of the newest revision, and cached forms of it for other revisions.
#[derive(Debug)]
pub struct Page {
    result: RawJson,
    variants: [OnceLock<RawJson>; VARIANTS],
    /// The same page with a short time to live, for while servers are being started.
    brief: OnceLock<Arc<Self>>,
}

impl Page {
    /// A page holding this result.
    pub fn new(result: RawJson) -> Self {
        Self { result, variants: Default::default(), brief: OnceLock::new() }
    }

    /// The result in the newest form.
    pub fn result(&self) -> &RawJson {
        &self.result
    }

    /// The same page for while servers are being started: clients may keep it for a short time only.
    /// It is made once, so that many lists in that time cost no more than later ones.
    pub(crate) fn while_starting(&self) -> Arc<Self> {
        let brief = || {
            let ttl = RawJson::from(serde_json::Value::from(STARTING_TTL_MS));
            Arc::new(Self::new(self.result.edit().set("ttlMs", ttl).apply()))
        };
        self.brief.get_or_init(brief).clone()
    }

    /// The cached form with that index, made on first use. Which revision an index stands for is up to
    /// the server crate.
    pub fn variant(&self, index: usize, make: impl FnOnce(&RawJson) -> RawJson) -> RawJson {
        match self.variants.get(index) {
            Some(slot) => slot.get_or_init(|| make(&self.result)).clone(),
            None => make(&self.result),
        }
    }
}

/// How lists are cut into pages, and how long clients may keep them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSettings {
    /// Items on one page.
    pub(crate) size: usize,
    /// Bytes of the items on one page, unless it holds a single one.
    pub(crate) bytes: usize,
    pub(crate) ttl_ms: u64,
    pub(crate) public: bool,
    /// What names look like on them.
    pub(crate) names: NameStyle,
}

/// Pages of a list, by the number of their first item.
pub(super) type PagesByStart = Vec<(usize, Arc<Page>)>;

/// How many of the first items fit on one page: at least one.
fn fitting(items: &[(&str, &RawJson)], settings: &PageSettings) -> usize {
    let mut bytes = 0usize;
    let fits = |(_, item): &&(&str, &RawJson)| {
        bytes = bytes.saturating_add(item.bytes().len() + 1);
        bytes <= settings.bytes
    };
    items.iter().take(settings.size).take_while(fits).count().max(1)
}

/// Builds the page that starts with the item of that number. Also returns the number of the first
/// item after it.
pub(super) fn build_page(
    kind: ListKind,
    all: &[(&str, &RawJson)],
    start: usize,
    settings: &PageSettings,
    ttl_ms: u64,
) -> (Page, usize) {
    let rest = all.get(start..).unwrap_or_default();
    let end = all.len().min(start.saturating_add(fitting(rest, settings)));
    let items = all.get(start..end).unwrap_or_default();
    let size: usize = items.iter().map(|(_, item)| item.bytes().len() + 1).sum();
    let last = items.last().filter(|_| end < all.len());
    let next = last.map(|(name, _)| encode_cursor(kind, name));
    let scope = if settings.public { "public" } else { "private" };
    let result = ObjectWriter::with_capacity(size + 256)
        .array(kind.member(), items.iter().map(|(_, item)| *item))
        .value_some("nextCursor", next)
        .value("ttlMs", &ttl_ms)
        .value("cacheScope", scope)
        .value("resultType", "complete")
        .finish();
    (Page::new(result), end)
}
