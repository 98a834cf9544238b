//! Access rules: who may see and call what. The first rule that matches decides.
//!
//! A call costs two lookups: which rules can match the target, and which the caller. Both are cached, so that
//! only rules whose condition needs the arguments are evaluated for each call. What cannot be evaluated fails
//! closed.

mod compiled;
mod condition;
mod explain;
mod glob;
mod lookalike;
mod rule;
mod rule_set;
mod rule_target;

use std::sync::Arc;

use arc_swap::ArcSwap;
use gantry_gateway::filter::{
    CallFilter, Decision, Permit, PolicyDecision, Verdict, View, VisibilityFilter,
};
use gantry_gateway::{CallContext, CallError, Caller, ErrorKind, LARGE, Resolved, Target, offload};
use gantry_protocol::Method;

use self::compiled::Compiled;
use self::rule_set::RuleDecision;

pub use self::condition::{Condition, ConditionBounds, ConditionError, Unanswered};
pub use self::explain::{Explanation, Finding, Judged};
pub use self::rule::{Annotations, Rule, RuleEffect, What, Who};
pub use self::rule_set::{RuleLimits, RuleSet};

/// The name of this policy in the record.
const POLICY: &str = "rules";

/// The rules as a policy. Clones share them, and a change counts for all.
#[derive(Debug, Clone)]
pub struct Rules(Arc<ArcSwap<RuleSet>>);

impl Rules {
    /// A policy with these rules.
    pub fn new(rules: RuleSet) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(rules)))
    }

    /// Puts others in their place, from the next call and list on.
    pub fn put(&self, rules: RuleSet) {
        self.0.store(Arc::new(rules));
    }

    /// Those in force.
    pub fn current(&self) -> Arc<RuleSet> {
        self.0.load_full()
    }
}

impl CallFilter for Rules {
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a> {
        let set = self.0.load();
        let caller = &*call.call.caller;
        if set.is_idle() && caller.scope.is_none() {
            return Decision::GRANTED;
        }
        if call.call.method == Method::Complete {
            return complete(&set, call, context);
        }
        if set.asks_for_arguments && call.size() > LARGE {
            let (set, call, context) = (Arc::clone(&set), call.clone(), context.clone());
            let judge = move || judge(&set, &call, &context);
            return Decision::Later(Box::pin(offload(LARGE + 1, judge)));
        }
        Decision::Now(judge(&set, call, context))
    }
}

/// What the rules say of a call.
fn judge(set: &RuleSet, call: &Resolved, context: &CallContext) -> Verdict {
    let caller = &*call.call.caller;
    let shadow = |compiled| look_on(compiled, call, context);
    // With the defaults of a server's tool too, which its server fills in: a condition must not
    // be passed by leaving out what it asks for.
    let arguments = set.asks_for_arguments.then(|| call.effective_arguments()).flatten();
    let method = &call.call.method;
    let ruling = set.rule(caller, &call.target, method, arguments.as_ref(), shadow);
    let (allowed, rule) = match ruling {
        RuleDecision::Unopposed => return Ok(Permit::FREE),
        RuleDecision::By(compiled) => {
            (compiled.rule.effect != RuleEffect::Deny, compiled.label.clone())
        }
        RuleDecision::Scope => (false, "token scope".into()),
        RuleDecision::Default => (false, "default".into()),
    };
    context.note_decision(PolicyDecision { allowed, policy: POLICY, rule });
    match allowed {
        true => Ok(Permit::FREE),
        false => Err(refusal(&ruling, caller, &call.target)),
    }
}

impl VisibilityFilter for Rules {
    fn view(&self, caller: &Caller) -> Option<View> {
        let set = self.0.load_full();
        if set.is_idle() && caller.scope.is_none() {
            return None;
        }
        let who = set.caller(caller);
        let key = set.sight_key(caller, &who);
        let caller = caller.clone();
        let sees = Arc::new(move |target: &Target| set.shows(&caller, &who, target));
        Some(View { key, is_secret: true, sees })
    }
}

/// What may be seen may be completed, and of a template only one of which everything may be read.
fn complete<'a>(set: &RuleSet, call: &Resolved, context: &CallContext) -> Decision<'a> {
    let caller = &*call.call.caller;
    if set.completes(caller, &set.caller(caller), &call.target) {
        return Decision::GRANTED;
    }
    context.note_decision(PolicyDecision { allowed: false, policy: POLICY, rule: "unseen".into() });
    let (names, principal) = (call.target.names(), &caller.principal);
    let name = names.canonical();
    let text = format!("`{name}` may not be used by `{principal}`");
    Decision::refused(policy_refusal(caller, name, text))
}

/// A rule that only looks on says what it would do.
fn look_on(compiled: &Compiled, call: &Resolved, context: &CallContext) {
    let effect = compiled.rule.effect;
    if effect == RuleEffect::Allow {
        return;
    }
    let names = call.target.names();
    let (name, principal, rule) =
        (names.canonical(), &*call.call.caller.principal, &*compiled.rule.name);
    let would = if effect == RuleEffect::Deny { "refuse" } else { "ask for approval of" };
    tracing::info!(
        call = %context.number(), rule, principal, "a shadow rule would {would} `{name}`"
    );
    let rule = compiled.label.clone();
    context.note_decision(PolicyDecision { allowed: true, policy: POLICY, rule });
}

fn refusal(ruling: &RuleDecision<'_>, caller: &Caller, target: &Target) -> CallError {
    let (names, principal) = (target.names(), &caller.principal);
    let name = names.canonical();
    let why = match ruling {
        RuleDecision::By(compiled) => {
            let place = compiled.rule.place.as_ref().map(|place| format!(" at {place}"));
            let (rule, place) = (&compiled.rule.name, place.unwrap_or_default());
            format!("rule `{rule}`{place} denies it")
        }
        RuleDecision::Scope => "its token is not good for it".to_owned(),
        RuleDecision::Default | RuleDecision::Unopposed => "no rule allows it".to_owned(),
    };
    let (verb, option) = match target {
        Target::Tool(_) => ("called", "tool"),
        Target::Prompt(_) => ("used", "prompt"),
        Target::Resource(_) | Target::Template(..) => ("read", "resource"),
    };
    let text = format!(
        "`{name}` may not be {verb} by `{principal}`: {why}; \
         `gantry policy explain --as {principal} --{option} {name}` says more"
    );
    policy_refusal(caller, name, text)
}

/// The refusal of a call for something that the caller sees. A refused tool call becomes a tool result,
/// so that a model can read why: agents raise an error of the protocol instead of showing it.
fn policy_refusal(caller: &Caller, name: &str, why: String) -> CallError {
    if caller.is_local() {
        return CallError::new(ErrorKind::Blocked, why);
    }
    let text = format!(
        "`{name}` is denied by a policy of this gateway; ask its administrator if you need it"
    );
    CallError::new(ErrorKind::Blocked, text).with_private(why)
}

#[cfg(test)]
mod tests;
