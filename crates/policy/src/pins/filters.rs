//! The filters of pins: on publication the pinned definition replaces the offered one, what is held back is
//! hidden, and calls of it are refused.

use std::sync::{Arc, OnceLock};

use gantry_gateway::filter::{
    CallFilter, Decision, PolicyDecision, PublishHook, View, VisibilityFilter,
};
use gantry_gateway::{
    CallContext, CallError, Caller, ErrorKind, PromptEntry, Resolved, Snapshot, Target, ToolEntry,
    UpstreamDefinition,
};

use super::Pins;
use super::offered::Subject;
use super::pin::Pin;

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

/// Tells the views of pins from those of other policies.
const VIEW: u128 = 0x7069_6e73 << 64;

impl PublishHook for Pins {
    fn publish_hook(&self, next: &mut Snapshot) {
        self.look(next);
        self.show_pinned(next);
    }

    fn publish_tools_hook(&self, next: &mut Snapshot, changed: &[Arc<ToolEntry>]) {
        // Registering a tool of our own must not cost a look at all others.
        let is_concerned = |tool: &Arc<ToolEntry>| self.concerns(tool.origin.is_some());
        if changed.iter().any(is_concerned) {
            self.publish_hook(next);
        }
    }
}

impl VisibilityFilter for Pins {
    fn view(&self, _: &Caller) -> Option<View> {
        let verdicts = self.0.verdicts.load();
        if verdicts.holds_nothing() {
            return None;
        }
        let (pins, verdicts) = (self.clone(), arc_swap::Guard::into_inner(verdicts));
        let key = VIEW | u128::from(verdicts.number);
        let sees = Arc::new(move |target: &_| {
            let judged = Subject::of(target).and_then(|subject| verdicts.of(subject.address()));
            judged.map_or_else(|| pins.is_in_order(target), |held| held.is_none())
        });
        // Who calls what is held back is told so.
        Some(View { key, is_secret: false, sees })
    }
}

impl CallFilter for Pins {
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a> {
        let Some(held) = self.held_of(&call.target) else { return Decision::GRANTED };
        let rule = match held.before {
            Some(_) => format!("{}: {}", held.reason.word(), held.members()),
            None => held.reason.word().to_owned(),
        };
        context.note_decision(PolicyDecision { allowed: false, policy: "pins", rule: rule.into() });
        let text = held.explain(call.target.names().canonical());
        let kind = match &call.target {
            // The model can read why, and tell the user.
            Target::Tool(_) => ErrorKind::Blocked,
            _ => ErrorKind::Refused,
        };
        Decision::refused(CallError::new(kind, text))
    }
}
