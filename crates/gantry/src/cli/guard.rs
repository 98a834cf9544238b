//! The policies as the configuration and the state directory have them.

use std::sync::Arc;

use gantry::config::Config;
use gantry::guard::{Guard, Keeping};
use gantry_policy::{Pins, Signer};

use super::cabinet::StoreCabinet;
use super::exit::Exit;
use super::lock::LockFile;
use super::state;

/// Puts the policies together, with everything they have kept.
pub(crate) fn open(config: Option<&Config>) -> Result<Arc<Guard>, Exit> {
    let cabinet = Arc::new(StoreCabinet(state::store(config)?));
    let pins = Pins::new(config.and_then(|config| config.pins.clone()).unwrap_or_default());
    LockFile::of(config)?.load(&pins)?;
    Ok(Guard::new(Keeping { cabinet, signer: Signer::new(state::key()?) }, pins))
}
