//! What the policies decided about a call, and by what right: for the record.

use std::sync::Arc;

/// What a policy decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// Whether the call was let through.
    pub allowed: bool,
    /// Which policy: `rules`, `trust`, `approval`, `pins`, `limits`, …
    pub policy: &'static str,
    /// What of it decided: the name of a rule, a grant, a limit.
    pub rule: Arc<str>,
}
