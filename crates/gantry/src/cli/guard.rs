//! The policies as the configuration and the state directory have them.

use std::sync::Arc;

use gantry::config::Config;
use gantry::guard::{Guard, Keeping};
use gantry_policy::{LimitSettings, Signer};

use super::cabinet::StoreCabinet;
use super::exit::Exit;
use super::state;

/// Puts the policies together, with everything they have kept.
pub(crate) fn open(config: Option<&Config>) -> Result<Arc<Guard>, Exit> {
    let cabinet = Arc::new(StoreCabinet(state::store(config)?));
    let keeping = Keeping { cabinet, signer: Signer::new(state::key()?) };
    Ok(Guard::new(keeping, limits(config)))
}

/// The limits that a configuration asks for.
pub(crate) fn limits(config: Option<&Config>) -> LimitSettings {
    let written = config.and_then(|config| config.limits.as_ref());
    written.map(|limits| limits.settings.clone()).unwrap_or_default()
}
