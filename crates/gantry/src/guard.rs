//! The policies of this product, put together from the configuration and in their order.

use std::sync::Arc;

use gantry_gateway::GatewayBuilder;
use gantry_policy::{Audit, Breakers, BudgetKeeper, Cabinet, LimitSettings, Limits, Signer};

/// Everything that stands between a call and its provider, beside what every gateway has.
#[derive(Debug)]
pub struct Guard {
    keeping: Keeping,
    limits: Arc<Limits>,
    breakers: Breakers,
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
    /// A guard with these limits that keeps what it must in this place, and records calls there.
    pub fn new(keeping: Keeping, limits: LimitSettings, audit: Arc<Audit>) -> Arc<Self> {
        let breakers = Breakers::new(limits.breaker.clone());
        Arc::new(Self { keeping, limits: Limits::new(limits), breakers, audit })
    }

    /// The record of calls.
    pub fn audit(&self) -> &Arc<Audit> {
        &self.audit
    }

    /// Puts other limits in force, at once.
    pub fn set_limits(&self, limits: LimitSettings) {
        self.breakers.configure(limits.breaker.clone());
        self.limits.configure(limits);
    }

    /// The breakers of servers.
    pub fn breakers(&self) -> &Breakers {
        &self.breakers
    }

    /// Keeps what is used up of daily budgets. It must be stopped for the last of it to be kept.
    pub async fn keep_budgets(&self) -> BudgetKeeper {
        BudgetKeeper::start(self.limits.clone(), self.keeping.cabinet.clone()).await
    }

    /// Writes what the policies count, as Prometheus reads it.
    pub fn write_metrics(&self, out: &mut String) {
        self.limits.write_metrics(out);
        self.breakers.write_metrics(out);
    }

    /// Where it keeps what it must.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// Puts the policies into a gateway, in the order in which they decide: limits, then rules, pins,
    /// trust with approvals, and last the breaker of each server. Whatever they decide is recorded.
    pub fn install(self: &Arc<Self>, builder: GatewayBuilder) -> GatewayBuilder {
        builder
            // Guessing names costs a caller too.
            .gate(self.limits.gate())
            // Behind the rules: a limit tells nothing of what one may not see.
            .ward(self.limits.rates())
            // Behind the approvals: nobody holds a place while a person thinks.
            .ward(self.limits.places())
            .ward(self.breakers.clone())
            .witness(self.audit.witness())
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeping").finish_non_exhaustive()
    }
}
