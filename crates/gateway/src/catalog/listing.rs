//! What one provider lists.

use std::sync::Arc;

use gantry_protocol::RawJson;

use crate::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::page::ListKind;
use crate::provider::Matcher;

/// Everything one provider lists, in any order.
#[derive(Clone, Default)]
pub struct Listing {
    /// Its tools.
    pub tools: Vec<Arc<ToolEntry>>,
    /// Its resources.
    pub resources: Vec<Arc<ResourceEntry>>,
    /// Its templates, and what each covers.
    pub templates: Vec<(Arc<TemplateEntry>, Matcher)>,
    /// Its prompts.
    pub prompts: Vec<Arc<PromptEntry>>,
}

impl Listing {
    /// The lists that differ between this and what follows it.
    pub(super) fn changes_to(&self, next: &Self) -> Vec<ListKind> {
        let mut changed = Vec::new();
        if !same(&self.tools, &next.tools, |it| &it.definition) {
            changed.push(ListKind::Tools);
        }
        let resources = same(&self.resources, &next.resources, |it| &it.definition);
        let templates = same(&self.templates, &next.templates, |it| &it.0.definition);
        if !resources || !templates {
            changed.push(ListKind::Resources);
        }
        if !same(&self.prompts, &next.prompts, |it| &it.definition) {
            changed.push(ListKind::Prompts);
        }
        changed
    }
}

fn same<T>(before: &[T], after: &[T], definition: impl Fn(&T) -> &RawJson) -> bool {
    let equal = |(one, other): (&T, &T)| definition(one) == definition(other);
    before.len() == after.len() && before.iter().zip(after).all(equal)
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
