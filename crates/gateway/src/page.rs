//! One page of a list, serialized once and shared by everyone who asks for it.

use std::sync::OnceLock;

use gantry_protocol::RawJson;

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

/// How many forms of a page are kept: one for each dialect a door may speak.
const VARIANTS: usize = 8;

/// A list result in the newest form, and the other forms that doors have made of it.
#[derive(Debug)]
pub struct Page {
    result: RawJson,
    variants: [OnceLock<RawJson>; VARIANTS],
}

impl Page {
    /// A page holding this result.
    pub fn new(result: RawJson) -> Self {
        Self { result, variants: Default::default() }
    }

    /// The result in the newest form.
    pub fn result(&self) -> &RawJson {
        &self.result
    }

    /// The same page, to be kept for so many milliseconds.
    #[must_use]
    pub(crate) fn kept_for(&self, ttl_ms: u64) -> Self {
        Self::new(
            self.result.edit().set("ttlMs", RawJson::from(serde_json::Value::from(ttl_ms))).apply(),
        )
    }

    /// The form number `index`, made on first use. What the number stands for is the door's
    /// business; the page only remembers.
    pub fn variant(&self, index: usize, make: impl FnOnce(&RawJson) -> RawJson) -> RawJson {
        match self.variants.get(index) {
            Some(slot) => slot.get_or_init(|| make(&self.result)).clone(),
            None => make(&self.result),
        }
    }
}
