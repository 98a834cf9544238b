//! How often one caller may make calls that are refused, or for what does not exist. Beyond that it
//! is told to wait, and such calls are counted in the audit log instead of written one by one.

use std::sync::Arc;

use gantry_gateway::policy::{PolicyDecision, RefusalFilter};
use gantry_gateway::{Call, CallContext, CallError, ErrorKind};

use super::Limits;
use super::refusal::{Limit, spoken, whole};

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
    use crate::fake_gateway::FakeGateway;
    use crate::limits::{DefaultRate, LimitSettings, Limits};

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
            ("ann", "world", "the limit `tool world 1/d` is reached"),
            ("ann", "world", "the limit `tool world 1/d` is reached"),
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
