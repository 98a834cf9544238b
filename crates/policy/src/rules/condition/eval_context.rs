//! What a condition can ask for.

use cel::common::types::CelString;
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use gantry_protocol::RawJson;

/// Everything that a condition can name.
pub(super) const NAMES: [&str; 10] = [
    "principal",
    "client",
    "face",
    "server",
    "tool",
    "prompt",
    "uri",
    "method",
    "annotations",
    "args",
];

/// Those that depend on who calls.
pub(super) const OF_CALLER: [&str; 3] = ["principal", "client", "face"];

/// One call as conditions see it. What does not apply is empty.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::rules) struct EvalContext<'a> {
    pub(in crate::rules) principal: &'a str,
    pub(in crate::rules) client: &'a str,
    pub(in crate::rules) virtual_server: &'a str,
    pub(in crate::rules) server: &'a str,
    pub(in crate::rules) tool: &'a str,
    pub(in crate::rules) prompt: &'a str,
    pub(in crate::rules) uri: &'a str,
    pub(in crate::rules) method: &'a str,
    /// The definition of what is called, which has the annotations.
    pub(in crate::rules) definition: Option<&'a RawJson>,
    /// As the client sent them.
    pub(in crate::rules) arguments: Option<&'a RawJson>,
}

impl VariableResolver for EvalContext<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let text = match variable.trim_start_matches('.') {
            "principal" => self.principal,
            "client" => self.client,
            "face" => self.virtual_server,
            "server" => self.server,
            "tool" => self.tool,
            "prompt" => self.prompt,
            "uri" => self.uri,
            "method" => self.method,
            _ => return None,
        };
        Some(CowVal::owned(CelString::from(text)))
    }
}

impl EvalContext<'_> {
    /// The annotations, an object; an empty one if there are none.
    pub(super) fn annotations(&self) -> RawJson {
        let given = self.definition.and_then(|definition| definition.get("annotations"));
        given.filter(RawJson::is_object).unwrap_or(RawJson::EMPTY_OBJECT)
    }

    /// The arguments; an empty object if there are none.
    pub(super) fn arguments(&self) -> RawJson {
        let given = self.arguments.filter(|given| !given.is_null());
        given.cloned().unwrap_or(RawJson::EMPTY_OBJECT)
    }
}
