//! The policies as the configuration and the state directory have them.

use std::sync::Arc;

use gantry::config::Config;
use gantry::guard::{Guard, Keeping};
use gantry_policy::Signer;

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
    Ok(Guarding { guard: Guard::new(keeping, audit.audit.clone()), audit })
}

impl Guarding {
    /// Puts another configuration in force.
    pub(crate) fn configure(&self, config: &Config) {
        self.audit.configure(config);
    }

    /// Ends what must be ended: whatever was recorded is written.
    pub(crate) async fn close(&self) {
        self.audit.close().await;
    }
}
