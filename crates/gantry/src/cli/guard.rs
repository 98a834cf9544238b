//! The policies as the configuration and the state directory have them.

use std::sync::Arc;

use gantry::config::Config;
use gantry::guard::{Guard, Keeping};
use gantry_policy::trust::{Level, TrustSettings};
use gantry_policy::{Approvals, CabinetError, Clock, Signer, Trust};

use super::cabinet::StoreCabinet;
use super::exit::{Code, Exit};
use super::{origin, state};

/// How far the gateway is trusted when neither the configuration nor anybody says so.
const TRUST: &str = "GANTRY_TRUST";

/// Puts the policies together, with everything they have kept.
pub(crate) async fn open(config: Option<&Config>) -> Result<Arc<Guard>, Exit> {
    let cabinet = Arc::new(StoreCabinet(state::store(config)?));
    let keeping = Keeping { cabinet, signer: Signer::new(state::key()?) };
    let trust = trust(config, &keeping).await?;
    Ok(Guard::new(keeping, trust))
}

async fn trust(config: Option<&Config>, keeping: &Keeping) -> Result<Trust, Exit> {
    let unread = |error: CabinetError| {
        let text = format!("decisions about trust cannot be read: {error}");
        Exit::new(Code::Configuration, text).hint("nothing runs without them; mend the store")
    };
    let settings = trust_settings(config)?;
    let waiting = config.map(|config| config.trust.approvals.clone()).unwrap_or_default();
    let Keeping { cabinet, signer } = keeping.clone();
    let approvals = Approvals::open(waiting, cabinet, signer, Clock::system()).await;
    let in_order = Arc::new(|_: &_| true);
    Trust::open(settings, approvals.map_err(unread)?, in_order).await.map_err(unread)
}

/// Puts what a changed configuration says in force.
pub(crate) fn configure(guard: &Guard, config: &Config) {
    // The variable was in order at the start, and does not change.
    if let Ok(settings) = trust_settings(Some(config)) {
        guard.trust().configure(settings);
    }
    guard.trust().approvals().configure(config.trust.approvals.clone());
}

fn trust_settings(config: Option<&Config>) -> Result<TrustSettings, Exit> {
    let said = origin::variable(TRUST).filter(|word| !word.is_empty());
    let level = said.map(|word| {
        Level::parse(&word).ok_or_else(|| {
            Exit::new(Code::Configuration, format!("{TRUST} is `{word}`, which is no level"))
                .hint("set it to untrusted, verified or trusted")
        })
    });
    Ok(config.map(|config| config.trust.clone()).unwrap_or_default().settings(level.transpose()?))
}
