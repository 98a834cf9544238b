//! Who may do what: the policies that stand in the gateway's pipeline.
//!
//! Each is a gate, a ward, a sight or a witness of [`gantry_gateway::policy`]. None of them knows
//! HTTP, files or a database: what must outlive the program they keep in a [`Cabinet`].

mod audit;
mod breaker;
mod cabinet;
mod limits;
mod signature;
#[cfg(test)]
mod stage;

pub use audit::{
    Audit, AuditLog, AuditLogError, AuditMode, AuditSettings, AuditedArguments, Redaction,
};
pub use breaker::{BreakerSettings, BreakerState, Breakers};
pub use cabinet::{Cabinet, CabinetError, MemoryCabinet};
pub use limits::{
    BudgetKeeper, ConcurrencySettings, DailySettings, DefaultRate, LimitSettings, Limits, Patterns,
    Rate, RateError,
};
pub use signature::Signer;
