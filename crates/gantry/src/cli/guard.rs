//! The policies as the configuration and the state directory have them.

use std::sync::Arc;

use gantry::config::Config;
use gantry::guard::{Guard, Keeping};
use gantry::telemetry::Telemetry;
use gantry_policy::Signer;

use super::cabinet::StoreCabinet;
use super::exit::Exit;
use super::state;

/// Puts the policies together, with everything they have kept.
pub(crate) fn open(
    config: Option<&Config>,
    telemetry: Option<Arc<Telemetry>>,
) -> Result<Arc<Guard>, Exit> {
    let cabinet = Arc::new(StoreCabinet(state::store(config)?));
    Ok(Guard::new(Keeping { cabinet, signer: Signer::new(state::key()?) }, telemetry))
}
