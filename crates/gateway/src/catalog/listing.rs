//! What one provider lists.

use std::sync::Arc;

use crate::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::provider::Matcher;

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

impl std::fmt::Debug for Listing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Listing")
            .field("tools", &self.tools.len())
            .field("resources", &self.resources.len())
            .field("templates", &self.templates.len())
            .field("prompts", &self.prompts.len())
            .finish()
    }
}
