//! What this server declares: the result of `server/discover`, and the handshake of `initialize`.

use bytes::Bytes;
use gantry_gateway::{Caller, OptionalCapabilities};
use gantry_protocol::capability::with_tasks;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{ClientCapabilities, RawJson, Revision, RpcError, compat, jsonrpc};

use crate::authenticator::ClientIdentity;
use crate::era::supported;
use crate::request::ParsedRequest;
use crate::server_state::ServerState;
use crate::session::Session;

/// The `_meta` key of the numbers of tools, prompts and resources.
const COUNTS: &str = "gantry/counts";

/// The result of `server/discover`.
pub(crate) fn discover(server_state: &ServerState, caller: &Caller) -> RawJson {
    let description = server_state.gateway.describe(caller);
    let meta = ObjectWriter::new()
        .raw(key::SERVER_INFO, &description.info)
        .raw(COUNTS, &description.counts)
        .finish();
    ObjectWriter::with_capacity(512)
        .value("supportedVersions", &supported(server_state.settings.eras))
        // Tasks are made of calls by this crate, not by the gateway.
        .raw("capabilities", &with_tasks(&description.capabilities))
        .value_some("instructions", description.instructions)
        .value("ttlMs", &description.ttl_ms)
        .value("cacheScope", "private")
        .value("resultType", "complete")
        .raw("_meta", &meta)
        .finish()
}

/// The result of `initialize`, and the capabilities that it declares.
fn initialize(
    server_state: &ServerState,
    caller: &Caller,
    revision: Revision,
) -> (RawJson, OptionalCapabilities) {
    let description = server_state.gateway.describe(caller);
    let capabilities = with_tasks(&description.capabilities);
    let capabilities = compat::lower_server_capabilities(revision, &capabilities);
    let result = ObjectWriter::with_capacity(512)
        .value("protocolVersion", revision.as_str())
        .raw("capabilities", &capabilities)
        .raw("serverInfo", &description.info)
        .value_some("instructions", description.instructions)
        .raw("_meta", &ObjectWriter::new().raw(COUNTS, &description.counts).finish())
        .finish();
    (result, description.offered)
}

/// A legacy client's `initialize`: the negotiated session.
pub(crate) struct Handshake {
    pub(crate) session: Session,
    /// The response to its request.
    pub(crate) response: Bytes,
}

impl Handshake {
    /// Reads `initialize` and negotiates the revision. An unknown or modern revision is answered with
    /// the newest legacy one; the client then decides whether to go on.
    pub(crate) fn read(
        server_state: &ServerState,
        client: &ClientIdentity,
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
            principal: client.identity.principal.clone(),
            capabilities: ClientCapabilities::read(lifted),
            client_info: params.get("clientInfo"),
            session: client.session.clone(),
            scope: client.identity.scope.clone(),
            lease: client.identity.lease.clone(),
            virtual_server: server_state.virtual_server.clone(),
        };
        let (result, offered) = initialize(server_state, &caller, revision);
        let response = jsonrpc::result(&request.id, &result).into_bytes();
        Ok(Self { session: Session::new(revision, caller, offered), response })
    }
}
