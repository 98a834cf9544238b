//! Who may do what: the policies that stand in the gateway's pipeline.
//!
//! Each is a gate, a ward, a sight or a witness of [`gantry_gateway::policy`]. None of them knows
//! HTTP, files or a database: what must outlive the program they keep in a [`Cabinet`].

mod cabinet;
mod rules;
mod signature;

pub use cabinet::{Cabinet, CabinetError, MemoryCabinet};
pub use rules::{
    Annotations, Condition, ConditionBounds, ConditionError, Explanation, Finding, Judged,
    Prefixes, Rule, RuleEffect, RuleLimits, RuleSet, Rules, Unanswered, What, Who,
};
pub use signature::Signer;
