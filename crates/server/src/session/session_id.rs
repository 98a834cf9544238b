//! Session ids: what was negotiated, sealed (XChaCha20-Poly1305) into the id itself, so that a
//! session goes on after a restart.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gantry_gateway::{Caller, OptionalCapabilities};
use gantry_protocol::{ClientCapabilities, JsonLimits, RawJson, Revision};
use serde::{Deserialize, Serialize};

use crate::authenticator::Identity;
use crate::seal::Purpose;
use crate::server_state::ServerState;
use crate::session::Session;

/// The content of a session id.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sealed {
    pub(crate) revision: String,
    pub(crate) principal: String,
    pub(crate) capabilities: String,
    pub(crate) client: Option<String>,
    pub(crate) issued: u64,
    /// The session name of its calls, for policies and the audit log.
    pub(crate) name: Option<String>,
    /// The capabilities that were declared to the client; an id of an older version has none, and
    /// stands for all.
    pub(crate) offered: Option<OptionalCapabilities>,
}

/// Longer descriptions of a client are left out: the id is a header of every request.
const MAX_DESCRIPTION: usize = 2048;

/// Seals a session into its id.
pub(crate) fn seal_session_id(server_state: &ServerState, session: &Session) -> Option<String> {
    let carried =
        |raw: &RawJson| (raw.bytes().len() <= MAX_DESCRIPTION).then(|| raw.as_str().to_owned());
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

/// Restores a session from its id, if the id is valid and belongs to this principal.
pub(crate) fn open_session_id(
    server_state: &ServerState,
    identity: &Identity,
    id: &str,
) -> Option<Session> {
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
