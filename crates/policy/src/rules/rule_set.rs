//! The rule set in force: decides calls, and what is visible in lists. Which rules can match a target or a
//! caller is cached, in copy-on-write maps that are read without a lock.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use gantry_gateway::{Caller, Scope, Target, TargetKind, ToolEntry};
use gantry_protocol::{Method, RawJson};

use super::compiled::{Bits, Compiled, Fit, NameGlob};
use super::condition::EvalContext;
use super::rule::{Rule, RuleEffect};
use super::rule_target::{Claim, RuleTarget};

const SHARDS: usize = 64;

/// Findings by a number that is spread evenly. When there is no more room, some are forgotten.
#[derive(Debug)]
pub(super) struct Remembered<T> {
    shards: Box<[ArcSwap<Shard<T>>]>,
    /// The most that one of them holds.
    limit: usize,
}

type Shard<T> = HashMap<u64, Arc<T>>;

impl<T> Remembered<T> {
    /// Room for about so many.
    pub(super) fn new(limit: usize) -> Self {
        let shards = (0..SHARDS).map(|_| ArcSwap::default()).collect();
        Self { shards, limit: limit.div_ceil(SHARDS).max(1) }
    }

    /// What is known under the number, if it is the one meant; else what is found out now.
    pub(super) fn find(
        &self,
        number: u64,
        is_meant: impl Fn(&T) -> bool,
        find: impl FnOnce() -> T,
    ) -> Arc<T> {
        let shard = &self.shards[number as usize % SHARDS];
        if let Some(known) = shard.load().get(&number).filter(|known| is_meant(known)) {
            return known.clone();
        }
        let found = Arc::new(find());
        // Of two who change at once one may lose what it found, and finds it again.
        let mut copy = HashMap::clone(&shard.load());
        if copy.len() >= self.limit {
            copy.clear();
        }
        copy.insert(number, found.clone());
        shard.store(Arc::new(copy));
        found
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.load().len()).sum()
    }
}

/// How many things and callers are remembered with the rules that are about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleLimits {
    /// Things.
    pub things: usize,
    /// Callers.
    pub callers: usize,
}

impl Default for RuleLimits {
    fn default() -> Self {
        Self { things: 32_768, callers: 4096 }
    }
}

/// All rules in their order. The first that fits decides.
#[derive(Debug)]
pub struct RuleSet {
    pub(super) rules: Box<[Compiled]>,
    pub(super) default_allows: bool,
    asks_for_client: bool,
    /// Whether a condition asks for the arguments, which must then have their defaults.
    pub(super) asks_for_arguments: bool,
    /// Whether a condition asks who calls, so that patterns do not say all.
    has_caller_conditions: bool,
    things: Remembered<TargetFacts>,
    callers: Remembered<CallerFacts>,
    scopes: Remembered<ScopeFacts>,
    hashing: RandomState,
    second_hashing: RandomState,
    generation: u64,
}

/// The rules that are about one thing, whoever calls.
#[derive(Debug)]
struct TargetFacts {
    /// Kept, so that no other thing can have its address in memory.
    target: Target,
    bits: Bits,
}

/// The rules that are for one caller, whatever is called.
#[derive(Debug)]
pub(super) struct CallerFacts {
    pub(super) principal: Arc<str>,
    pub(super) client: String,
    pub(super) virtual_server: Option<Arc<str>>,
    pub(super) bits: Bits,
}

/// What credentials are good for, made ready.
#[derive(Debug)]
pub(super) struct ScopeFacts {
    /// Kept for the same reason.
    scope: Arc<Scope>,
    allow: Box<[NameGlob]>,
}

/// What the rules come to.
#[derive(Debug)]
pub(super) enum RuleDecision<'a> {
    /// No rule fits, and what no rule is about is allowed.
    Unopposed,
    /// No rule fits, and what no rule is about is refused.
    Default,
    /// The credentials are not good for it.
    Scope,
    /// This rule decides.
    By(&'a Compiled),
}

static GENERATIONS: AtomicU64 = AtomicU64::new(0);

impl RuleSet {
    /// Rules in the order in which they are tried, and whether what none is about is allowed.
    pub fn new(rules: Vec<Rule>, default_allows: bool) -> Self {
        Self::within(rules, default_allows, RuleLimits::default())
    }

    /// The same, remembering no more than that.
    pub fn within(rules: Vec<Rule>, default_allows: bool, limits: RuleLimits) -> Self {
        let rules: Box<[Compiled]> = rules.into_iter().map(Compiled::new).collect();
        let conditions = || rules.iter().filter_map(|it| it.rule.when.as_ref());
        Self {
            default_allows,
            asks_for_arguments: conditions().any(|it| it.needs_arguments()),
            asks_for_client: rules.iter().any(Compiled::asks_for_client)
                || conditions().any(|it| it.needs_caller()),
            has_caller_conditions: conditions().any(|it| it.needs_caller()),
            things: Remembered::new(limits.things),
            callers: Remembered::new(limits.callers),
            scopes: Remembered::new(limits.callers),
            hashing: RandomState::new(),
            second_hashing: RandomState::new(),
            generation: GENERATIONS.fetch_add(1, Ordering::Relaxed),
            rules,
        }
    }

    /// Whether no rule can refuse anything.
    pub(super) fn is_idle(&self) -> bool {
        self.rules.is_empty() && self.default_allows
    }

    /// What the rules say of a call. Rules that only look on are told to `shadow`.
    pub(super) fn rule<'a>(
        &'a self,
        caller: &Caller,
        target: &Target,
        method: &Method,
        arguments: Option<&RawJson>,
        mut shadow: impl FnMut(&'a Compiled),
    ) -> RuleDecision<'a> {
        if let Some(scope) = &caller.scope
            && self.scope(scope).fits(&RuleTarget::called(target)) == Fit::None
        {
            return RuleDecision::Scope;
        }
        if self.rules.is_empty() {
            return self.otherwise();
        }
        let who = self.caller(caller);
        let about = self.about(target);
        let (mut rule_target, mut floor) = (None, None);
        for index in about.bits.both(&who.bits) {
            let compiled = &self.rules[index];
            let needs_thing =
                compiled.rule.when.is_some() || matches!(target, Target::Template(..));
            if needs_thing {
                let rule_target = rule_target.get_or_insert_with(|| RuleTarget::called(target));
                let case = who.eval_context(rule_target, target, method, arguments);
                if compiled.fits_name(rule_target) == Fit::None || !compiled.holds(&case) {
                    continue;
                }
            }
            if compiled.rule.shadow {
                shadow(compiled);
                continue;
            }
            match compiled.rule.effect {
                RuleEffect::Approve
                    if !compiled
                        .settles(rule_target.get_or_insert_with(|| RuleTarget::called(target))) =>
                {
                    floor = floor.or(Some(compiled));
                }
                RuleEffect::Allow => return RuleDecision::By(floor.unwrap_or(compiled)),
                RuleEffect::Deny | RuleEffect::Approve => return RuleDecision::By(compiled),
            }
        }
        match (self.otherwise(), floor) {
            (RuleDecision::Unopposed, Some(floor)) => RuleDecision::By(floor),
            (otherwise, _) => otherwise,
        }
    }

    /// Whether someone can have leave to use a thing, so that it is worth showing.
    pub(super) fn shows(&self, caller: &Caller, who: &CallerFacts, target: &Target) -> bool {
        self.sees(caller, who, target, Fit::Partly)
    }

    /// Whether someone may hear how the variables of a thing go on. The values name addresses, so that
    /// all which a template covers must be readable.
    pub(super) fn completes(&self, caller: &Caller, who: &CallerFacts, target: &Target) -> bool {
        let least = match target {
            Target::Template(..) => Fit::Whole,
            Target::Tool(_) | Target::Resource(_) | Target::Prompt(_) => Fit::Partly,
        };
        self.sees(caller, who, target, least)
    }

    /// `least` is how much of a thing must be allowed.
    fn sees(&self, caller: &Caller, who: &CallerFacts, target: &Target, least: Fit) -> bool {
        let rule_target = RuleTarget::of(target);
        let is_outside = |scope| self.scope(scope).fits(&rule_target) < least;
        if caller.scope.as_ref().is_some_and(is_outside) {
            return false;
        }
        let about = self.about(target);
        for index in about.bits.both(&who.bits) {
            let compiled = &self.rules[index];
            if compiled.rule.shadow || !compiled.settles(&rule_target) {
                continue;
            }
            let case = who.eval_context(&rule_target, target, usual_method(rule_target.kind), None);
            let fit = match compiled.fits_name(&rule_target) {
                Fit::None => continue,
                fit => compiled.fits_some(&case).min(fit),
            };
            match (fit, compiled.rule.effect) {
                (Fit::Whole, RuleEffect::Deny) => return false,
                (Fit::Partly, RuleEffect::Deny) if least == Fit::Whole => return false,
                (fit, RuleEffect::Allow | RuleEffect::Approve) if fit >= least => return true,
                (Fit::Whole | Fit::Partly | Fit::None, _) => {}
            }
        }
        self.default_allows
    }

    /// The rules that are for a caller.
    pub(super) fn caller(&self, caller: &Caller) -> Arc<CallerFacts> {
        let client = match self.asks_for_client {
            true => caller.client_name().unwrap_or_default(),
            false => String::new(),
        };
        let number = self.hashing.hash_one((&caller.principal, &client, &caller.virtual_server));
        let is_meant = |facts: &CallerFacts| {
            facts.principal == caller.principal
                && facts.client == client
                && facts.virtual_server == caller.virtual_server
        };
        self.callers.find(number, is_meant, || {
            let virtual_server = caller.virtual_server.as_deref().unwrap_or_default();
            let fits = |it: &Compiled| it.fits_caller(&caller.principal, &client, virtual_server);
            CallerFacts {
                bits: Bits::of(&self.rules, fits),
                principal: caller.principal.clone(),
                client: client.clone(),
                virtual_server: caller.virtual_server.clone(),
            }
        })
    }

    pub(super) fn scope(&self, scope: &Arc<Scope>) -> Arc<ScopeFacts> {
        let number = self.hashing.hash_one(Arc::as_ptr(scope).addr());
        let is_meant = |facts: &ScopeFacts| Arc::ptr_eq(&facts.scope, scope);
        self.scopes.find(number, is_meant, || ScopeFacts {
            allow: scope.allow.iter().map(|text| NameGlob::new(text)).collect(),
            scope: scope.clone(),
        })
    }

    /// A number that callers share who see the same. One hash of 64 bits might fall together for
    /// two who do not, and show one of them what is not theirs: there are two, with keys of their
    /// own that nobody can guess.
    pub(super) fn sight_key(&self, caller: &Caller, who: &CallerFacts) -> u128 {
        let allow = caller.scope.as_ref().map(|scope| &scope.allow);
        let person = self.has_caller_conditions.then_some((
            &who.principal,
            &who.client,
            &who.virtual_server,
        ));
        let seen = (self.generation, &who.bits, allow, person);
        let half = |hashing: &RandomState| u128::from(hashing.hash_one(seen));
        half(&self.hashing) << 64 | half(&self.second_hashing)
    }

    /// The rules that are about a thing. For a template all that may be, whatever the address.
    fn about(&self, target: &Target) -> Arc<TargetFacts> {
        let number = self.hashing.hash_one(address(target));
        let is_meant = |facts: &TargetFacts| address(&facts.target) == address(target);
        self.things.find(number, is_meant, || {
            let rule_target = RuleTarget::of(target);
            let effect = match target {
                Target::Tool(tool) => Some(ToolEntry::effect(tool)),
                _ => None,
            };
            let many = matches!(target, Target::Template(..));
            let bits = Bits::of(&self.rules, |it| {
                it.fits_kind(&rule_target)
                    && it.fits_effect(effect)
                    && (many || it.fits_name(&rule_target) != Fit::None)
            });
            TargetFacts { target: target.clone(), bits }
        })
    }

    fn otherwise(&self) -> RuleDecision<'_> {
        if self.default_allows { RuleDecision::Unopposed } else { RuleDecision::Default }
    }
}

impl CallerFacts {
    pub(super) fn eval_context<'a>(
        &'a self,
        rule_target: &'a RuleTarget<'_>,
        target: &'a Target,
        method: &'a Method,
        arguments: Option<&'a RawJson>,
    ) -> EvalContext<'a> {
        let name_of =
            |kind: TargetKind| if rule_target.kind == kind { &*rule_target.main } else { "" };
        EvalContext {
            principal: &self.principal,
            client: &self.client,
            virtual_server: self.virtual_server.as_deref().unwrap_or_default(),
            server: rule_target.server.unwrap_or_default(),
            tool: name_of(TargetKind::Tool),
            prompt: name_of(TargetKind::Prompt),
            uri: name_of(TargetKind::Resource),
            method: method.as_str(),
            definition: Some(target.definition()),
            arguments,
        }
    }
}

impl ScopeFacts {
    /// How much of a thing the credentials are good for.
    pub(super) fn fits(&self, rule_target: &RuleTarget<'_>) -> Fit {
        let fits = self.allow.iter().map(|glob| glob.fits(rule_target, Claim::Permit, false));
        fits.max().unwrap_or(Fit::None)
    }
}

/// The call that something is listed for.
pub(super) fn usual_method(kind: TargetKind) -> &'static Method {
    match kind {
        TargetKind::Tool => &Method::ToolsCall,
        TargetKind::Resource => &Method::ResourcesRead,
        TargetKind::Prompt => &Method::PromptsGet,
    }
}

/// Where the entry is in memory, which tells it from all others that are kept.
fn address(target: &Target) -> usize {
    match target {
        Target::Tool(entry) => Arc::as_ptr(entry).addr(),
        Target::Resource(entry) => Arc::as_ptr(entry).addr(),
        Target::Template(entry, _) => Arc::as_ptr(entry).addr(),
        Target::Prompt(entry) => Arc::as_ptr(entry).addr(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_out_once_and_bounded() {
        let remembered = Remembered::new(128);
        for number in 0..10_000 {
            assert_eq!(*remembered.find(number, |_| true, || number), number);
            assert_eq!(*remembered.find(number, |_| true, || 0), number, "it is known");
            assert_eq!(*remembered.find(number, |_| false, || 7), 7, "another one is meant");
            assert!(remembered.count() <= 128);
        }
    }
}
