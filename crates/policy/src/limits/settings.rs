//! Every limit on calls, with its default.

use std::time::Duration;

use super::patterns::Patterns;
use super::rate::Rate;
use crate::breaker::BreakerSettings;

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
