//! What a document says of a tool, whoever offers it.

use gantry_gateway::TOOL_META;
use gantry_protocol::RawJson;

use super::runtime;
use crate::scripts::manifest::Manifest;

/// Where the tool runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// As a process of the gateway.
    Program,
    /// On another MCP server, of this name.
    Server(String),
    /// Inside the gateway.
    BuiltIn,
}

/// A tool to write about.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) description: String,
    pub(super) input: RawJson,
    /// None when it answers with content.
    pub(super) output: Option<RawJson>,
    pub(super) annotations: Option<RawJson>,
    pub(super) deprecated_in: Option<String>,
    pub(super) is_destructive: bool,
    /// The names of the variables that it is given.
    pub(super) variables: Vec<String>,
    /// The block `Runtime`.
    pub(super) runtime: RawJson,
    pub(super) place: Place,
}

impl Subject {
    /// A tool of the registry.
    pub(super) fn of_manifest(tool: &Manifest) -> Self {
        let metadata = tool.metadata.as_ref();
        Self {
            name: tool.name.clone(),
            version: Some(tool.version.clone()),
            description: tool.description.clone(),
            input: tool.input_schema.clone(),
            output: tool.output_schema.clone(),
            annotations: tool.annotations.clone(),
            deprecated_in: metadata.and_then(|it| it.get("deprecated_in")?.to_text()),
            is_destructive: tool.is_destructive(),
            variables: tool.env.iter().map(|(name, _)| name.clone()).collect(),
            runtime: runtime::of_manifest(tool),
            place: Place::Program,
        }
    }

    /// A tool that clients are shown with this definition.
    pub(super) fn of_definition(definition: &RawJson, server: Option<(&str, &str)>) -> Self {
        let text = |key: &str| definition.get(key).and_then(|it| it.to_text());
        let about = |key: &str| definition.at(&["_meta", TOOL_META, key])?.to_text();
        let annotations = definition.get("annotations").filter(RawJson::is_object);
        let destructive = annotations.as_ref().and_then(|it| it.get("destructiveHint")?.read());
        Self {
            name: text("name").unwrap_or_default(),
            version: about("version"),
            description: text("description").unwrap_or_default(),
            input: definition.get("inputSchema").unwrap_or(RawJson::EMPTY_OBJECT),
            output: definition.get("outputSchema"),
            deprecated_in: about("deprecated_in"),
            is_destructive: destructive.unwrap_or_default(),
            variables: Vec::new(),
            runtime: runtime::elsewhere(definition, server),
            place: server.map_or(Place::BuiltIn, |(server, _)| Place::Server(server.to_owned())),
            annotations,
        }
    }

    /// A hint, if the tool gives it.
    pub(super) fn hint(&self, key: &str) -> Option<bool> {
        self.annotations.as_ref().and_then(|hints| hints.get(key)?.read())
    }
}
