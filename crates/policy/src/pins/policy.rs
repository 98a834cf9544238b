//! Where pins stand in the pipeline: they look at what is listed, show what was pinned in its place,
//! hide what is held back, and refuse calls of it.

use std::sync::Arc;

use gantry_gateway::policy::{
    CallFilter, Decision, PolicyDecision, PublishHook, View, VisibilityFilter,
};
use gantry_gateway::{
    CallContext, CallError, Caller, ErrorKind, Resolved, Snapshot, Target, ToolEntry,
};

use super::{Pins, Subject};

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
