//! What a server says of itself.

use gantry_protocol::capability::TASKS;
use gantry_protocol::{RawJson, Revision};

/// What a server said of itself when the connection was made, in the newest form.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The revision that is spoken with it.
    pub revision: Revision,
    /// Its name, version and whatever else.
    pub info: RawJson,
    /// What it can do.
    pub capabilities: RawJson,
    /// How to use it, for the model.
    pub instructions: Option<String>,
}

impl Peer {
    /// Whether it may make a task of any call, as it sees fit. A server with handshake says of each
    /// tool whether it may instead.
    pub fn makes_tasks(&self) -> bool {
        self.revision.is_stateless() && self.has(&["extensions", TASKS])
    }

    /// Whether it declares a capability, such as `["resources", "subscribe"]`.
    pub fn has(&self, path: &[&str]) -> bool {
        self.capabilities
            .at(path)
            .is_some_and(|value| value.is_object() || value.as_str() == "true")
    }
}
