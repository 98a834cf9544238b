//! A compiled rule: its patterns, and whether they match a caller and a target.

use std::sync::Arc;

use gantry_gateway::{Effect, TargetKind, qualified, resource_uri};

use super::condition::{EvalContext, Unanswered};
use super::glob;
use super::glob::Glob;
use super::rule::{Annotations, Rule, RuleEffect};
use super::rule_target::{Claim, RuleTarget};

/// How much of what is called a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// Nothing.
    None,
    /// Some addresses of a template.
    Partly,
    /// All of it.
    Whole,
}

/// A rule, ready to be matched.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) rule: Rule,
    /// What the record says when it has decided.
    pub(super) label: Arc<str>,
    principals: Box<[Glob]>,
    clients: Box<[Glob]>,
    virtual_servers: Box<[Glob]>,
    servers: Box<[Glob]>,
    tools: Box<[NameGlob]>,
    resources: Box<[NameGlob]>,
    prompts: Box<[NameGlob]>,
}

/// A pattern of names, or of a server's own names: `SERVER/NAME`.
#[derive(Debug, Clone)]
pub(super) struct NameGlob {
    whole: KindGlob,
    of_server: Option<(Glob, KindGlob)>,
}

/// A pattern for names, and the same for addresses, which are compared in their normal form.
#[derive(Debug, Clone)]
struct KindGlob {
    name: Glob,
    address: Glob,
}

impl Compiled {
    pub(super) fn new(rule: Rule) -> Self {
        let names = |texts: &[String]| texts.iter().map(|text| NameGlob::new(text)).collect();
        let name = &rule.name;
        let label = match (rule.shadow, rule.effect) {
            (true, _) => format!("shadow: {name}").into(),
            (false, RuleEffect::Approve) => format!("approve: {name}").into(),
            (false, _) => name.clone(),
        };
        Self {
            label,
            principals: glob::all(&rule.who.principals),
            clients: glob::all(&rule.who.clients),
            virtual_servers: glob::all(&rule.who.virtual_servers),
            servers: glob::all(&rule.what.servers),
            tools: names(&rule.what.tools),
            resources: names(&rule.what.resources),
            prompts: names(&rule.what.prompts),
            rule,
        }
    }

    /// Whether it makes a difference what the client calls itself.
    pub(super) fn asks_for_client(&self) -> bool {
        !self.clients.is_empty()
    }

    pub(super) fn fits_caller(&self, principal: &str, client: &str, virtual_server: &str) -> bool {
        glob::any(&self.principals, principal)
            && glob::any(&self.clients, client)
            && glob::any(&self.virtual_servers, virtual_server)
    }

    /// Whether it can be about something of this server and kind, whatever its name.
    pub(super) fn fits_kind(&self, rule_target: &RuleTarget<'_>) -> bool {
        let fits_server = match rule_target.server {
            _ if self.servers.is_empty() => true,
            Some(server) => glob::any(&self.servers, server),
            None => false,
        };
        fits_server && (self.is_for_all_kinds() || !self.names(rule_target.kind).is_empty())
    }

    /// Whether it is about something of this name.
    pub(super) fn fits_name(&self, rule_target: &RuleTarget<'_>) -> Fit {
        if self.is_for_all_kinds() {
            return Fit::Whole;
        }
        self.fits_name_as(self.claim(), rule_target)
    }

    /// Whether a rule that asks for an approval may decide alone. One that fits only by a name that
    /// the server has chosen could be chosen to come before a rule that denies: it makes sure that
    /// somebody is asked, and leaves open whether the call is allowed at all.
    pub(super) fn settles(&self, rule_target: &RuleTarget<'_>) -> bool {
        self.rule.effect != RuleEffect::Approve
            || self.is_for_all_kinds()
            || self.fits_name_as(Claim::Permit, rule_target) != Fit::None
    }

    /// What its patterns are for.
    pub(super) fn claim(&self) -> Claim {
        match self.rule.effect {
            RuleEffect::Allow => Claim::Permit,
            RuleEffect::Deny | RuleEffect::Approve => Claim::Restrict,
        }
    }

    fn fits_name_as(&self, claim: Claim, rule_target: &RuleTarget<'_>) -> Fit {
        let has_servers = !self.servers.is_empty();
        let fits = self
            .names(rule_target.kind)
            .iter()
            .map(|name| name.fits(rule_target, claim, has_servers));
        fits.max().unwrap_or(Fit::None)
    }

    /// Whether a tool is marked as the rule wants it; other things have no marks.
    pub(super) fn fits_effect(&self, effect: Option<Effect>) -> bool {
        let Annotations { read_only, destructive } = self.rule.annotations;
        let Some(effect) = effect else { return self.rule.annotations.is_empty() };
        read_only.is_none_or(|wanted| wanted == (effect == Effect::ReadOnly))
            // A rule that is made for the worst is for what does not say, too.
            && destructive.is_none_or(|wanted| wanted == (effect >= Effect::Unannotated))
    }

    fn is_for_all_kinds(&self) -> bool {
        self.tools.is_empty() && self.resources.is_empty() && self.prompts.is_empty()
    }

    fn names(&self, kind: TargetKind) -> &[NameGlob] {
        match kind {
            TargetKind::Tool => &self.tools,
            TargetKind::Resource => &self.resources,
            TargetKind::Prompt => &self.prompts,
        }
    }
}

impl Compiled {
    /// Whether the condition holds. One that cannot be answered allows nothing, and stops nothing
    /// from being refused.
    pub(super) fn holds(&self, case: &EvalContext<'_>) -> bool {
        match self.answer(case) {
            Ok(holds) => holds,
            Err(error) => {
                self.tell(&error);
                self.rule.effect != RuleEffect::Allow
            }
        }
    }

    pub(super) fn answer(&self, case: &EvalContext<'_>) -> Result<bool, Unanswered> {
        self.rule.when.as_ref().map_or(Ok(true), |condition| condition.holds(case))
    }

    /// Whether the condition holds for some arguments or for all.
    pub(super) fn fits_some(&self, case: &EvalContext<'_>) -> Fit {
        match &self.rule.when {
            Some(condition) if condition.needs_arguments() => Fit::Partly,
            _ if self.holds(case) => Fit::Whole,
            _ => Fit::None,
        }
    }

    fn tell(&self, error: &Unanswered) {
        if self.rule.when.as_ref().is_some_and(|condition| condition.tell_once()) {
            let (rule, effect) = (&*self.rule.name, self.rule.effect);
            tracing::warn!(
                rule,
                "the condition of a rule cannot be answered: {error}; an allow rule then does not \
                 fit, any other does, as this {effect} rule"
            );
        }
    }
}

impl NameGlob {
    pub(super) fn new(text: &str) -> Self {
        let of_server = qualified(text);
        let of_server = of_server.map(|(server, name)| (Glob::new(server), KindGlob::new(name)));
        Self { whole: KindGlob::new(text), of_server }
    }

    /// Whether it fits, by the names that count for what it claims.
    pub(super) fn fits(
        &self,
        rule_target: &RuleTarget<'_>,
        claim: Claim,
        is_of_server: bool,
    ) -> Fit {
        let by_server =
            self.of_server.as_ref().zip(rule_target.server).map(|((server, name), its)| {
                // Of a server that is named, its own name and the contested canonical one permit too.
                let best = name.fits(rule_target, rule_target.names(claim, true));
                if server.matches(its) { best } else { Fit::None }
            });
        match (by_server, claim) {
            // A server cannot take the name of another one by a name with a slash.
            (Some(by_server), Claim::Permit) => by_server,
            (by_server, claim) => {
                let by_name = self.whole.fits(rule_target, rule_target.names(claim, is_of_server));
                by_name.max(by_server.unwrap_or(Fit::None))
            }
        }
    }
}

impl KindGlob {
    fn new(text: &str) -> Self {
        Self { name: Glob::new(text), address: Glob::new(&resource_uri::normalize(text)) }
    }

    /// How well the best of these names fits.
    fn fits<'a>(&self, rule_target: &RuleTarget<'_>, names: impl Iterator<Item = &'a str>) -> Fit {
        let glob = match rule_target.kind {
            TargetKind::Resource => &self.address,
            TargetKind::Tool | TargetKind::Prompt => &self.name,
        };
        names.map(|name| fits(glob, name, rule_target.is_template)).max().unwrap_or(Fit::None)
    }
}

fn fits(glob: &Glob, name: &str, is_template: bool) -> Fit {
    if !is_template {
        return if glob.matches(name) { Fit::Whole } else { Fit::None };
    }
    let beginning = name.split_once('{').map_or(name, |(beginning, _)| beginning);
    match () {
        () if glob.covers(beginning) || *glob == Glob::new(name) => Fit::Whole,
        () if glob.may_match(beginning) => Fit::Partly,
        () => Fit::None,
    }
}

/// A set of rules.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Bits(Box<[u64]>);

const WORD: usize = u64::BITS as usize;

impl Bits {
    /// Those of the rules for which this holds.
    pub(super) fn of<T>(rules: &[T], holds: impl Fn(&T) -> bool) -> Self {
        let word = |rules: &[T]| {
            let bits = rules.iter().enumerate().filter(|(_, rule)| holds(rule));
            bits.fold(0, |word, (index, _)| word | (1 << index))
        };
        Self(rules.chunks(WORD).map(word).collect())
    }

    /// The rules that are in both sets, in order.
    pub(super) fn both<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> + 'a {
        let words = self.0.iter().zip(&other.0).enumerate();
        words.flat_map(|(at, (one, other))| Ones(one & other).map(move |bit| at * WORD + bit))
    }
}

/// The bits of a word, the lowest first.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_ones_come_in_order() {
        for count in [0, 1, 63, 64, 65, 200] {
            let rules: Vec<usize> = (0..count).collect();
            let (twos, threes) =
                (Bits::of(&rules, |it| it % 2 == 0), Bits::of(&rules, |it| it % 3 == 0));
            let expected: Vec<usize> = (0..count).filter(|it| it % 6 == 0).collect();
            assert_eq!(twos.both(&threes).collect::<Vec<_>>(), expected, "{count}");
        }
    }
}
