//! The filters that apply rate limits: per caller before the target is known, per tool and server after,
//! and one for calls that are refused or name what does not exist, so that nobody can fill the audit log.

use std::sync::Arc;

use gantry_gateway::filter::{CallFilter, Decision, PolicyDecision, RefusalFilter, RequestFilter};
use gantry_gateway::{Call, CallContext, CallError, ErrorKind, Resolved, Target, ToolEntry};

use super::patterns::Patterns;
use super::rate::Rate;
use super::refusal::{Limit, Scope, spoken, whole};
use super::{DefaultRate, LimitSettings, Limits, tool_names};

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
            let (rule, again) = (scope.rule(pattern, &rate.to_string()), spoken(wait));
            let told = scope.told(context.caller(), pattern, &rate.to_string());
            let text = format!("the limit `{told}` is reached; try again in {again}");
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

/// The name of this limit in decisions.
pub(crate) const REFUSED_CALLS: &str = "refused calls";

/// Counts calls that were refused.
pub(super) struct RefusedCalls(pub(super) Arc<Limits>);

impl RefusalFilter for RefusedCalls {
    fn refused(&self, call: &Call, context: &CallContext, error: CallError) -> CallError {
        let settings = self.0.settings.load();
        // Lists come from memory, and have no line in the audit log.
        let Some(rate) = settings.refused.filter(|_| !call.method.is_list()) else { return error };
        let key = self.0.keys.of(REFUSED_CALLS, &[&call.caller.principal]);
        let Err(wait) = self.0.buckets.take(key, rate, self.0.now(), settings.keys) else {
            return error;
        };
        self.0.refusals.count(Limit::Refused);
        let rule = format!("refused {rate}");
        let text = format!(
            "the limit `{rule}` is reached: too many calls were refused, or for what does not \
             exist; try again in {}",
            spoken(wait)
        );
        context.note_decision(PolicyDecision {
            allowed: false,
            policy: REFUSED_CALLS,
            rule: rule.into(),
        });
        match error.kind {
            // Another limit has said when to come back, which may be later.
            ErrorKind::LimitExceeded { .. } => error,
            _ => CallError::new(ErrorKind::LimitExceeded { retry_after: Some(whole(wait)) }, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DefaultRate;
    use super::super::LimitSettings;
    use super::super::Limits;
    use crate::fake_gateway::FakeGateway;

    /// Who calls what, and whether that is refused for its own reason (`!`), for the rate of what is
    /// refused (`limit`), or not at all.
    #[tokio::test(start_paused = true)]
    async fn refused_calls_have_a_rate_and_others_go_on() {
        let off = LimitSettings { default: DefaultRate::Off, ..LimitSettings::default() };
        let two = "2/min".parse().expect("a rate");
        let per_tool = crate::Patterns::new([("world".to_owned(), "1/d".parse().ok())]);
        let limits = Limits::new(LimitSettings { refused: Some(two), per_tool, ..off.clone() });
        let fake_gateway =
            FakeGateway::new(|it| it.call_filter(limits.rates()).refusal_filter(limits.refused()));
        let cases = [
            ("bob", "none", "there is no tool"),
            ("bob", "here", "ok"),
            ("bob", "other", "there is no tool"),
            ("bob", "none", "the limit `refused 2/min` is reached"),
            ("bob", "far_get", "ok"),
            ("bob", "none", "the limit `refused 2/min` is reached"),
            ("ann", "none", "there is no tool"),
            ("ann", "world", "ok"),
            // What another limit says of when to come back stays.
            ("ann", "world", "the limit `tool 1/d` is reached"),
            ("ann", "world", "the limit `tool 1/d` is reached"),
            ("ann", "none", "the limit `refused 2/min` is reached"),
        ];
        for (who, tool, expected) in cases {
            let told = fake_gateway.told(who, tool).await;
            assert!(told.starts_with(expected), "{who} {tool}: {told}");
        }
        let mut metrics = String::new();
        limits.write_metrics(&mut metrics);
        assert!(metrics.contains("gantry_limited_total{limit=\"refused\"} 4"), "{metrics}");
        tokio::time::advance(std::time::Duration::from_secs(30)).await;
        assert!(
            fake_gateway.told("bob", "none").await.starts_with("there is no tool"),
            "a while later"
        );
        limits.configure(LimitSettings { refused: None, ..off });
        for _ in 0..100 {
            assert!(fake_gateway.told("bob", "none").await.starts_with("there is no tool"));
        }
    }
}
