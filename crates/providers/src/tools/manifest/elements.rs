//! What a schema must say at least, so that a caller knows what to give and what it gets.

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

/// Which of a tool's two schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
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
type Complaint = (String, String);

/// The complaint about a schema that is not there.
pub(super) fn absent(key: &str, side: Side) -> Complaint {
    let text = format!("the tool has no {} schema", side.name());
    let what = match side {
        Side::Input => "argument",
        Side::Output => "member of the result",
    };
    // A manifest in JSON has keys in camel case; a script has tables.
    let advice = if key.ends_with("Schema") {
        format!(
            "add `{key}` with a `type` for each {what}, such as {{\"type\": \"object\", \
             \"properties\": {{\"text\": {{\"type\": \"string\"}}}}}}"
        )
    } else {
        format!("add `[tool.gantry.{key}.properties.NAME]` with a `type` for each {what}")
    };
    (text, advice)
}

/// What a schema leaves out that a caller must know.
pub(super) fn lacking(schema: &RawJson, side: Side) -> Option<Complaint> {
    let which = format!("the {} schema", side.name());
    if side == Side::Input && !is_type(schema, "object") {
        let text = format!("{which} is not that of an object");
        return Some((text, "add \"type\": \"object\" to it".to_owned()));
    }
    untold(schema, &which, DEEPEST)
}

fn untold(schema: &RawJson, place: &str, depth: usize) -> Option<Complaint> {
    // A boolean is a schema too, and says all there is to say.
    if depth == 0 || schema.kind() != JsonKind::Object {
        return None;
    }
    let has = |words: &[&str]| words.iter().any(|word| schema.get(word).is_some());
    if !has(TELLING) {
        return Some((format!("{place} has no type"), "add `type` to it".to_owned()));
    }
    if is_type(schema, "object") && !has(MEMBERS) {
        let advice = "add `properties`, which may be empty, or `additionalProperties`";
        return Some((format!("{place} does not say what the object holds"), advice.to_owned()));
    }
    if is_type(schema, "array") && !has(&["items", "prefixItems"]) {
        let advice = "add `items` with a `type`";
        return Some((format!("{place} does not say what the list holds"), advice.to_owned()));
    }
    let properties = schema.get("properties").filter(RawJson::is_object);
    let inside = properties.iter().flat_map(RawJson::members).find_map(|member| {
        let name = format!("`{}` in {place}", member.key());
        untold(&member.value(), &name, depth - 1)
    });
    let items = schema.get("items");
    inside.or_else(|| untold(&items?, &format!("`items` of {place}"), depth - 1))
}

fn is_type(schema: &RawJson, name: &str) -> bool {
    schema.get("type").and_then(|kind| kind.to_text()).as_deref() == Some(name)
}
