//! The policies of this product, put together from the configuration and in their order.

use std::sync::Arc;

use gantry_gateway::GatewayBuilder;
use gantry_policy::{Cabinet, Signer};

use crate::telemetry::{Telemetry, TracingWitness};

/// Everything that stands between a call and its provider, beside what every gateway has.
#[derive(Debug)]
pub struct Guard {
    keeping: Keeping,
    telemetry: Option<Arc<Telemetry>>,
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
    pub fn new(keeping: Keeping, telemetry: Option<Arc<Telemetry>>) -> Arc<Self> {
        Arc::new(Self { keeping, telemetry })
    }

    /// Where it keeps what it must.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// The way to a collector, if there is one.
    pub fn telemetry(&self) -> Option<&Arc<Telemetry>> {
        self.telemetry.as_ref()
    }

    /// Puts the policies into a gateway, in the order in which they decide: limits, then rules, pins,
    /// trust with approvals, and last the breaker of each server. Whatever they decide is recorded.
    pub fn install(self: &Arc<Self>, builder: GatewayBuilder) -> GatewayBuilder {
        match &self.telemetry {
            Some(telemetry) => builder.witness(TracingWitness(telemetry.clone())),
            None => builder,
        }
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeping").finish_non_exhaustive()
    }
}
