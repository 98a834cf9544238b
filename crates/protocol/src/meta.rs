//! The `_meta` member: the protocol's own keys, and those of a request of the newest revision; log levels.

use serde::{Deserialize, Serialize};

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
    /// Name and version of the client.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The least severe log message the client wants.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Name and version of the server.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// Which listen stream a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Which task a message belongs to (2025-11-25).
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// The token that progress notifications carry.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// The key that an input request of a legacy server would have among several. A key of
    /// Gantry's own.
    pub const QUESTION: &str = "gantry/key";
    /// Whether the call behind a task has reported that it runs long (2025-11-25). One that has not may
    /// still end or request input at once, like any other call. A key of Gantry's own.
    pub const RUNS_LONG: &str = "gantry/runs-long";
    /// In the definition of a tool: after how many milliseconds a client that has called it, and
    /// can hang up meanwhile, may call back. A key of Gantry's own.
    pub const CALL_BACK: &str = "gantry/call-back";
    /// In the definition of a tool that must be a task (2025-11-25): that a client which takes none
    /// is refused, and not made to wait by a gateway that could. A key of Gantry's own.
    pub const TASKS_ONLY: &str = "gantry/tasks-only";
    /// Hop-by-hop keys: each hop writes its own, and none crosses the gateway.
    pub const OF_ONE_HOP: [&str; 6] = [
        PROTOCOL_VERSION,
        CLIENT_CAPABILITIES,
        CLIENT_INFO,
        LOG_LEVEL,
        SUBSCRIPTION_ID,
        RELATED_TASK,
    ];
}

/// The parsed `_meta` of a request.
#[derive(Debug, Clone, Default)]
pub struct RequestMeta {
    /// The revision; unknown ones too.
    pub version: Option<RawJson>,
    /// The capabilities that the client declares, if any.
    pub capabilities: Option<ClientCapabilities>,
    /// Name and version of the client.
    pub client_info: Option<RawJson>,
    /// The least severe log message wanted, as text.
    pub log_level: Option<RawJson>,
    /// The token that progress notifications carry.
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

/// How severe a log message is. More severe compares greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}
