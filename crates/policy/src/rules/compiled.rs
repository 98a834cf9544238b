//! A rule made ready: its patterns, and whether they fit a caller and a thing.

use std::sync::Arc;

use gantry_gateway::Effect;

use super::condition::{Circumstances, Unanswered};
use super::glob::{self, Glob};
use super::rule::{Annotations, Rule, RuleEffect};
use super::thing::{Kind, Thing};

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
    faces: Box<[Glob]>,
    servers: Box<[Glob]>,
    tools: Box<[NameGlob]>,
    resources: Box<[NameGlob]>,
    prompts: Box<[NameGlob]>,
}

/// A pattern of names, or of a server's own names: `SERVER/NAME`.
#[derive(Debug, Clone)]
pub(super) struct NameGlob {
    whole: Glob,
    of_server: Option<(Glob, Glob)>,
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
            faces: glob::all(&rule.who.faces),
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

    pub(super) fn fits_caller(&self, principal: &str, client: &str, face: &str) -> bool {
        glob::any(&self.principals, principal)
            && glob::any(&self.clients, client)
            && glob::any(&self.faces, face)
    }

    /// Whether it can be about something of this server and kind, whatever its name.
    pub(super) fn fits_kind(&self, thing: &Thing<'_>) -> bool {
        let fits_server = match thing.server {
            _ if self.servers.is_empty() => true,
            Some(server) => glob::any(&self.servers, server),
            None => false,
        };
        fits_server && (self.is_for_all_kinds() || !self.names(thing.kind).is_empty())
    }

    /// Whether it is about something of this name.
    pub(super) fn fits_name(&self, thing: &Thing<'_>) -> Fit {
        if self.is_for_all_kinds() {
            return Fit::Whole;
        }
        let has_servers = !self.servers.is_empty();
        let fits = self.names(thing.kind).iter().map(|name| name.fits(thing, has_servers));
        fits.max().unwrap_or(Fit::None)
    }

    /// Whether a tool is marked as the rule wants it; other things have no marks.
    pub(super) fn fits_effect(&self, effect: Option<Effect>) -> bool {
        let Annotations { read_only, destructive } = self.rule.annotations;
        let Some(effect) = effect else { return self.rule.annotations.is_empty() };
        read_only.is_none_or(|wanted| wanted == (effect == Effect::ReadOnly))
            && destructive.is_none_or(|wanted| wanted == (effect == Effect::Destroys))
    }

    fn is_for_all_kinds(&self) -> bool {
        self.tools.is_empty() && self.resources.is_empty() && self.prompts.is_empty()
    }

    fn names(&self, kind: Kind) -> &[NameGlob] {
        match kind {
            Kind::Tool => &self.tools,
            Kind::Resource => &self.resources,
            Kind::Prompt => &self.prompts,
        }
    }
}

impl Compiled {
    /// Whether the condition holds. One that cannot be answered allows nothing, and stops nothing
    /// from being refused.
    pub(super) fn holds(&self, case: &Circumstances<'_>) -> bool {
        match self.answer(case) {
            Ok(holds) => holds,
            Err(error) => {
                self.tell(&error);
                self.rule.effect != RuleEffect::Allow
            }
        }
    }

    pub(super) fn answer(&self, case: &Circumstances<'_>) -> Result<bool, Unanswered> {
        self.rule.when.as_ref().map_or(Ok(true), |condition| condition.holds(case))
    }

    /// Whether the condition holds for some arguments or for all.
    pub(super) fn fits_some(&self, case: &Circumstances<'_>) -> Fit {
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
        let is_server = |it: &str| {
            let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-_.*".contains(&it);
            !it.is_empty() && it.bytes().all(is_plain)
        };
        let of_server = text.split_once('/').filter(|(server, _)| is_server(server));
        let of_server = of_server.map(|(server, name)| (Glob::new(server), Glob::new(name)));
        Self { whole: Glob::new(text), of_server }
    }

    /// Whether it fits; with `is_of_server` also when it is the server's own name.
    pub(super) fn fits(&self, thing: &Thing<'_>, is_of_server: bool) -> Fit {
        let (glob, takes_own) = match (&self.of_server, thing.server) {
            (Some((server, name)), Some(its)) => match server.matches(its) {
                true => (name, true),
                false => return Fit::None,
            },
            // A server cannot take the name of another one by a name with a slash.
            (None, _) | (_, None) => (&self.whole, is_of_server || thing.kind == Kind::Resource),
        };
        let fit = |name: &str| fits(glob, name, thing.is_template);
        match fit(&thing.main) {
            Fit::Whole => Fit::Whole,
            by_main if takes_own => match fit(&thing.own) {
                Fit::None => by_main,
                by_own => by_own,
            },
            by_main => by_main,
        }
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
