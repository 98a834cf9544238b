//! Limits: how often, how many at once, how large and how much in a day, for each caller, tool and
//! server and for all.
//!
//! One set of counts, and three policies over it: what concerns the caller stands before the name
//! is known, so that guessing names is limited too; the rates of tools and servers stand behind the
//! rules, so that they tell nothing of what one may not see; places are taken last, so that nobody
//! holds one while a person thinks.

mod buckets;
mod budget;
mod key;
mod limiter;
mod patterns;
mod places;
mod rate;
mod rates;
mod refusal;
mod refused;
mod settings;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use gantry_gateway::policy::{CallFilter, RefusalFilter, RequestFilter};
use gantry_gateway::{Resolved, Target, TargetNames};
use tokio::time::Instant;

use self::buckets::Buckets;
use self::budget::Budget;
use self::key::Keys;
use self::limiter::ConcurrencyLimiter;
use self::refusal::Refusals;
pub use budget::BudgetFlusher;
pub use patterns::Patterns;
pub use rate::{Rate, RateError};
pub(crate) use refusal::{spoken, whole};
pub(crate) use refused::REFUSED_CALLS;
pub use settings::{ConcurrencySettings, DailySettings, DefaultRate, LimitSettings};

/// The limits in force, and what was counted so far.
#[derive(Debug)]
pub struct Limits {
    settings: ArcSwap<LimitSettings>,
    keys: Keys,
    buckets: Buckets,
    limiter: Arc<ConcurrencyLimiter>,
    budget: Budget,
    refusals: Refusals,
    /// Rates are measured from here, by a clock that only goes forward.
    started: Instant,
    /// The time since 1970, for what has to do with days.
    wall: fn() -> Duration,
}

impl Limits {
    /// These limits, with nothing counted.
    pub fn new(settings: LimitSettings) -> Arc<Self> {
        Arc::new(Self {
            settings: ArcSwap::from_pointee(settings),
            keys: Keys::new(),
            buckets: Buckets::new(),
            limiter: Arc::new(ConcurrencyLimiter::new()),
            budget: Budget::new(),
            refusals: Refusals::default(),
            started: Instant::now(),
            wall: || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        })
    }

    /// Puts other limits in force, at once. What was counted stays so.
    pub fn configure(&self, settings: LimitSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// What concerns the caller: rates of callers and of all, and the size of arguments.
    pub fn request_filter(self: &Arc<Self>) -> impl RequestFilter + 'static {
        rates::CallerRates(self.clone())
    }

    /// The rate of calls that are refused, or for what does not exist.
    pub fn refused(self: &Arc<Self>) -> impl RefusalFilter + 'static {
        refused::RefusedCalls(self.clone())
    }

    /// The rates of tools and servers.
    pub fn rates(self: &Arc<Self>) -> impl CallFilter + 'static {
        rates::TargetRates(self.clone())
    }

    /// How many calls run at once, how many in a day, and how large their results may be.
    pub fn places(self: &Arc<Self>) -> impl CallFilter + 'static {
        places::Places(self.clone())
    }

    /// Writes how many calls were refused, as Prometheus reads it.
    pub fn write_metrics(&self, out: &mut String) {
        self.refusals.write(out);
        out.push_str("# HELP gantry_limit_keys Callers, tools and servers whose rate is known.\n");
        out.push_str("# TYPE gantry_limit_keys gauge\n");
        out.push_str(&format!("gantry_limit_keys {}\n", self.buckets.len()));
    }

    /// Nanoseconds since the start.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The names of the tool that a call is for. It is counted by its canonical name: it has the same
/// limits at every endpoint.
fn tool_names(resolved: &Resolved) -> Option<TargetNames<'_>> {
    matches!(resolved.target, Target::Tool(_)).then(|| resolved.target.names())
}

#[cfg(test)]
mod tests;
