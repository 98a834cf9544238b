//! The least that an input or output schema must say, so that a caller knows what to send and what
//! it gets.

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

/// Which of a tool's two schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// Words of which one is enough to say what a value is.
const TELLING: &[&str] = &["type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf"];

/// Words of which one is enough to say what an object holds.
const MEMBERS: &[&str] =
    &["properties", "patternProperties", "additionalProperties", "$ref", "anyOf", "oneOf", "allOf"];

/// Schemas within schemas are looked at this deep; what is deeper is left to the compiler.
const DEEPEST: usize = 32;

/// What is wrong, and what to do about it.
pub(crate) type Complaint = (String, String);

/// The complaint about a schema that is not there.
pub(super) fn absent(key: &str, side: Side) -> Complaint {
    let text = format!("the tool has no {} schema", side.name());
    let what = match side {
        Side::Input => "argument",
        Side::Output => "member of the result",
    };
    // A manifest in JSON has keys in camel case; a script has tables.
    let is_json = key.ends_with("Schema");
    let advice = if is_json {
        format!(
            "add `{key}` with a `type` for each {what}, such as {{\"type\": \"object\", \
             \"properties\": {{\"text\": {{\"type\": \"string\"}}}}}}"
        )
    } else {
        format!("add `[tool.gantry.{key}.properties.NAME]` with a `type` for each {what}")
    };
    let content = match (side, is_json) {
        (Side::Input, _) => "",
        (Side::Output, true) => {
            "; a tool that answers with MCP content says `\"output\": \"content\"`"
        }
        (Side::Output, false) => {
            "; a tool that answers with MCP content says `output = \"content\"`"
        }
    };
    (text, advice + content)
}

/// What a schema leaves out that a caller must know.
pub(super) fn lacking(schema: &RawJson, side: Side) -> Option<Complaint> {
    let mut first = None;
    visit(schema, side, &mut |_, complaint| first = first.take().or(Some(complaint)));
    first
}

/// Tells all that a schema leaves out, each with the part that leaves it out.
pub(crate) fn visit(schema: &RawJson, side: Side, tell: &mut dyn FnMut(&RawJson, Complaint)) {
    let which = format!("the {} schema", side.name());
    if side == Side::Input && !is_type(schema, "object") {
        let text = format!("{which} is not that of an object");
        return tell(schema, (text, "add \"type\": \"object\" to it".to_owned()));
    }
    inner(schema, &which, DEEPEST, tell);
}

fn inner(schema: &RawJson, place: &str, depth: usize, tell: &mut dyn FnMut(&RawJson, Complaint)) {
    // A boolean is a schema too, and says all there is to say.
    if depth == 0 || schema.kind() != JsonKind::Object {
        return;
    }
    if let Some(complaint) = untold(schema, place) {
        tell(schema, complaint);
    }
    let properties = schema.get("properties").filter(RawJson::is_object);
    for member in properties.iter().flat_map(RawJson::members) {
        let name = format!("`{}` in {place}", member.key());
        inner(&member.value(), &name, depth - 1, tell);
    }
    if let Some(items) = schema.get("items") {
        inner(&items, &format!("`items` of {place}"), depth - 1, tell);
    }
}

fn untold(schema: &RawJson, place: &str) -> Option<Complaint> {
    let has = |words: &[&str]| words.iter().any(|word| schema.get(word).is_some());
    let (text, advice) = if !has(TELLING) {
        ("has no type", "add `type` to it")
    } else if is_type(schema, "object") && !has(MEMBERS) {
        let advice = "add `properties`, which may be empty, or `additionalProperties`";
        ("does not say what the object holds", advice)
    } else if is_type(schema, "array") && !has(&["items", "prefixItems"]) {
        ("does not say what the list holds", "add `items` with a `type`")
    } else {
        return None;
    };
    Some((format!("{place} {text}"), advice.to_owned()))
}

fn is_type(schema: &RawJson, name: &str) -> bool {
    schema.get("type").and_then(|kind| kind.to_text()).as_deref() == Some(name)
}
