//! What a gateway says of itself on initialization: identity, instructions and capabilities.

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson};
use serde::{Deserialize, Serialize};

use crate::provider::Completeness;

/// Who this server says it is.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The implementation object: `name`, `version` and whatever else.
    pub info: RawJson,
    /// How to use this server, for the model.
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// A server of that name and version.
    pub fn new(name: &str, version: &str) -> Self {
        let info = ObjectWriter::new().value("name", name).value("version", version).finish();
        Self { info, instructions: None }
    }
}

/// What the handshake and `server/discover` say.
#[derive(Debug, Clone)]
pub struct Description {
    /// The capabilities object, in the newest form.
    pub capabilities: RawJson,
    /// What of it not every gateway has.
    pub offered: OptionalCapabilities,
    /// Who this is.
    pub info: RawJson,
    /// How to use it.
    pub instructions: Option<String>,
    /// How many tools, resources and prompts there are.
    pub counts: RawJson,
    /// How long all this may be kept, in milliseconds.
    pub ttl_ms: u64,
}

/// What a client is told that there is, or may be, beside tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionalCapabilities {
    /// Resources or templates of them.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// Arguments that can be completed: those of prompts and templates.
    pub completions: bool,
}

const CHANGES: RawJson = RawJson::from_static(r#"{"listChanged":true}"#);
const RESOURCES: RawJson = RawJson::from_static(r#"{"subscribe":true,"listChanged":true}"#);
const EXTENSIONS: RawJson = RawJson::from_static(r#"{"gantry/batch":{}}"#);

impl OptionalCapabilities {
    /// Everything.
    pub const ALL: Self = Self { resources: true, prompts: true, completions: true };

    /// What there is, by how much there is of each list. Of a provider that never listed what it has
    /// nobody knows what that is. Older clients do not hear of a capability that they were not told
    /// of at first, so that all of it is offered.
    pub(super) fn of(counts: [usize; 4], completeness: Completeness) -> Self {
        let [_, resources, templates, prompts] = counts;
        let may_have = |count: usize| count > 0 || completeness != Completeness::Complete;
        Self {
            resources: may_have(resources + templates),
            prompts: may_have(prompts),
            completions: may_have(templates + prompts),
        }
    }

    /// Which of them a method needs; none for methods that are always served.
    pub(super) fn needed_by(method: &Method) -> Option<fn(Self) -> bool> {
        match method {
            Method::ResourcesList | Method::ResourceTemplatesList | Method::ResourcesRead => {
                Some(|offered| offered.resources)
            }
            Method::PromptsList | Method::PromptsGet => Some(|offered| offered.prompts),
            Method::Complete => Some(|offered| offered.completions),
            _ => None,
        }
    }

    /// The capabilities object that says so, in the newest form. Tools are always served: what is
    /// registered later must reach clients that never look at capabilities again.
    pub(super) fn capabilities(self) -> RawJson {
        let when = |offered: bool, capability: RawJson| offered.then_some(capability);
        ObjectWriter::new()
            .raw("tools", &CHANGES)
            .raw_some("resources", when(self.resources, RESOURCES).as_ref())
            .raw_some("prompts", when(self.prompts, CHANGES).as_ref())
            .raw_some("completions", when(self.completions, RawJson::EMPTY_OBJECT).as_ref())
            .raw("logging", &RawJson::EMPTY_OBJECT)
            .raw("extensions", &EXTENSIONS)
            .finish()
    }
}
