//! The policies of this product, put together from the configuration and in their order.

use std::sync::Arc;

use gantry_gateway::GatewayBuilder;
use gantry_policy::{Cabinet, Pins, Signer};

/// Everything that stands between a call and its provider, beside what every gateway has.
#[derive(Debug)]
pub struct Guard {
    keeping: Keeping,
    pins: Pins,
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
    pub fn new(keeping: Keeping, pins: Pins) -> Arc<Self> {
        Arc::new(Self { keeping, pins })
    }

    /// The definitions that are pinned.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Where it keeps what it must.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// Puts the policies into a gateway, in the order in which they decide: limits, then rules, pins,
    /// trust with approvals, and last the breaker of each server. Whatever they decide is recorded.
    pub fn install(self: &Arc<Self>, builder: GatewayBuilder) -> GatewayBuilder {
        let builder = builder.screen(self.pins.clone()).sight(self.pins.clone());
        builder.ward(self.pins.clone())
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeping").finish_non_exhaustive()
    }
}
