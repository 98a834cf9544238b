//! What a server declares about itself.

use gantry_protocol::capability::TASKS;
use gantry_protocol::{RawJson, Revision};

/// What a server declared during negotiation, in the newest form.
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
    /// Whether it may turn any call into a task by its own decision. A legacy server declares that
    /// for each tool instead.
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
