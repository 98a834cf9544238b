//! The two eras of the protocol: legacy revisions (to 2025-11-25) open a session with `initialize`;
//! modern ones (from 2026-07-28) are stateless, and each request carries its own `_meta`. Which
//! revisions are served, and the errors for clients of the other era.
//!
//! Revision names appear in this crate only here, in `session`, `stateless`, `tasks`, `discover`,
//! `request` and `error_codes`: requests are lifted to the newest form there, and what goes back is
//! lowered. The rest of the crate asks for capabilities of a revision.

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, Revision, RpcError, code};

use crate::request::ParsedRequest;
use crate::server_state::ServerState;
use crate::settings::Eras;

/// The revisions served, newest first, for discovery and for error data.
pub(crate) fn supported(eras: Eras) -> Vec<&'static str> {
    let serves = |revision: &Revision| match eras {
        Eras::Both => true,
        Eras::Legacy => !revision.is_stateless(),
        Eras::Modern => revision.is_stateless(),
    };
    Revision::ALL.into_iter().rev().filter(serves).map(Revision::as_str).collect()
}

/// Whether a header names a modern revision.
pub(crate) fn is_modern(version: &str) -> bool {
    Revision::parse(version).is_some_and(Revision::is_stateless)
}

/// Whether a header names a legacy revision.
pub(crate) fn is_legacy(version: &str) -> bool {
    Revision::parse(version).is_some_and(|revision| !revision.is_stateless())
}

/// The error for a revision that is not served, or not in this way.
pub(crate) fn unsupported(server_state: &ServerState, requested: &str) -> RpcError {
    let data = ObjectWriter::new()
        .value("supported", &supported(server_state.settings.eras))
        .value("requested", requested)
        .finish();
    let text = format!("the protocol version `{requested}` is not served here in this way");
    RpcError::new(code::UNSUPPORTED_VERSION, text).with_data(data)
}

/// The error for a request that belongs to no session and is not stateless.
pub(crate) fn not_initialized(server_state: &ServerState, request: &ParsedRequest) -> RpcError {
    match (server_state.settings.eras, &request.method) {
        (Eras::Modern, Method::Initialize) => {
            let version = request.params.get("protocolVersion").and_then(|it| it.to_text());
            unsupported(server_state, version.as_deref().unwrap_or_default())
        }
        (Eras::Legacy, Method::Discover) => RpcError::method_not_found(request.method.as_str()),
        _ => RpcError::invalid_params(
            "send `initialize` first, or give the request the `_meta` of a stateless revision",
        ),
    }
}
