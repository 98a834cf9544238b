//! Why a call is let through or not: every rule in its order, and what it says.

use std::fmt;
use std::sync::Arc;

use gantry_gateway::{Caller, Target, ToolEntry};
use gantry_protocol::{Method, RawJson};

use super::compiled::{Compiled, Fit};
use super::rule::{Rule, RuleEffect};
use super::set::{CallerFacts, RuleSet};
use super::thing::Thing;

/// What the rules say of a call, and why.
#[derive(Debug)]
pub struct Explanation {
    /// Whether the call may be made; perhaps only with an approval.
    pub allowed: bool,
    /// Whether a person must approve of it.
    pub needs_approval: bool,
    /// What decides: a rule, `token scope`, or `default`.
    pub by: Arc<str>,
    /// The rules that were looked at, in order.
    pub findings: Vec<Finding>,
    /// Whether the thing is in the caller's lists.
    pub is_seen: bool,
}

/// What one rule says.
#[derive(Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Whether it fits.
    pub judged: Judged,
}

/// Whether a rule fits a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// It fits, and decides.
    Decides,
    /// It asks for an approval, whatever rule decides: it fits a name that the server has chosen.
    Restricts,
    /// It fits, but only looks on.
    Shadow,
    /// It is for others.
    OtherCallers,
    /// It is about other things.
    OtherThings,
    /// The tool is not marked as it demands.
    OtherAnnotations,
    /// Its condition does not hold.
    Condition,
    /// Its condition cannot be answered, and an allow rule then does not fit.
    Unanswered(String),
    /// Its condition cannot be answered, and a rule that refuses then decides.
    DecidesUnanswered(String),
}

impl RuleSet {
    /// Tries every rule in its order until one decides.
    pub fn explain(
        &self,
        caller: &Caller,
        target: &Target,
        method: &Method,
        arguments: Option<&RawJson>,
    ) -> Explanation {
        let who = self.caller(caller);
        let is_seen = self.shows(caller, &who, target);
        let thing = Thing::called(target);
        let scope = caller.scope.as_ref().map(|scope| self.scope(scope).fits(&thing));
        let refused = |by: &str| (false, false, by.into());
        let mut findings = Vec::new();
        let (allowed, needs_approval, by) = match scope {
            Some(Fit::None) => refused("token scope"),
            _ => {
                let judge = |it: &Compiled| judge(it, &who, &thing, target, method, arguments);
                let (decides, floor) = self.first(judge, &mut findings);
                match (decides, floor) {
                    (Some(Rule { effect: RuleEffect::Allow, .. }), Some(floor)) => {
                        (true, true, floor.name.clone())
                    }
                    (Some(rule), _) => (
                        rule.effect != RuleEffect::Deny,
                        rule.effect == RuleEffect::Approve,
                        rule.name.clone(),
                    ),
                    (None, Some(floor)) if self.default_allows => (true, true, floor.name.clone()),
                    (None, _) if self.default_allows => (true, false, "default".into()),
                    (None, _) => refused("default"),
                }
            }
        };
        Explanation { allowed, needs_approval, by, findings, is_seen }
    }

    /// The rule that decides, and the first that wants an approval whatever decides.
    fn first(
        &self,
        judge: impl Fn(&Compiled) -> Judged,
        findings: &mut Vec<Finding>,
    ) -> (Option<&Rule>, Option<&Rule>) {
        let mut floor = None;
        let decides = self.rules.iter().find_map(|compiled| {
            let (rule, judged) = (&compiled.rule, judge(compiled));
            if judged == Judged::Restricts {
                floor = floor.or(Some(rule));
            }
            let decides = judged.decides();
            findings.push(Finding { rule: rule.clone(), judged });
            decides.then_some(rule)
        });
        (decides, floor)
    }
}

fn judge(
    compiled: &Compiled,
    who: &CallerFacts,
    thing: &Thing<'_>,
    target: &Target,
    method: &Method,
    arguments: Option<&RawJson>,
) -> Judged {
    let effect = match target {
        Target::Tool(tool) => Some(ToolEntry::effect(tool)),
        _ => None,
    };
    let face = who.face.as_deref().unwrap_or_default();
    if !compiled.fits_caller(&who.principal, &who.client, face) {
        return Judged::OtherCallers;
    }
    if !compiled.fits_kind(thing) || compiled.fits_name(thing) == Fit::None {
        return Judged::OtherThings;
    }
    if !compiled.fits_effect(effect) {
        return Judged::OtherAnnotations;
    }
    let is_refusing = compiled.rule.effect != RuleEffect::Allow;
    match compiled.answer(&who.circumstances(thing, target, method, arguments)) {
        Ok(false) => Judged::Condition,
        Ok(true) if compiled.rule.shadow => Judged::Shadow,
        Ok(true) | Err(_) if !compiled.rule.shadow && !compiled.settles(thing) => Judged::Restricts,
        Ok(true) => Judged::Decides,
        Err(error) if is_refusing && !compiled.rule.shadow => {
            Judged::DecidesUnanswered(error.to_string())
        }
        Err(error) => Judged::Unanswered(error.to_string()),
    }
}

impl Judged {
    /// Whether the rule decides.
    pub fn decides(&self) -> bool {
        matches!(self, Self::Decides | Self::DecidesUnanswered(_))
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decides => formatter.write_str("fits and decides"),
            Self::Restricts => formatter.write_str(
                "fits a name that the server chose; an approval is needed if another rule allows it",
            ),
            Self::Shadow => formatter.write_str("fits, but only looks on"),
            Self::OtherCallers => formatter.write_str("is for other callers"),
            Self::OtherThings => formatter.write_str("is about other things"),
            Self::OtherAnnotations => formatter.write_str("is about tools marked otherwise"),
            Self::Condition => formatter.write_str("its condition does not hold"),
            Self::Unanswered(why) => {
                write!(formatter, "its condition cannot be answered: {why}; so it does not fit")
            }
            Self::DecidesUnanswered(why) => {
                write!(formatter, "its condition cannot be answered: {why}; so it decides")
            }
        }
    }
}
