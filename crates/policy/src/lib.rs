//! Who may do what: the policies that stand in the gateway's pipeline.
//!
//! Each is a gate, a ward, a sight or a witness of [`gantry_gateway::policy`]. None of them knows
//! HTTP, files or a database: what must outlive the program they keep in a [`Cabinet`].

pub mod approvals;
mod archive;
mod audit;
mod breaker;
mod cabinet;
mod clock;
#[cfg(test)]
mod house;
mod limits;
mod mask;
pub mod pins;
mod refusal;
mod rounds;
mod rules;
mod signature;
#[cfg(test)]
mod stage;
mod suspicion;
mod token;
mod tokens;
pub mod trust;

pub use approvals::Approvals;
pub use audit::{
    AnchorFlusher, Audit, AuditAnchor, AuditAnchors, AuditLog, AuditLogError, AuditMode,
    AuditPosition, AuditSettings, AuditedArguments, HeardRecord, Redaction, WhenFull,
};
pub use breaker::{BreakerSettings, BreakerState, Breakers};
pub use cabinet::{Cabinet, CabinetError, Kept, MemoryCabinet};
pub use clock::{Clock, ClockKeeper};
pub use limits::{
    BudgetKeeper, ConcurrencySettings, DailySettings, DefaultRate, LimitSettings, Limits, Patterns,
    Rate, RateError,
};
pub use pins::{PinMode, PinSettings, Pins, Suspicious};
pub use rules::{
    Annotations, Condition, ConditionBounds, ConditionError, Explanation, Finding, Judged, Rule,
    RuleEffect, RuleLimits, RuleSet, Rules, Unanswered, What, Who,
};
pub use signature::Signer;
pub use suspicion::{Sort, Suspicion, suspicions, visible};
pub use token::{Role, Token, TokenRecord};
pub use tokens::{Principal, TokenError, TokenRefusal, Tokens};
pub use trust::Trust;
