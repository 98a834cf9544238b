//! How approvals work: their limits, and who may answer.

use std::collections::BTreeMap;
use std::time::Duration;

/// Every limit of approvals, with its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long a call waits for somebody other than its own client. Then it is answered, and the
    /// approval stays open.
    pub wait: Duration,
    /// How long an approval stays open.
    pub expires: Duration,
    /// How long after an approval the same call may be repeated, if it had been answered before.
    pub repeat_within: Duration,
    /// Approvals that may be open at once.
    pub pending: usize,
    /// Approvals of one principal's calls that may be open at once.
    pub pending_of_principal: usize,
    /// Bytes of the arguments of open approvals. The calls of one principal may have a quarter.
    pub held: usize,
    /// Grants in force at once; the oldest gives way.
    pub grants: usize,
    /// Past approvals that are remembered.
    pub past: usize,
    /// Whether an elicitation of the local user's client is an approval.
    pub elicitation: bool,
    /// Other principals, as patterns, whose clients' elicitations are approvals too.
    pub elicitation_principals: Vec<String>,
    /// Principals, as patterns, who may approve calls of others, beside tokens with that role.
    pub approvers: Vec<String>,
    /// Who may approve what a rule stops, by the name of the rule; others only as administrators.
    pub rule_approvers: BTreeMap<String, Vec<String>>,
    /// Whether approvers may approve their own calls.
    pub self_approval: bool,
    /// Where to tell that a call waits.
    pub webhook: Option<String>,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(20),
            expires: Duration::from_secs(60 * 60),
            repeat_within: Duration::from_secs(15 * 60),
            pending: 100,
            pending_of_principal: 20,
            held: 64 * 1024 * 1024,
            grants: 1000,
            past: 200,
            elicitation: true,
            elicitation_principals: Vec::new(),
            approvers: Vec::new(),
            rule_approvers: BTreeMap::new(),
            self_approval: false,
            webhook: None,
        }
    }
}
