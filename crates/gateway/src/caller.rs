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
}

impl Caller {
    /// A caller that declared nothing.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self { principal: principal.into(), ..Self::default() }
    }
}
