//! A tool call: `{tool_name, arguments}` and nothing else.

use bytes::Bytes;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};

use super::{ContractError, read_object};

const WHAT: &str = "a tool call";

/// A tool call of the contract.
///
/// ```
/// use gantry_gateway::contract::ToolCall;
/// use gantry_protocol::RawJson;
/// let text = RawJson::from_static(r#"{"tool_name":"text.count","arguments":{"text":"a b"}}"#);
/// let call = ToolCall::from_json(&text).unwrap();
/// assert_eq!(call.to_params().as_str(), r#"{"name":"text.count","arguments":{"text":"a b"}}"#);
/// assert_eq!(ToolCall::from_params(&call.to_params()).unwrap(), call);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    tool_name: String,
    arguments: RawJson,
}

impl ToolCall {
    /// A call of that tool with these arguments, an object.
    pub fn new(tool_name: &str, arguments: RawJson) -> Result<Self, ContractError> {
        if !is_tool_name(tool_name) {
            return Err(ContractError::BadName(tool_name.chars().take(80).collect()));
        }
        if !arguments.is_object() {
            return Err(wrong("arguments", "an object"));
        }
        Ok(Self { tool_name: tool_name.to_owned(), arguments })
    }

    /// Reads a call from the bytes it came in.
    pub fn parse(bytes: impl Into<Bytes>, limits: JsonLimits) -> Result<Self, ContractError> {
        Self::from_json(&RawJson::parse(bytes, limits)?)
    }

    /// Reads a call.
    pub fn from_json(value: &RawJson) -> Result<Self, ContractError> {
        let [name, arguments] = read_object(WHAT, value, ["tool_name", "arguments"])?;
        let missing = |key| ContractError::MissingKey { what: WHAT, key };
        let name = name.ok_or_else(|| missing("tool_name"))?;
        let name = name.to_text().ok_or_else(|| wrong("tool_name", "a string"))?;
        Self::new(&name, arguments.ok_or_else(|| missing("arguments"))?)
    }

    /// The call as JSON.
    pub fn to_json(&self) -> RawJson {
        ObjectWriter::new()
            .value("tool_name", &self.tool_name)
            .raw("arguments", &self.arguments)
            .finish()
    }

    /// Reads a call from the parameters of `tools/call`. Arguments that are left out there are
    /// none; `_meta` and what else may stand there belongs to the hop, not to the call.
    pub fn from_params(params: &RawJson) -> Result<Self, ContractError> {
        let head = gantry_protocol::ParamsHead::read(params);
        if let Some(ambiguous) = head.ambiguous {
            return Err(ContractError::DoubledKey {
                what: WHAT,
                key: ambiguous.member().to_owned(),
            });
        }
        let name = head.name.ok_or(ContractError::MissingKey { what: WHAT, key: "name" })?;
        let name = name.to_text().ok_or_else(|| wrong("name", "a string"))?;
        let arguments = head.arguments.filter(|arguments| !arguments.is_null());
        Self::new(&name, arguments.unwrap_or(RawJson::EMPTY_OBJECT))
    }

    /// The parameters of the `tools/call` that says the same.
    pub fn to_params(&self) -> RawJson {
        ObjectWriter::new()
            .value("name", &self.tool_name)
            .raw("arguments", &self.arguments)
            .finish()
    }

    /// Which tool.
    pub fn tool_name(&self) -> &str {
        &self.tool_name
    }

    /// What it is given.
    pub fn arguments(&self) -> &RawJson {
        &self.arguments
    }
}

fn wrong(key: &'static str, expected: &'static str) -> ContractError {
    ContractError::WrongKind { key, expected }
}

/// Whether a name matches `^[a-z0-9_]+(\.[a-z0-9_]+)+$`.
fn is_tool_name(name: &str) -> bool {
    let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_letter);
    name.contains('.') && name.split('.').all(is_word)
}
