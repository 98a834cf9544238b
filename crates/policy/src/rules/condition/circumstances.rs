//! What a condition can ask for.

use std::collections::HashMap;
use std::sync::Arc;

use cel::Value;
use cel::common::types::CelString;
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use cel::objects::{Key, Map};
use gantry_protocol::RawJson;

use super::{ConditionBounds, value};

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
pub(in crate::rules) struct Circumstances<'a> {
    pub(in crate::rules) principal: &'a str,
    pub(in crate::rules) client: &'a str,
    pub(in crate::rules) face: &'a str,
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

impl VariableResolver for Circumstances<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let text = match variable.trim_start_matches('.') {
            "principal" => self.principal,
            "client" => self.client,
            "face" => self.face,
            "server" => self.server,
            "tool" => self.tool,
            "prompt" => self.prompt,
            "uri" => self.uri,
            "method" => self.method,
            "annotations" => return self.annotations(),
            _ => return None,
        };
        Some(CowVal::owned(CelString::from(text)))
    }
}

impl Circumstances<'_> {
    /// The annotations as a map; an empty one if there are none.
    fn annotations(&self) -> Option<CowVal<'static, 'static>> {
        let given = self.definition.and_then(|definition| definition.get("annotations"));
        let read = given.map(|given| value::read(&given, ConditionBounds::default()));
        let none = || Value::Map(Map { map: Arc::new(HashMap::<Key, Value>::new()) });
        let value = match read {
            Some(Ok(value @ Value::Map(_))) => value,
            _ => none(),
        };
        let value: Box<dyn Val> = value.try_into().ok()?;
        Some(value.into())
    }
}
