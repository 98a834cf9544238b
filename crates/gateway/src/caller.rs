//! Who makes a call, and what that client can do.

use std::sync::Arc;

use gantry_protocol::{ClientCapabilities, RawJson};

/// The client behind a call, as the door that let it in knows it.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Who is accountable. Never taken from what a client says about itself.
    pub principal: Arc<str>,
    /// What the client declared for this call.
    pub capabilities: ClientCapabilities,
    /// What the client calls itself. For display only.
    pub client_info: Option<RawJson>,
    /// A name for the session or connection that the call belongs to, the same for all its calls;
    /// none when the call stands alone.
    pub session: Option<Arc<str>>,
    /// What the caller's credentials are good for, when that is not everything.
    pub scope: Option<Arc<Scope>>,
    /// The face it came through, `/mcp/NAME`; none for the main one.
    pub face: Option<Arc<str>>,
}

/// What a caller's credentials are good for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Patterns of the names that may be seen and called.
    pub allow: Vec<String>,
}

impl Caller {
    /// A caller that declared nothing.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self { principal: principal.into(), ..Self::default() }
    }

    /// What the client calls itself, if it says so. Anyone may say anything.
    pub fn client_name(&self) -> Option<String> {
        self.client_info.as_ref()?.get("name")?.to_text()
    }
}
