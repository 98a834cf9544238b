//! The least that a schema must say: types, descriptions, properties, what is required, and items.

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::findings::Findings;
use crate::tools::specification::json::Located;
use crate::tools::specification::section::Section;

/// What stands in for a type.
const OTHER: [&str; 8] = ["$ref", "$dynamicRef", "enum", "const", "anyOf", "oneOf", "allOf", "not"];

pub(super) fn check(schema: &Located, section: Section, findings: &mut Findings<'_>) {
    let root = &schema.value;
    if section == Section::Input && !has_type(root, "object") {
        let text = "the input schema is not that of an object";
        findings.add(schema.line() + 1, text, "add \"type\": \"object\" to it");
    }
    inner(schema, root, "the schema", findings);
}

/// Checks a subschema and those inside it. The depth is bounded by that of the JSON.
fn inner(whole: &Located, schema: &RawJson, what: &str, findings: &mut Findings<'_>) {
    let mut complain = |text: &str, advice: &str| {
        if !findings.is_full() {
            findings.add(whole.line_of(schema), format!("{what} {text}"), advice);
        }
    };
    let stands_in = OTHER.iter().any(|key| schema.get(key).is_some());
    if schema.get("type").is_none() && !stands_in {
        complain("has no `type`", "add one, such as \"type\": \"string\"");
    }
    let properties = schema.get("properties");
    if has_type(schema, "object") && !stands_in {
        let is_map = ["additionalProperties", "patternProperties"].map(|key| schema.get(key));
        if properties.is_none() && !is_map.iter().flatten().any(RawJson::is_object) {
            complain("has no `properties`", "add them; {} is right for an object without any");
        }
        if schema.get("required").is_none() && properties.as_ref().is_some_and(needs_required) {
            complain("has no `required`", "list the names that must be there; [] when none must");
        }
    }
    let items = schema.get("items");
    if has_type(schema, "array") && items.is_none() && schema.get("prefixItems").is_none() {
        complain("has no `items`", "add the schema of its elements");
    }
    for member in properties.iter().flat_map(RawJson::members) {
        property(whole, &member.key(), &member.value(), findings);
    }
    if let Some(items) = items.filter(RawJson::is_object) {
        inner(whole, &items, "`items`", findings);
    }
}

fn property(whole: &Located, name: &str, schema: &RawJson, findings: &mut Findings<'_>) {
    // `true` and `false` are schemas without anything to say.
    if !schema.is_object() || findings.is_full() {
        return;
    }
    let text = schema.get("description").and_then(|it| it.to_text());
    if text.is_none_or(|text| text.trim().is_empty()) && schema.get("$ref").is_none() {
        let text = format!("`{name}` has no `description`");
        findings.add(whole.line_of(schema), text, "say what it is for");
    }
    inner(whole, schema, &format!("`{name}`"), findings);
}

/// Properties with defaults need not be given, so a schema of only such ones may say nothing.
fn needs_required(properties: &RawJson) -> bool {
    properties.members().any(|member| member.value().get("default").is_none())
}

fn has_type(schema: &RawJson, word: &str) -> bool {
    schema.get("type").is_some_and(|kind| match kind.kind() {
        JsonKind::Array => kind.elements().any(|it| it.as_text() == Some(word)),
        _ => kind.as_text() == Some(word),
    })
}
