//! Why a call is let through or not: every rule in its order, and what it says.

use std::fmt;
use std::sync::Arc;

use gantry_gateway::{Caller, Target, ToolEntry};
use gantry_protocol::{Method, RawJson};

use super::compiled::{Compiled, Fit};
use super::rule::{Rule, RuleEffect};
use super::set::{CallerFacts, RuleSet, Ruling};
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
    /// What is decided, by the code that decides calls, with every rule up to the one that decides.
    pub fn explain(
        &self,
        caller: &Caller,
        target: &Target,
        method: &Method,
        arguments: Option<&RawJson>,
    ) -> Explanation {
        let who = self.caller(caller);
        let is_seen = self.shows(caller, &who, target);
        let (allowed, needs_approval, by) =
            match self.rule(caller, target, method, arguments, |_| {}) {
                Ruling::By(Compiled { rule, .. }) => {
                    let is_allowed = rule.effect != RuleEffect::Deny;
                    (is_allowed, rule.effect == RuleEffect::Approve, rule.name.clone())
                }
                Ruling::Unopposed => (true, false, "default".into()),
                Ruling::Default => (false, false, "default".into()),
                Ruling::Scope => {
                    let (by, findings) = ("token scope".into(), Vec::new());
                    return Explanation {
                        allowed: false,
                        needs_approval: false,
                        by,
                        findings,
                        is_seen,
                    };
                }
            };
        let thing = Thing::called(target);
        let findings = self.findings(|it| judge(it, &who, &thing, target, method, arguments));
        Explanation { allowed, needs_approval, by, findings, is_seen }
    }

    /// Every rule in its order, until one decides.
    fn findings(&self, judge: impl Fn(&Compiled) -> Judged) -> Vec<Finding> {
        let mut findings = Vec::new();
        for compiled in &self.rules {
            let finding = Finding { rule: compiled.rule.clone(), judged: judge(compiled) };
            let decides = finding.judged.decides();
            findings.push(finding);
            if decides {
                break;
            }
        }
        findings
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
