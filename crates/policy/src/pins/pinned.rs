//! The pinned definition of a thing, which clients see in the place of what its server says now.

use std::sync::{Arc, OnceLock};

use gantry_gateway::{PromptEntry, Snapshot, ToolEntry, UpstreamDefinition};

use super::Pins;
use super::pin::Pin;
use super::seen::Subject;

/// What clients see in the place of another definition.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) pin: Arc<Pin>,
    /// The pinned definition, under the server's own name for it.
    own: Arc<UpstreamDefinition>,
    /// A tool with that definition, whose schemas are compiled; none if they cannot be.
    compiled: OnceLock<Option<Arc<ToolEntry>>>,
}

impl Pinned {
    pub(super) fn new(pin: Arc<Pin>, name: &str) -> Self {
        let own = UpstreamDefinition { name: name.to_owned(), definition: pin.definition.clone() };
        Self { pin, own: Arc::new(own), compiled: OnceLock::new() }
    }

    /// The tool as it was pinned. None if that cannot be: then it is not listed, since nothing may be
    /// that was not accepted.
    fn tool(&self, tool: &ToolEntry) -> Option<Arc<ToolEntry>> {
        let shown = |known: Option<&ToolEntry>| match tool.defined_as(&self.own, known) {
            Ok(shown) => Some(Arc::new(shown)),
            Err(error) => {
                let path = self.pin.key.path();
                tracing::error!("the pinned definition of `{path}` cannot be shown: {error}");
                None
            }
        };
        let known = self.compiled.get_or_init(|| {
            let mut compiled = shown(None).and_then(Arc::into_inner)?;
            // What is kept must not count as offered.
            compiled.offered = None;
            Some(Arc::new(compiled))
        });
        shown(Some(known.as_ref()?))
    }
}

impl Pins {
    /// Shows what was pinned in the place of what is offered now. What is held back is replaced too,
    /// so that whatever lets go of it shows nothing that was not accepted.
    pub(super) fn show_pinned(&self, next: &mut Snapshot) {
        let verdicts = self.0.verdicts.load();
        if verdicts.shows_all() {
            return;
        }
        next.replace_tools(|tool| match verdicts.pinned(Subject::tool(&tool).address()) {
            None => Some(tool),
            Some(pinned) => pinned.tool(&tool),
        });
        next.replace_prompts(|prompt| match verdicts.pinned(Subject::prompt(&prompt).address()) {
            None => Some(prompt),
            Some(pinned) => Some(Arc::<PromptEntry>::new(prompt.defined_as(&pinned.own))),
        });
    }
}
