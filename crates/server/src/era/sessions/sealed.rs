//! What was agreed in a session, sealed into its id, so that a session goes on after a restart.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gantry_gateway::{Caller, OptionalCapabilities};
use gantry_protocol::{ClientCapabilities, JsonLimits, RawJson, Revision};
use serde::{Deserialize, Serialize};

use super::super::session::Session;
use crate::authenticator::Identity;
use crate::seal::Purpose;
use crate::server_state::ServerState;

/// What is sealed into a session id.
#[derive(Serialize, Deserialize)]
pub(super) struct Sealed {
    pub(super) revision: String,
    pub(super) principal: String,
    pub(super) capabilities: String,
    pub(super) client: Option<String>,
    pub(super) issued: u64,
    /// What its calls say they belong to.
    pub(super) name: Option<String>,
    /// What its client was told that there is; everything where that is not said.
    pub(super) offered: Option<OptionalCapabilities>,
}

/// Longer descriptions of a client are not worth carrying in each request.
const LONGEST_CARRIED: usize = 2048;

/// The id that stands for a session.
pub(crate) fn mint(server_state: &ServerState, session: &Session) -> Option<String> {
    let carried =
        |raw: &RawJson| (raw.bytes().len() <= LONGEST_CARRIED).then(|| raw.as_str().to_owned());
    let caller = &session.caller;
    let sealed = Sealed {
        revision: session.revision.as_str().to_owned(),
        principal: caller.principal.to_string(),
        capabilities: carried(&caller.capabilities.raw).unwrap_or_else(|| "{}".to_owned()),
        client: caller.client_info.as_ref().and_then(carried),
        issued: unix_seconds(),
        name: caller.session.as_deref().map(str::to_owned),
        offered: Some(session.offered),
    };
    server_state.seal.seal(Purpose::Session, &serde_json::to_vec(&sealed).ok()?)
}

/// The session that an id stands for, if it is good and of this principal.
pub(super) fn open(server_state: &ServerState, identity: &Identity, id: &str) -> Option<Session> {
    let text = server_state.seal.open(Purpose::Session, id)?;
    let sealed: Sealed = serde_json::from_slice(&text).ok()?;
    let age = Duration::from_secs(unix_seconds().saturating_sub(sealed.issued));
    if age > server_state.settings.session_lifetime || *sealed.principal != *identity.principal {
        return None;
    }
    let raw = |text: String| RawJson::parse(text, JsonLimits::default()).ok();
    let caller = Caller {
        principal: identity.principal.clone(),
        capabilities: ClientCapabilities::read(raw(sealed.capabilities)?),
        client_info: sealed.client.and_then(raw),
        session: sealed.name.map(Arc::from),
        scope: identity.scope.clone(),
        lease: identity.lease.clone(),
        virtual_server: server_state.virtual_server.clone(),
    };
    let offered = sealed.offered.unwrap_or(OptionalCapabilities::ALL);
    Some(Session::new(Revision::parse(&sealed.revision)?, caller, offered))
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
