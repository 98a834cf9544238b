//! Why a call is let through or not: every rule in its order, and what it says.

use std::fmt;
use std::sync::Arc;

use gantry_gateway::{Caller, Target, ToolEntry};
use gantry_protocol::{Method, RawJson};

use super::compiled::{Compiled, Fit};
use super::rule::{Rule, RuleEffect};
use super::rule_set::{CallerFacts, RuleDecision, RuleSet};
use super::rule_target::RuleTarget;

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
    OtherTargets,
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
                RuleDecision::By(Compiled { rule, .. }) => {
                    let is_allowed = rule.effect != RuleEffect::Deny;
                    (is_allowed, rule.effect == RuleEffect::Approve, rule.name.clone())
                }
                RuleDecision::Unopposed => (true, false, "default".into()),
                RuleDecision::Default => (false, false, "default".into()),
                RuleDecision::Scope => {
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
        let rule_target = RuleTarget::called(target);
        let findings = self.findings(|it| judge(it, &who, &rule_target, target, method, arguments));
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
    rule_target: &RuleTarget<'_>,
    target: &Target,
    method: &Method,
    arguments: Option<&RawJson>,
) -> Judged {
    let effect = match target {
        Target::Tool(tool) => Some(ToolEntry::effect(tool)),
        _ => None,
    };
    let virtual_server = who.virtual_server.as_deref().unwrap_or_default();
    if !compiled.fits_caller(&who.principal, &who.client, virtual_server) {
        return Judged::OtherCallers;
    }
    if !compiled.fits_kind(rule_target) || compiled.fits_name(rule_target) == Fit::None {
        return Judged::OtherTargets;
    }
    if !compiled.fits_effect(effect) {
        return Judged::OtherAnnotations;
    }
    let is_refusing = compiled.rule.effect != RuleEffect::Allow;
    match compiled.answer(&who.eval_context(rule_target, target, method, arguments)) {
        Ok(false) => Judged::Condition,
        Ok(true) if compiled.rule.shadow => Judged::Shadow,
        Ok(true) | Err(_) if !compiled.rule.shadow && !compiled.settles(rule_target) => {
            Judged::Restricts
        }
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
            Self::OtherTargets => formatter.write_str("is about other things"),
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
