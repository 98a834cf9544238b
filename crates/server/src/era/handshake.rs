//! `initialize`: which revision both sides speak, and what the client can do.

use bytes::Bytes;
use gantry_gateway::Caller;
use gantry_protocol::{ClientCapabilities, RawJson, Revision, RpcError, compat, jsonrpc};

use super::discover;
use super::parsed::ParsedRequest;
use super::session::Session;
use crate::client_identity::ClientIdentity;
use crate::server_state::ServerState;

/// A client that has just introduced itself.
pub(crate) struct Handshake {
    pub(crate) session: Session,
    /// The answer to its request.
    pub(crate) answer: Bytes,
}

impl Handshake {
    /// Reads `initialize`. A revision we do not know, or one without handshake, is answered with
    /// the newest that has one; the client then decides whether it can go on.
    pub(crate) fn read(
        server_state: &ServerState,
        client_identity: &ClientIdentity,
        request: &ParsedRequest,
    ) -> Result<Self, RpcError> {
        let params = &request.params;
        let Some(requested) = params.get("protocolVersion").and_then(|it| it.to_text()) else {
            return Err(RpcError::invalid_params("`protocolVersion` must be a string"));
        };
        let known = Revision::parse(&requested).filter(|revision| !revision.is_stateless());
        let revision = server_state.settings.handshake_revision.or(known);
        let revision = revision.unwrap_or(Revision::LATEST_WITH_HANDSHAKE);
        let declared = params.get("capabilities").unwrap_or(RawJson::EMPTY_OBJECT);
        let lifted = compat::lift_client_capabilities(revision, &declared);
        let caller = Caller {
            principal: client_identity.identity.principal.clone(),
            capabilities: ClientCapabilities::read(lifted),
            client_info: params.get("clientInfo"),
            session: client_identity.session.clone(),
            scope: client_identity.identity.scope.clone(),
            lease: client_identity.identity.lease.clone(),
            virtual_server: server_state.virtual_server.clone(),
        };
        let (result, offered) = discover::initialize(server_state, &caller, revision);
        let answer = jsonrpc::result(&request.id, &result).into_bytes();
        Ok(Self { session: Session::new(revision, caller, offered), answer })
    }
}
