//! Patterns that fit nothing, while a name that differs in its letters' case only is there: names
//! are compared exactly, so that such a rule does not do what was meant.

use std::collections::BTreeMap;

use gantry_gateway::glob::matches;
use gantry_gateway::{Target, TargetKind};

use super::compiled::{Fit, NameGlob};
use super::rule_set::RuleSet;
use super::rule_target::{Claim, RuleTarget};

/// Servers by name, each with its name in small letters.
type Servers<'a> = BTreeMap<&'a str, String>;

/// A thing, and the same with all its names in small letters.
struct Pair<'a> {
    rule_target: RuleTarget<'a>,
    folded: RuleTarget<'a>,
}

impl RuleSet {
    /// What is most likely not meant, given everything that is there.
    pub fn lookalikes(&self, targets: &[Target]) -> Vec<String> {
        let things = || targets.iter().map(RuleTarget::of);
        let names = things().filter_map(|rule_target| rule_target.server);
        let servers: Servers<'_> = names.map(|name| (name, name.to_lowercase())).collect();
        let pairs: Vec<Pair<'_>> =
            things().map(|rule_target| Pair::new(rule_target, &servers)).collect();
        let mut warnings = Vec::new();
        for compiled in &self.rules {
            let rule = &compiled.rule;
            let claim = (compiled.claim(), !rule.what.servers.is_empty());
            let place = rule.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            let names = [
                (TargetKind::Tool, &rule.what.tools),
                (TargetKind::Resource, &rule.what.resources),
                (TargetKind::Prompt, &rule.what.prompts),
            ];
            let patterns = names.iter().flat_map(|(kind, texts)| {
                texts.iter().map(|text| (text, lookalike(&pairs, *kind, text, claim)))
            });
            let of_servers = rule.what.servers.iter();
            let of_servers = of_servers.map(|text| (text, server_like(&servers, text)));
            for (text, found) in patterns.chain(of_servers) {
                if let Some(found) = found {
                    warnings.push(format!(
                        "{place}`{text}` of the rule `{}` fits nothing, but there is `{found}`; \
                         names are compared exactly",
                        rule.name
                    ));
                }
            }
        }
        warnings
    }
}

impl<'a> Pair<'a> {
    fn new(rule_target: RuleTarget<'a>, servers: &'a Servers<'_>) -> Self {
        let folded = RuleTarget {
            server: rule_target.server.and_then(|name| servers.get(name)).map(String::as_str),
            main: rule_target.main.to_lowercase().into(),
            own: rule_target.own.to_lowercase().into(),
            shown: rule_target.shown.as_ref().map(|it| it.to_lowercase().into()),
            others: rule_target.others.iter().map(|it| it.to_lowercase().into()).collect(),
            ..rule_target
        };
        Self { rule_target, folded }
    }
}

/// A name that the pattern would fit if case did not matter, when it fits none as it is.
fn lookalike<'a>(
    pairs: &'a [Pair<'_>],
    kind: TargetKind,
    text: &str,
    (claim, has_servers): (Claim, bool),
) -> Option<&'a str> {
    let of_kind = || pairs.iter().filter(|pair| pair.rule_target.kind == kind);
    let fits = |glob: &NameGlob, rule_target: &RuleTarget<'_>| {
        glob.fits(rule_target, claim, has_servers) != Fit::None
    };
    let (glob, folded) = (NameGlob::new(text), NameGlob::new(&text.to_lowercase()));
    if of_kind().any(|pair| fits(&glob, &pair.rule_target)) {
        return None;
    }
    of_kind().find(|pair| fits(&folded, &pair.folded)).map(|pair| &*pair.rule_target.main)
}

/// The same for the name of a server.
fn server_like<'a>(servers: &Servers<'a>, text: &str) -> Option<&'a str> {
    if servers.keys().any(|server| matches(text, server)) {
        return None;
    }
    let text = text.to_lowercase();
    servers.iter().find(|(_, folded)| matches(&text, folded)).map(|(server, _)| *server)
}
