//! Who may do what: the policies that stand in the gateway's pipeline.
//!
//! Each is a gate, a ward, a sight or a witness of [`gantry_gateway::policy`]. None of them knows
//! HTTP, files or a database: what must outlive the program they keep in a [`DocumentStore`].

pub mod approvals;
mod audit;
mod breaker;
mod clock;
mod document_store;
#[cfg(test)]
mod fake_gateway;
mod flush;
mod injection;
mod limits;
mod mask;
pub mod pins;
mod refusal;
mod rules;
mod signature;
mod signed_store;
#[cfg(test)]
mod test_gateway;
mod token;
mod tokens;
pub mod trust;

pub use approvals::Approvals;
pub use audit::{
    AnchorFlusher, Audit, AuditAnchor, AuditAnchors, AuditLogError, AuditMode, AuditPosition,
    AuditSettings, AuditSink, AuditedArguments, ObservedAuditRecord, Redaction, WhenFull,
};
pub use breaker::{BreakerSettings, BreakerState, Breakers};
pub use clock::{Clock, ClockFlusher};
pub use document_store::{DocumentStore, DocumentStoreError, Kept, MemoryDocumentStore};
pub use injection::{InjectionFinding, Sort, findings, visible};
pub use limits::{
    BudgetFlusher, ConcurrencySettings, DailySettings, DefaultRate, LimitSettings, Limits,
    Patterns, Rate, RateError,
};
pub use pins::{PinMode, PinSettings, Pins, Suspicious};
pub use rules::{
    Annotations, Condition, ConditionBounds, ConditionError, Explanation, Finding, Judged, Rule,
    RuleEffect, RuleLimits, RuleSet, Rules, Unanswered, What, Who,
};
pub use signature::Signer;
pub use token::{Role, Token, TokenRecord};
pub use tokens::{Principal, TokenError, TokenRefusal, Tokens};
pub use trust::Trust;
