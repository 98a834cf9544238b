//! What this server says of itself: `server/discover` and the answer to `initialize`.

use gantry_gateway::{Caller, OptionalCapabilities};
use gantry_protocol::capability::with_tasks;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{RawJson, Revision, compat};

use super::supported;
use crate::server_state::ServerState;

/// The `_meta` key under which the handshake carries the counts of what there is.
const COUNTS: &str = "gantry/counts";

/// The result of `server/discover`.
pub(super) fn discover(server_state: &ServerState, caller: &Caller) -> RawJson {
    let description = server_state.gateway.describe(caller);
    let meta = ObjectWriter::new()
        .raw(key::SERVER_INFO, &description.info)
        .raw(COUNTS, &description.counts)
        .finish();
    ObjectWriter::with_capacity(512)
        .value("supportedVersions", &supported(server_state.settings.eras))
        // What the doors make of the middle: calls that run by themselves.
        .raw("capabilities", &with_tasks(&description.capabilities))
        .value_some("instructions", description.instructions)
        .value("ttlMs", &description.ttl_ms)
        .value("cacheScope", "private")
        .value("resultType", "complete")
        .raw("_meta", &meta)
        .finish()
}

/// The result of `initialize`, and what it says that there is.
pub(super) fn initialize(
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
