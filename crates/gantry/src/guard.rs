//! The policies of this product, put together from the configuration and in their order.

use std::sync::Arc;

use gantry_gateway::GatewayBuilder;
use gantry_policy::{Cabinet, Rules, Signer};

use crate::config::Config;

/// Everything that stands between a call and its provider, beside what every gateway has.
#[derive(Debug)]
pub struct Guard {
    keeping: Keeping,
    rules: Rules,
}

/// What the policies keep, and with which key they sign it.
#[derive(Clone)]
pub struct Keeping {
    /// Where documents are kept.
    pub cabinet: Arc<dyn Cabinet>,
    /// Signs what is kept.
    pub signer: Signer,
}

impl Guard {
    /// A guard that keeps what it must in this place.
    pub fn new(keeping: Keeping, rules: Rules) -> Arc<Self> {
        Arc::new(Self { keeping, rules })
    }

    /// Who may see and call what.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Puts what a configuration says in force, in place of what another one said. Returns whether
    /// callers may see something else now.
    pub fn configure(&self, before: &Config, config: &Config) -> bool {
        self.rules.put(config.policy.rule_set(&config.servers));
        before.policy.differs(&config.policy)
    }

    /// Where it keeps what it must.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// Puts the policies into a gateway, in the order in which they decide: limits, then rules, pins,
    /// trust with approvals, and last the breaker of each server. Whatever they decide is recorded.
    pub fn install(self: &Arc<Self>, builder: GatewayBuilder) -> GatewayBuilder {
        builder.ward(self.rules.clone()).sight(self.rules.clone())
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeping").finish_non_exhaustive()
    }
}
