//! The policies of this product, put together from the configuration and in their order.

use std::sync::{Arc, OnceLock, Weak};

use gantry_gateway::{Gateway, GatewayBuilder};
use gantry_policy::{Cabinet, Signer, Trust};

/// Everything that stands between a call and its provider, beside what every gateway has.
#[derive(Debug)]
pub struct Guard {
    keeping: Keeping,
    trust: Trust,
    /// The gateway that it guards.
    gateway: OnceLock<Weak<Gateway>>,
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
    pub fn new(keeping: Keeping, trust: Trust) -> Arc<Self> {
        Arc::new(Self { keeping, trust, gateway: OnceLock::new() })
    }

    /// Where it keeps what it must.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// The trust gate, with the approvals.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Puts the policies into a gateway, in the order in which they decide: limits, then rules, pins,
    /// trust with approvals, and last the breaker of each server. Whatever they decide is recorded.
    pub fn install(self: &Arc<Self>, builder: GatewayBuilder) -> GatewayBuilder {
        builder.ward(self.trust.clone())
    }

    /// Remembers the gateway, once it is built. A guard guards one.
    pub(crate) fn guards(&self, gateway: &Arc<Gateway>) {
        let _ = self.gateway.set(Arc::downgrade(gateway));
    }

    /// The gateway that it guards, while there is one.
    pub fn gateway(&self) -> Option<Arc<Gateway>> {
        self.gateway.get()?.upgrade()
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeping").finish_non_exhaustive()
    }
}
