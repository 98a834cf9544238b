//! `initialize`: which revision both sides speak, and what the client can do.

use bytes::Bytes;
use gantry_gateway::Caller;
use gantry_protocol::{ClientCapabilities, RawJson, Revision, RpcError, jsonrpc, wire};

use super::arrival::Arrival;
use super::discover;
use super::session::Session;
use crate::guest::Guest;
use crate::lobby::Lobby;

/// A client that has just introduced itself.
pub(crate) struct Handshake {
    pub(crate) session: Session,
    /// The answer to its request.
    pub(crate) answer: Bytes,
}

impl Handshake {
    /// Reads `initialize`. A revision we do not know, or one without handshake, is answered with
    /// the newest that has one; the client then decides whether it can go on.
    pub(crate) fn read(lobby: &Lobby, guest: &Guest, request: &Arrival) -> Result<Self, RpcError> {
        let params = &request.params;
        let Some(requested) = params.get("protocolVersion").and_then(|it| it.to_text()) else {
            return Err(RpcError::invalid_params("`protocolVersion` must be a string"));
        };
        let known = Revision::parse(&requested).filter(|revision| !revision.is_stateless());
        let revision = lobby.settings.handshake_revision.or(known);
        let revision = revision.unwrap_or(Revision::LATEST_WITH_HANDSHAKE);
        let declared = params.get("capabilities").unwrap_or(RawJson::EMPTY_OBJECT);
        let lifted = wire::lift_client_capabilities(revision, &declared);
        let caller = Caller {
            principal: guest.visitor.principal.clone(),
            capabilities: ClientCapabilities::read(lifted),
            client_info: params.get("clientInfo"),
            session: guest.session.clone(),
            scope: guest.visitor.scope.clone(),
            badge: guest.visitor.badge.clone(),
            face: lobby.face.clone(),
        };
        let (result, offered) = discover::initialize(lobby, &caller, revision);
        let answer = jsonrpc::result(&request.id, &result).into_bytes();
        Ok(Self { session: Session::new(revision, caller, offered), answer })
    }
}
