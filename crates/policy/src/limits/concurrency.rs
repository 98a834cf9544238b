//! The filter that applies concurrency limits: how many calls run at once. It runs last and lives until
//! the call ends, so it also charges daily quotas and measures results.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::Guard;
use gantry_gateway::filter::{CallFilter, Decision, OnEnd, Permit, Verdict};
use gantry_gateway::{CallContext, CallError, Outcome, Reply, Resolved};

use super::concurrency_limiter::{Acquire, ConcurrencyPermit, Waiting};
use super::patterns::Patterns;
use super::quota::{QuotaCharge, until_tomorrow};
use super::refusal::{Limit, Scope, spoken};
use super::{Key, LimitSettings, Limits, tool_names};

/// When it is worth trying again, where nobody can know it.
const SHORTLY: Duration = Duration::from_secs(1);

/// How many calls run at once.
pub(super) struct Places(pub(super) Arc<Limits>);

/// A room that a call must be in.
struct Want {
    scope: Scope,
    pattern: Arc<str>,
    visit: ConcurrencyPermit,
}

/// How far a call has come.
enum Progress {
    /// It has all its places.
    Inside,
    /// It waits for one.
    Waits(Want, Waiting),
    /// It may not even wait for one.
    Full(Want),
}

/// The places of a call. Dropping it gives them back.
struct Stay {
    limits: Arc<Limits>,
    limiter: [Option<Key>; ORDER.len()],
    /// How large the result may be.
    response: Option<(u64, CallContext)>,
}

/// The order in which rooms are entered. It is the same for all calls, so that none waits for one
/// that waits for it, and goes from what is the caller's own to what all share, so that nobody
/// holds what others want while waiting for what they do not.
const ORDER: [Scope; 4] = [Scope::Principal, Scope::Tool, Scope::Server, Scope::Overall];

impl CallFilter for Places {
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a> {
        let limits = &self.0;
        let settings = limits.settings.load();
        let response = settings.response.map(|most| (most, context.clone()));
        let mut stay = Stay { limits: limits.clone(), limiter: [None; ORDER.len()], response };
        match limits.enter(&ORDER, call, &settings, &mut stay) {
            Progress::Inside => Decision::Now(limits.settle(call, &settings, stay, context)),
            Progress::Full(want) => Decision::refused(limits.full(&want, context)),
            Progress::Waits(want, waiting) => {
                let settings = Guard::into_inner(settings);
                let queue = Queue { call, context, settings, stay };
                Decision::Later(Box::pin(queue.run(want, waiting)))
            }
        }
    }
}

/// A call that has to wait.
struct Queue<'a> {
    call: &'a Resolved,
    context: &'a CallContext,
    settings: Arc<LimitSettings>,
    stay: Stay,
}

impl Queue<'_> {
    async fn run(mut self, mut want: Want, mut waiting: Waiting) -> Verdict {
        let limits = self.stay.limits.clone();
        let within = self.settings.concurrency.wait;
        loop {
            if !waiting.entered(within).await {
                return Err(limits.waited(&want, within, self.context));
            }
            self.stay.hold(&want);
            let next = ORDER.iter().position(|scope| *scope == want.scope).map_or(0, |at| at + 1);
            match limits.enter(&ORDER[next..], self.call, &self.settings, &mut self.stay) {
                Progress::Inside => {
                    return limits.settle(self.call, &self.settings, self.stay, self.context);
                }
                Progress::Full(want) => return Err(limits.full(&want, self.context)),
                Progress::Waits(other, wait) => (want, waiting) = (other, wait),
            }
        }
    }
}

impl Limits {
    /// Enters the rooms of these scopes, as far as there is a place at once.
    fn enter(
        &self,
        scopes: &[Scope],
        call: &Resolved,
        settings: &LimitSettings,
        stay: &mut Stay,
    ) -> Progress {
        for scope in scopes {
            let Some(want) = self.want(*scope, call, settings) else { continue };
            match self.limiter.enter(want.visit) {
                Acquire::Entered => stay.hold(&want),
                Acquire::Waits(waiting) => return Progress::Waits(want, waiting),
                Acquire::Full => return Progress::Full(want),
            }
        }
        Progress::Inside
    }

    fn want(&self, scope: Scope, call: &Resolved, settings: &LimitSettings) -> Option<Want> {
        let all = &settings.concurrency;
        let limited = |limits: &Patterns<Option<usize>>, name: &str| {
            let found = limits.find(name)?;
            Some((found.pattern.clone(), found.value?, self.keys.of(scope.name(), &[name])))
        };
        let who = &*call.call.caller.principal;
        let (pattern, limit, room) = match scope {
            Scope::Principal => limited(&all.per_principal, who)?,
            Scope::Tool if all.per_tool.is_empty() => return None,
            Scope::Tool => {
                let names = tool_names(call)?;
                let found = all.per_tool.find_tool(&names, &None, is_fewer)?;
                let room = self.keys.of(scope.name(), &[names.canonical()]);
                (found.pattern.clone(), found.value?, room)
            }
            Scope::Server => limited(&all.per_server, &call.target.origin()?.server)?,
            Scope::Overall => (Arc::default(), all.overall?, self.keys.of(scope.name(), &[])),
        };
        let who = match scope {
            Scope::Principal => room,
            _ => self.keys.of(Scope::Principal.name(), &[who]),
        };
        Some(Want {
            scope,
            pattern,
            visit: ConcurrencyPermit { room, limit, who, queue: all.queue },
        })
    }

    /// A call has its places: it goes on if the day still has a call for it.
    fn settle(
        &self,
        call: &Resolved,
        settings: &LimitSettings,
        stay: Stay,
        context: &CallContext,
    ) -> Verdict {
        self.check_budgets(call, settings, context)?;
        match stay.is_empty() {
            true => Ok(Permit::FREE),
            false => Ok(Permit::holding(stay)),
        }
    }

    fn check_budgets(
        &self,
        call: &Resolved,
        settings: &LimitSettings,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let daily = &settings.daily;
        if daily.per_principal.is_empty() && daily.per_tool.is_empty() {
            return Ok(());
        }
        let who = &*call.call.caller.principal;
        let names = tool_names(call);
        let of_who = daily.per_principal.find(who).map(|found| (Scope::Principal, who, found));
        let of_tool = names.as_ref().and_then(|names| {
            let found = daily.per_tool.find_tool(names, &None, is_fewer)?;
            Some((Scope::Tool, names.canonical(), found))
        });
        let found = [of_who, of_tool].into_iter().flatten().filter_map(|(scope, name, found)| {
            Some((QuotaCharge { scope, name, limit: found.value? }, &*found.pattern))
        });
        let (draws, patterns): (Vec<QuotaCharge<'_>>, Vec<&str>) = found.unzip();
        let time = (self.wall)();
        self.budget.charge(&draws, time, settings.keys).map_err(|at| {
            let QuotaCharge { scope, limit, .. } = draws[at];
            let limit = format!("{limit} a day");
            let rule = scope.rule(patterns[at], &limit);
            let told = scope.told(&call.call.caller, patterns[at], &limit);
            let wait = until_tomorrow(time);
            let again = spoken(wait);
            let text = format!(
                "the budget `{told}` is used up; a new day begins at 00:00 UTC, in {again}"
            );
            self.refusals.refuse(context, Limit::Daily(scope), &rule, Some(wait), text)
        })
    }

    fn full(&self, want: &Want, context: &CallContext) -> CallError {
        let queue = want.visit.queue;
        let text = |rule: &str| {
            format!(
                "the limit `{rule}` is reached, and {queue} calls wait already; try again in 1s"
            )
        };
        self.crowded(want, context, text)
    }

    fn waited(&self, want: &Want, within: Duration, context: &CallContext) -> CallError {
        let within = spoken(within);
        let text = |rule: &str| {
            format!("the limit `{rule}` left no place within {within}; try again in 1s")
        };
        self.crowded(want, context, text)
    }

    fn crowded(
        &self,
        want: &Want,
        context: &CallContext,
        text: impl FnOnce(&str) -> String,
    ) -> CallError {
        let at_once = format!("{} at once", want.visit.limit);
        let rule = want.scope.rule(&want.pattern, &at_once);
        let text = text(&want.scope.told(context.caller(), &want.pattern, &at_once));
        let limit = Limit::Concurrency(want.scope);
        self.refusals.refuse(context, limit, &rule, Some(SHORTLY), text)
    }
}

/// Whether one number is the narrower limit; none is no limit.
fn is_fewer<T: Ord>(one: &Option<T>, other: &Option<T>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one < other,
        (one, None) => one.is_some(),
        (None, _) => false,
    }
}

impl Stay {
    fn hold(&mut self, want: &Want) {
        if let Some(free) = self.limiter.iter_mut().find(|room| room.is_none()) {
            *free = Some(want.visit.room);
        }
    }

    fn is_empty(&self) -> bool {
        self.limiter[0].is_none() && self.response.is_none()
    }
}

impl OnEnd for Stay {
    fn ended(&mut self, outcome: &Outcome) -> Result<(), CallError> {
        let (Some((most, context)), Ok(Reply::Result(result))) = (&self.response, outcome) else {
            return Ok(());
        };
        let size = result.bytes().len() as u64;
        if size <= *most {
            return Ok(());
        }
        let rule = format!("response {most} bytes");
        let text = format!(
            "the result is {size} bytes, and the limit `response` is {most}; ask for less at a time"
        );
        Err(self.limits.refusals.refuse(context, Limit::Response, &rule, None, text))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        for room in self.limiter.iter().flatten().rev() {
            self.limits.limiter.leave(*room);
        }
    }
}
