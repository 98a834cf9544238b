//! The policies as the configuration and the state directory have them.

use std::sync::Arc;

use gantry::config::Config;
use gantry::guard::{Guard, Keeping};
use gantry_policy::{Rules, Signer};

use super::cabinet::StoreCabinet;
use super::exit::Exit;
use super::state;

/// Puts the policies together, with everything they have kept.
pub(crate) fn open(config: Option<&Config>) -> Result<Arc<Guard>, Exit> {
    let cabinet = Arc::new(StoreCabinet(state::store(config)?));
    let keeping = Keeping { cabinet, signer: Signer::new(state::key()?) };
    Ok(Guard::new(keeping, rules(config)))
}

/// The rules of a configuration.
pub(crate) fn rules(config: Option<&Config>) -> Rules {
    let config = config.cloned().unwrap_or_default();
    Rules::new(config.policy.rule_set(&config.servers))
}
