//! The policies of this product, put together from the configuration and in their order.

use std::sync::{Arc, OnceLock, Weak};

use gantry_gateway::{Gateway, GatewayBuilder};
use gantry_policy::{
    Audit, Breakers, BudgetFlusher, Clock, ClockFlusher, DocumentStore, LimitSettings, Limits,
    Pins, Rules, Signer, Trust,
};

/// Everything that stands between a call and its provider, beside what every gateway has.
#[derive(Debug)]
pub struct PolicySet {
    storage: PolicyStorage,
    limits: Arc<Limits>,
    breakers: Breakers,
    audit: Arc<Audit>,
    trust: Trust,
    pins: Pins,
    rules: Rules,
    /// The gateway that it guards.
    gateway: OnceLock<Weak<Gateway>>,
}

/// What a guard is made of.
#[derive(Debug)]
pub struct Parts {
    /// How much may be called.
    pub limits: LimitSettings,
    /// What may run, and what a person must approve.
    pub trust: Trust,
    /// The record of calls.
    pub audit: Arc<Audit>,
    /// The definitions that are pinned.
    pub pins: Pins,
    /// Who may see and call what.
    pub rules: Rules,
}

/// What the policies keep, and with which key they sign it.
#[derive(Clone)]
pub struct PolicyStorage {
    /// Where documents are kept.
    pub document_store: Arc<dyn DocumentStore>,
    /// Signs what is kept.
    pub signer: Signer,
    /// Tells when what is kept is over.
    pub clock: Clock,
}

impl PolicySet {
    /// A guard of these parts that keeps what it must in this place.
    pub fn new(storage: PolicyStorage, parts: Parts) -> Arc<Self> {
        let Parts { limits, trust, audit, pins, rules } = parts;
        let breakers = Breakers::new(limits.breaker.clone());
        let recorded = audit.clone();
        trust.approvals().set_listener(Arc::new(move |past| recorded.note_approval(past)));
        let (limits, gateway) = (Limits::new(limits), OnceLock::new());
        Arc::new(Self { storage, limits, breakers, audit, trust, pins, rules, gateway })
    }

    /// Who may see and call what.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The definitions that are pinned.
    pub fn pins(&self) -> &Pins {
        &self.pins
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
    pub async fn keep_budgets(&self) -> BudgetFlusher {
        BudgetFlusher::start(self.limits.clone(), self.storage.document_store.clone()).await
    }

    /// Keeps the latest time that was seen. It must be stopped for the last of it to be kept.
    pub fn keep_time(&self) -> ClockFlusher {
        let PolicyStorage { document_store, signer, clock } = self.storage.clone();
        ClockFlusher::start(clock, document_store, signer)
    }

    /// Writes what the policies count, as Prometheus reads it.
    pub fn write_metrics(&self, out: &mut String) {
        self.limits.write_metrics(out);
        self.breakers.write_metrics(out);
        self.trust.approvals().write_metrics(out);
    }

    /// Where it keeps what it must.
    pub fn storage(&self) -> &PolicyStorage {
        &self.storage
    }

    /// The trust gate, with the approvals.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Puts the policies into a gateway, in the order in which they decide: limits, then rules, pins,
    /// trust with approvals, and last the breaker of each server. Whatever they decide is recorded.
    pub fn install(self: &Arc<Self>, builder: GatewayBuilder) -> GatewayBuilder {
        builder
            // Guessing names costs a caller too.
            .request_filter(self.limits.request_filter())
            .call_filter(self.rules.clone())
            .call_filter(self.pins.clone())
            // Behind the rules: a limit tells nothing of what one may not see.
            .call_filter(self.limits.rates())
            .call_filter(self.trust.clone())
            // Behind the approvals: nobody holds a place while a person thinks.
            .call_filter(self.limits.places())
            .call_filter(self.breakers.clone())
            .refusal_filter(self.limits.refused())
            .publish_hook(self.pins.clone())
            // Behind the pins, which say what clients are shown.
            .publish_hook(self.trust.clone())
            .visibility_filter(self.rules.clone())
            .visibility_filter(self.pins.clone())
            .observer(self.audit.observer())
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

impl std::fmt::Debug for PolicyStorage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keeping").finish_non_exhaustive()
    }
}
