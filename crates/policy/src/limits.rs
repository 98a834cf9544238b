//! Rate limits, concurrency limits, size limits and daily quotas, for each caller, tool and server and for
//! all together.
//!
//! One set of counters, and several filters over it. Limits of the caller are checked before the target is
//! resolved, so that guessing names is limited too. Rates of tools and servers are checked after the access
//! rules, so that a limit reveals nothing about what the caller may not see. Concurrency comes last, so that
//! nobody occupies a slot while a person decides about an approval.

mod concurrency;
mod concurrency_limiter;
mod patterns;
mod quota;
mod rate;
mod rate_filters;
mod refusal;

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use gantry_gateway::filter::{CallFilter, RefusalFilter, RequestFilter};
use gantry_gateway::{Resolved, Target, TargetNames};
use tokio::time::Instant;

use self::concurrency_limiter::ConcurrencyLimiter;
use self::quota::Budget;
use self::rate::Buckets;
use self::refusal::Refusals;
use crate::breaker::BreakerSettings;

pub use self::patterns::Patterns;
pub use self::quota::BudgetFlusher;
pub use self::rate::{Rate, RateError};
pub(crate) use self::rate_filters::REFUSED_CALLS;
pub(crate) use self::refusal::{spoken, whole};

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
        rate_filters::CallerRates(self.clone())
    }

    /// The rate of calls that are refused, or for what does not exist.
    pub fn refused(self: &Arc<Self>) -> impl RefusalFilter + 'static {
        rate_filters::RefusedCalls(self.clone())
    }

    /// The rates of tools and servers.
    pub fn rates(self: &Arc<Self>) -> impl CallFilter + 'static {
        rate_filters::TargetRates(self.clone())
    }

    /// How many calls run at once, how many in a day, and how large their results may be.
    pub fn places(self: &Arc<Self>) -> impl CallFilter + 'static {
        concurrency::Places(self.clone())
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

/// What is counted, as a number. Nobody outside can make two things meet in one, since the key of
/// the hash is made at random at each start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key(u64);

impl Key {
    /// Which of so many parts of a map it belongs to.
    fn shard(self, shards: usize) -> usize {
        // The map itself uses the low bits.
        (self.0 >> 32) as usize % shards
    }
}

/// Makes keys.
#[derive(Debug)]
struct Keys(RandomState);

impl Keys {
    fn new() -> Self {
        Self(RandomState::new())
    }

    /// The key of what these names have to do with. Names are told apart.
    fn of(&self, what: &str, parts: &[&str]) -> Key {
        let mut hasher = self.0.build_hasher();
        what.hash(&mut hasher);
        for part in parts {
            part.hash(&mut hasher);
        }
        Key(hasher.finish())
    }
}

/// A map by key. Keys are hashes already.
type KeyMap<T> = HashMap<Key, T, BuildHasherDefault<AsIs>>;

/// Takes a key as its own hash.
#[derive(Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// How much may be called, by whom and of what. A rate or number of `None` is no limit; under a
/// pattern it takes away what a wider pattern says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// How often one caller may call one tool that has no rate of its own.
    pub default: DefaultRate,
    /// How often one caller may call one tool; all callers together where the rate is shared.
    pub per_tool: Patterns<Option<Rate>>,
    /// How often all callers together may call one server.
    pub per_server: Patterns<Option<Rate>>,
    /// How often one caller may call anything.
    pub per_principal: Patterns<Option<Rate>>,
    /// How often anyone may call anything.
    pub overall: Option<Rate>,
    /// How often one caller may make calls that are refused, or for what does not exist. Each has a
    /// line in the audit log, and nobody may fill that.
    pub refused: Option<Rate>,
    /// How many calls may run at once.
    pub concurrency: ConcurrencySettings,
    /// Bytes of the arguments of one call.
    pub arguments: Option<u64>,
    /// Bytes of the result of one call.
    pub response: Option<u64>,
    /// Calls in a day.
    pub daily: DailySettings,
    /// When a server that fails is left alone.
    pub breaker: BreakerSettings,
    /// How many callers, tools and servers are told apart.
    pub keys: usize,
}

/// The rate of tools that have none of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultRate {
    /// None.
    Off,
    /// For each tool that reaches outside: those of other servers, and those that say so.
    Outside(Rate),
    /// For each tool.
    Every(Rate),
}

/// How many calls may run at once. Those beyond wait, and callers take turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcurrencySettings {
    /// Of one caller.
    pub per_principal: Patterns<Option<usize>>,
    /// Of one tool.
    pub per_tool: Patterns<Option<usize>>,
    /// Of one server.
    pub per_server: Patterns<Option<usize>>,
    /// Of all.
    pub overall: Option<usize>,
    /// How many calls of one caller may wait at one limit.
    pub queue: usize,
    /// How long a call may wait at one limit.
    pub wait: Duration,
}

/// Calls in a day, which begins at midnight UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DailySettings {
    /// Of one caller.
    pub per_principal: Patterns<Option<u64>>,
    /// Of one tool, by all callers together.
    pub per_tool: Patterns<Option<u64>>,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            default: DefaultRate::Outside(Rate::per_minute(600)),
            per_tool: Patterns::default(),
            per_server: Patterns::default(),
            per_principal: Patterns::default(),
            overall: None,
            refused: Some(Rate::per_minute(60)),
            concurrency: ConcurrencySettings::default(),
            arguments: None,
            response: None,
            daily: DailySettings::default(),
            breaker: BreakerSettings::default(),
            keys: 65_536,
        }
    }
}

impl ConcurrencySettings {
    /// What one caller may have under way when nothing else is said: far more than one client
    /// needs, and far less than the gateway has room for.
    pub const PER_PRINCIPAL: usize = 1024;
}

impl Default for ConcurrencySettings {
    fn default() -> Self {
        Self {
            per_principal: Patterns::new([("*".to_owned(), Some(Self::PER_PRINCIPAL))]),
            per_tool: Patterns::default(),
            per_server: Patterns::default(),
            overall: None,
            queue: 1024,
            wait: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests;
