//! The policies as the configuration and the state directory have them.

use std::sync::Arc;

use gantry::config::Config;
use gantry::guard::{Guard, Keeping};
use gantry_policy::{LimitSettings, Signer};

use super::cabinet::StoreCabinet;
use super::exit::Exit;
use super::kept_audit::KeptAudit;
use super::state;

/// The policies, and what must be ended with them.
#[derive(Debug, Clone)]
pub(crate) struct Guarding {
    pub(crate) guard: Arc<Guard>,
    pub(crate) audit: KeptAudit,
}

/// Puts the policies together, with everything they have kept.
pub(crate) fn open(config: Option<&Config>) -> Result<Guarding, Exit> {
    let cabinet = Arc::new(StoreCabinet(state::store(config)?));
    let audit = KeptAudit::open(config)?;
    let keeping = Keeping { cabinet, signer: Signer::new(state::key()?) };
    let limits = config.map(limits).unwrap_or_default();
    Ok(Guarding { guard: Guard::new(keeping, limits, audit.audit.clone()), audit })
}

/// The limits that a configuration asks for.
fn limits(config: &Config) -> LimitSettings {
    config.limits.as_ref().map(|limits| limits.settings.clone()).unwrap_or_default()
}

impl Guarding {
    /// Puts another configuration in force.
    pub(crate) fn configure(&self, before: &Config, config: &Config) {
        self.audit.configure(config);
        if before.limits != config.limits {
            self.guard.set_limits(limits(config));
        }
    }

    /// Ends what must be ended: whatever was recorded is written.
    pub(crate) async fn close(&self) {
        self.audit.close().await;
    }
}
