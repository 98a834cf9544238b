//! The policies of rates: those of callers before the name is known, those of tools and servers
//! after.

use std::sync::Arc;

use gantry_gateway::policy::{CallFilter, Decision, RequestFilter};
use gantry_gateway::{Call, CallContext, CallError, Resolved, Target, ToolEntry};

use super::patterns::Patterns;
use super::rate::Rate;
use super::refusal::{Limit, Scope, spoken};
use super::settings::{DefaultRate, LimitSettings};
use super::{Limits, tool_names};

/// What concerns the caller.
pub(super) struct CallerRates(pub(super) Arc<Limits>);

/// What concerns tools and servers.
pub(super) struct TargetRates(pub(super) Arc<Limits>);

impl RequestFilter for CallerRates {
    fn check<'a>(&'a self, call: &'a Call, context: &'a CallContext) -> Decision<'a> {
        let settings = self.0.settings.load();
        // Lists come from memory and cost nobody anything.
        if call.method.is_list() {
            return Decision::GRANTED;
        }
        let checked = self.0.check_arguments(call, &settings, context);
        match checked.and_then(|()| self.0.check_caller(call, &settings, context)) {
            Ok(()) => Decision::GRANTED,
            Err(refused) => Decision::refused(refused),
        }
    }
}

impl CallFilter for TargetRates {
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a> {
        let settings = self.0.settings.load();
        let checked = self.0.check_tool(call, &settings, context);
        match checked.and_then(|()| self.0.check_server(call, &settings, context)) {
            Ok(()) => Decision::GRANTED,
            Err(refused) => Decision::refused(refused),
        }
    }
}

impl Limits {
    fn check_arguments(
        &self,
        call: &Call,
        settings: &LimitSettings,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let Some((most, arguments)) = settings.arguments.zip(call.head.arguments.as_ref()) else {
            return Ok(());
        };
        let size = arguments.as_str().len() as u64;
        if size <= most {
            return Ok(());
        }
        let rule = format!("arguments {most} bytes");
        let text = format!(
            "the arguments are {size} bytes, and the limit `arguments` is {most}; send less"
        );
        Err(self.refusals.refuse(context, Limit::Arguments, &rule, None, text))
    }

    /// The caller's own rate first: what is refused there uses up nothing of what all share.
    fn check_caller(
        &self,
        call: &Call,
        settings: &LimitSettings,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let who = &*call.caller.principal;
        self.check_named(Scope::Principal, &settings.per_principal, who, settings, context)?;
        match settings.overall {
            Some(rate) => self.check(Scope::Overall, "*", rate, &[], settings, context),
            None => Ok(()),
        }
    }

    fn check_tool(
        &self,
        resolved: &Resolved,
        settings: &LimitSettings,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let (Target::Tool(tool), Some(names)) = (&resolved.target, tool_names(resolved)) else {
            return Ok(());
        };
        let usual = default_rate(settings.default, tool);
        let is_stricter = |one: &Option<Rate>, other: &Option<Rate>| match (one, other) {
            (Some(one), Some(other)) => one.is_stricter_than(*other),
            (one, None) => one.is_some(),
            (None, _) => false,
        };
        let found = settings.per_tool.find_tool(&names, &usual, is_stricter);
        let (pattern, rate) = found.map_or(("*", usual), |it| (&*it.pattern, it.value));
        let name = names.canonical();
        match rate {
            Some(rate) if rate.shared => {
                self.check(Scope::Tool, pattern, rate, &[name], settings, context)
            }
            Some(rate) => {
                let who = &*resolved.call.caller.principal;
                self.check(Scope::Tool, pattern, rate, &[name, who], settings, context)
            }
            None => Ok(()),
        }
    }

    fn check_server(
        &self,
        resolved: &Resolved,
        settings: &LimitSettings,
        context: &CallContext,
    ) -> Result<(), CallError> {
        match resolved.target.origin() {
            Some(origin) => {
                let rates = &settings.per_server;
                self.check_named(Scope::Server, rates, &origin.server, settings, context)
            }
            None => Ok(()),
        }
    }

    fn check_named(
        &self,
        scope: Scope,
        rates: &Patterns<Option<Rate>>,
        name: &str,
        settings: &LimitSettings,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let found = rates.find(name).and_then(|it| it.value.map(|rate| (&*it.pattern, rate)));
        let Some((pattern, rate)) = found else { return Ok(()) };
        self.check(scope, pattern, rate, &[name], settings, context)
    }

    fn check(
        &self,
        scope: Scope,
        pattern: &str,
        rate: Rate,
        key: &[&str],
        settings: &LimitSettings,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let key = self.keys.of(scope.name(), key);
        let taken = self.buckets.take(key, rate, self.now(), settings.keys);
        taken.map_err(|wait| {
            let rule = scope.rule(pattern, &rate.to_string());
            let again = spoken(wait);
            let text = format!("the limit `{rule}` is reached; try again in {again}");
            self.refusals.refuse(context, Limit::Rate(scope), &rule, Some(wait), text)
        })
    }
}

/// The rate of a tool that has none of its own.
fn default_rate(default: DefaultRate, tool: &ToolEntry) -> Option<Rate> {
    match default {
        DefaultRate::Off => None,
        DefaultRate::Every(rate) => Some(rate),
        DefaultRate::Outside(rate) => tool.reaches_outside().then_some(rate),
    }
}
