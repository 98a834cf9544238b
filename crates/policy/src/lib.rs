//! Authorization and limits: the policies of the gateway's pipeline.
//!
//! Access rules, tokens and scopes, trust decisions, human approvals, pinned tool definitions (against tool
//! poisoning and rug pulls), rate limits and quotas, circuit breakers, and the audit log. Each implements
//! traits of [`gantry_gateway::filter`]. None of them knows HTTP, files or a database: what must survive a
//! restart is kept in a [`DocumentStore`].

pub mod approvals;
mod audit;
mod breaker;
pub(crate) mod canonical_json;
mod clock;
mod document_store;
mod injection;
mod limits;
mod periodic_flush;
pub mod pins;
mod rules;
mod signed_store;
mod tokens;
pub mod trust;

pub use crate::approvals::Approvals;
pub use crate::audit::{
    ADMINISTRATOR, AnchorFlusher, Audit, AuditAnchor, AuditAnchors, AuditLogError, AuditMode,
    AuditPosition, AuditSettings, AuditSink, AuditedArguments, ObservedAuditRecord, Redaction,
    WhenFull,
};
pub use crate::breaker::{BreakerSettings, BreakerState, Breakers};
pub use crate::clock::{Clock, ClockFlusher};
pub use crate::document_store::{DocumentStore, DocumentStoreError, Kept, MemoryDocumentStore};
pub use crate::injection::{InjectionFinding, Sort, findings, visible};
pub use crate::limits::{
    BudgetFlusher, ConcurrencySettings, DailySettings, DefaultRate, LimitSettings, Limits,
    Patterns, Rate, RateError,
};
pub use crate::pins::{PinMode, PinSettings, Pins, Suspicious};
pub use crate::rules::{
    Annotations, Condition, ConditionBounds, ConditionError, Explanation, Finding, Judged, Rule,
    RuleEffect, RuleLimits, RuleSet, Rules, Unanswered, What, Who,
};
pub use crate::signed_store::Signer;
pub use crate::tokens::{Principal, Role, Token, TokenError, TokenRecord, TokenRefusal, Tokens};
pub use crate::trust::Trust;

#[cfg(test)]
mod fake_gateway;

#[cfg(test)]
mod test_gateway;
