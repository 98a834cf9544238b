//! What a caller is told at a limit, what the audit log gets, and what the metrics count.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use gantry_gateway::filter::PolicyDecision;
use gantry_gateway::{CallContext, CallError, Caller, ErrorKind};

/// A limit, as the metrics call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Rate(Scope),
    Concurrency(Scope),
    Daily(Scope),
    Arguments,
    Response,
    Refused,
}

/// What a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Overall,
    Principal,
    Server,
    Tool,
}

impl Scope {
    pub(super) const ALL: [Self; 4] = [Self::Overall, Self::Principal, Self::Server, Self::Tool];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Overall => "overall",
            Self::Principal => "principal",
            Self::Server => "server",
            Self::Tool => "tool",
        }
    }

    /// What a limit is called: `tool github_* 60/min`.
    pub(super) fn rule(self, pattern: &str, limit: &str) -> String {
        match self {
            Self::Overall => format!("overall {limit}"),
            _ => format!("{} {pattern} {limit}", self.name()),
        }
    }

    /// What a caller is told of it. The pattern is a part of the configuration, which only the local
    /// user can read anyway.
    pub(super) fn told(self, caller: &Caller, pattern: &str, limit: &str) -> String {
        match self {
            Self::Overall => self.rule(pattern, limit),
            _ if caller.is_local() => self.rule(pattern, limit),
            _ => format!("{} {limit}", self.name()),
        }
    }
}

/// Calls that were refused, by limit.
#[derive(Debug, Default)]
pub(super) struct Refusals([AtomicU64; Limit::COUNT]);

impl Limit {
    const COUNT: usize = 3 * Scope::ALL.len() + 3;

    fn all() -> impl Iterator<Item = Self> {
        let scoped = [Self::Rate, Self::Concurrency, Self::Daily];
        let scoped = scoped.into_iter().flat_map(|limit| Scope::ALL.map(limit));
        scoped.chain([Self::Arguments, Self::Response, Self::Refused])
    }

    fn label(self) -> String {
        match self {
            Self::Rate(scope) => format!("rate_{}", scope.name()),
            Self::Concurrency(scope) => format!("concurrency_{}", scope.name()),
            Self::Daily(scope) => format!("daily_{}", scope.name()),
            Self::Arguments => "arguments".to_owned(),
            Self::Response => "response".to_owned(),
            Self::Refused => "refused".to_owned(),
        }
    }
}

impl Refusals {
    /// Counts and notes a refusal, and gives what the caller is told.
    pub(super) fn refuse(
        &self,
        context: &CallContext,
        limit: Limit,
        rule: &str,
        retry_after: Option<Duration>,
        text: String,
    ) -> CallError {
        self.count(limit);
        context.note_decision(PolicyDecision {
            allowed: false,
            policy: "limits",
            rule: rule.into(),
        });
        CallError::new(ErrorKind::LimitExceeded { retry_after: retry_after.map(whole) }, text)
    }

    /// Counts a refusal.
    pub(super) fn count(&self, limit: Limit) {
        if let Some(at) = Limit::all().position(|it| it == limit) {
            self.0[at].fetch_add(1, Relaxed);
        }
    }

    /// Writes the counters as Prometheus reads them.
    pub(super) fn write(&self, out: &mut String) {
        out.push_str("# HELP gantry_limited_total Calls refused at a limit, by limit.\n");
        out.push_str("# TYPE gantry_limited_total counter\n");
        for (limit, count) in Limit::all().zip(&self.0) {
            let (label, count) = (limit.label(), count.load(Relaxed));
            let _ = writeln!(out, "gantry_limited_total{{limit=\"{label}\"}} {count}");
        }
    }
}

/// Whole milliseconds, rounded up: who comes back after them is not too early.
pub(crate) fn whole(wait: Duration) -> Duration {
    let millis = wait.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// A time for people: `950ms`, `12s`, `3h 5m`.
pub(crate) fn spoken(wait: Duration) -> String {
    let wait = whole(wait);
    let seconds = wait.as_millis().div_ceil(1000);
    match seconds {
        0..=1 => format!("{}ms", wait.as_millis()),
        2..=119 => format!("{seconds}s"),
        120..=7199 => format!("{}m", seconds.div_ceil(60)),
        _ => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let cases = [
            (1, "1ms"),
            (949_999_999, "950ms"),
            (1_000_000_000, "1000ms"),
            (1_000_000_001, "2s"),
            (90_000_000_000, "90s"),
            (150_000_000_000, "3m"),
            (11_160_000_000_000, "3h 6m"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(spoken(Duration::from_nanos(nanos)), expected, "{nanos}");
        }
    }

    #[test]
    fn every_limit_has_a_counter_of_its_own() {
        let mut labels: Vec<String> = Limit::all().map(Limit::label).collect();
        assert_eq!(labels.len(), Limit::COUNT);
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), Limit::COUNT);
    }
}
