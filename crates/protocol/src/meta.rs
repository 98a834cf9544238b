//! The `_meta` member: the protocol's own keys, and what a request of the newest revision says in it.

use crate::capability::ClientCapabilities;
use crate::json::RawJson;
use crate::trace::{TRACEPARENT, TRACESTATE, Trace};

/// The keys that the protocol reserves.
pub mod key {
    /// The member that holds them.
    pub const META: &str = "_meta";
    /// The revision of a request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the client can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Who the client says it is.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The least severe log message the client wants.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Who the server says it is.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// Which listen stream a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Which task a message belongs to (2025-11-25).
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// What progress notices carry back.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// The name that a question of a server with handshake would have among several. A key of
    /// Gantry's own.
    pub const QUESTION: &str = "gantry/key";
    /// Whether the call behind a task has said that it runs long (2025-11-25). One that has not may
    /// still end or ask at once, like any other call. A key of Gantry's own.
    pub const RUNS_LONG: &str = "gantry/runs-long";
    /// In the definition of a tool: after how many milliseconds a client that has called it, and
    /// can hang up meanwhile, may call back. A key of Gantry's own.
    pub const CALL_BACK: &str = "gantry/call-back";
    /// In the definition of a tool that must be a task (2025-11-25): that a client which takes none
    /// is refused, and not made to wait by a gateway that could. A key of Gantry's own.
    pub const TASKS_ONLY: &str = "gantry/tasks-only";
    /// The keys that belong to one hop and are made anew for the next.
    pub const OF_ONE_HOP: [&str; 6] = [
        PROTOCOL_VERSION,
        CLIENT_CAPABILITIES,
        CLIENT_INFO,
        LOG_LEVEL,
        SUBSCRIPTION_ID,
        RELATED_TASK,
    ];
}

/// What the `_meta` of a request says.
#[derive(Debug, Clone, Default)]
pub struct RequestMeta {
    /// The revision; unknown ones too.
    pub version: Option<RawJson>,
    /// What the client can do, when it says so.
    pub capabilities: Option<ClientCapabilities>,
    /// Who the client says it is.
    pub client_info: Option<RawJson>,
    /// The least severe log message wanted, as text.
    pub log_level: Option<RawJson>,
    /// What progress notices carry back.
    pub progress_token: Option<RawJson>,
    /// The trace that the request is a part of.
    pub trace: Option<Trace>,
}

impl RequestMeta {
    /// Reads a `_meta` object.
    pub fn read(meta: Option<&RawJson>) -> Self {
        let mut read = Self::default();
        let Some(meta) = meta else { return read };
        let (mut parent, mut state) = (None, None);
        for member in meta.members() {
            let value = member.value();
            let name = member.key_bytes();
            let is = |key: &str| key.as_bytes() == &*name;
            if is(key::PROTOCOL_VERSION) {
                read.version = Some(value);
            } else if is(key::CLIENT_CAPABILITIES) && value.is_object() {
                read.capabilities = Some(ClientCapabilities::read(value));
            } else if is(key::CLIENT_INFO) {
                read.client_info = Some(value);
            } else if is(key::LOG_LEVEL) {
                read.log_level = Some(value);
            } else if is(key::PROGRESS_TOKEN) {
                read.progress_token = Some(value);
            } else if is(TRACEPARENT) {
                parent = Some(value);
            } else if is(TRACESTATE) {
                state = Some(value);
            }
        }
        read.trace = Trace::of_meta(parent.as_ref(), state.as_ref());
        read
    }
}
