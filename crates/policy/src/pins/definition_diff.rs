//! Compares a definition with its pin by meaning. Different ways to write the same schema, as releases of
//! schema libraries produce them, are normalized first.

use std::collections::BTreeSet;

use gantry_gateway::{ChangeClass, DefinitionChange, Effect, changes};
use gantry_protocol::RawJson;
use serde_json::{Map, Value};

use super::pin::{Key, Kind};

/// Members of a prompt that only people read.
const TEXTS: [&str; 4] = ["title", "description", "icons", "_meta"];

/// The dialects in which a schema without the keywords below means the same.
const DIALECTS: [&str; 4] = [
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
];

/// Keywords that one of these dialects knows and another does not, or reads otherwise.
const OF_DIALECT: [&str; 18] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$vocabulary",
    "additionalItems",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "maxContains",
    "minContains",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
    "if",
];

/// Keywords whose members are named by the schema's author.
const NAMED: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords whose values are data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Keywords below which accepting less is accepting more, or which depend on what others look at.
const TURNED: [&str; 4] = ["not", "if", "oneOf", "contains"];

/// Formats that some libraries also write as a pattern of their own.
const FORMATS: [&str; 16] = [
    "base64",
    "base64url",
    "cidrv4",
    "cidrv6",
    "cuid",
    "cuid2",
    "date",
    "date-time",
    "duration",
    "email",
    "ipv4",
    "ipv6",
    "nanoid",
    "time",
    "ulid",
    "uuid",
];

/// The largest integer that JavaScript can count to. Some libraries bound every integer by it.
const SAFE: i64 = 9_007_199_254_740_991;

/// Which side of a tool a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Input,
    Output,
}

/// What changed, the worst first; nothing if both mean the same.
pub(super) fn compare(key: &Key, before: &RawJson, now: &RawJson) -> Vec<DefinitionChange> {
    if key.kind == Kind::Prompt {
        return prompt(before, now);
    }
    let mut found = changes(&in_one_form(before), &in_one_form(now));
    // The server runs with its new default while people and rules were shown the pinned one.
    for change in found.iter_mut().filter(|it| is_other_default(it)) {
        change.class = ChangeClass::Major;
    }
    found.sort_by_key(|change| std::cmp::Reverse(change.class));
    let effect = |definition| Effect::of(definition, !key.server.is_empty());
    let is_told = |change: &DefinitionChange| {
        change.class == ChangeClass::Major && change.place.starts_with("annotations.")
    };
    // A mark where there was none changes nothing for a client that takes the worst for granted. Here
    // it decides whether a person is asked.
    if effect(now) > effect(before) && !found.iter().any(is_told) {
        let text = "the tool is marked as more dangerous than before".to_owned();
        found.insert(
            0,
            DefinitionChange { class: ChangeClass::Major, place: "annotations".to_owned(), text },
        );
    }
    found
}

/// Whether an input has another default. None and `null` are the same to those who run without it.
fn is_other_default(change: &DefinitionChange) -> bool {
    let is_same =
        ["from none to null:", "from null to none:"].iter().any(|it| change.text.contains(it));
    change.place.starts_with("inputSchema")
        && change.text.starts_with("the default of ")
        && !is_same
}

/// A prompt has no schemas to compare: its texts are for people, its arguments for callers.
fn prompt(before: &RawJson, now: &RawJson) -> Vec<DefinitionChange> {
    let read = |raw: &RawJson| raw.read::<Map<String, Value>>().unwrap_or_default();
    let (before, now) = (read(before), read(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let mut found = Vec::new();
    for name in names.into_iter().filter(|name| before.get(*name) != now.get(*name)) {
        let class = match name.as_str() {
            "arguments" => arguments(before.get(name), now.get(name)),
            name if TEXTS.contains(&name) => Some(ChangeClass::Patch),
            _ => Some(ChangeClass::Major),
        };
        let text = format!("the {name} of the prompt changed");
        found.extend(class.map(|class| DefinitionChange { class, place: name.clone(), text }));
    }
    found.sort_by_key(|change| std::cmp::Reverse(change.class));
    found
}

/// How far a change of a prompt's arguments reaches: whoever knew the former ones must be able to go
/// on with them.
fn arguments(before: Option<&Value>, now: Option<&Value>) -> Option<ChangeClass> {
    // By name: whether it must be given, and all that is said of it.
    type Known<'a> = std::collections::BTreeMap<&'a str, (bool, &'a Value)>;
    fn read(list: Option<&Value>) -> Option<Known<'_>> {
        let Some(list) = list.filter(|it| !it.is_null()) else { return Some(Known::new()) };
        let mut known = Known::new();
        for argument in list.as_array()? {
            let required = argument.get("required").and_then(Value::as_bool) == Some(true);
            let name = argument.get("name").and_then(Value::as_str)?;
            if known.insert(name, (required, argument)).is_some() {
                return None;
            }
        }
        Some(known)
    }
    let (Some(before), Some(now)) = (read(before), read(now)) else {
        return Some(ChangeClass::Major);
    };
    let is_demanded = |(name, (required, _)): (&&str, &(bool, &Value))| {
        *required && !before.get(name).is_some_and(|it| it.0)
    };
    let is_gone = |name: &&str| !now.contains_key(name);
    if before.keys().any(is_gone) || now.iter().any(is_demanded) {
        return Some(ChangeClass::Major);
    }
    let is_same = |(name, (required, _)): (&&str, &(bool, &Value))| {
        before.get(name).is_some_and(|it| it.0 == *required)
    };
    match (now.iter().all(is_same), before == now) {
        (_, true) => None,
        (true, false) => Some(ChangeClass::Patch),
        (false, _) => Some(ChangeClass::Minor),
    }
}

/// A tool's definition with its schemas in one form.
fn in_one_form(definition: &RawJson) -> RawJson {
    let schema = |member, side| {
        let mut schema = definition.get(member)?.read::<Value>()?;
        if let Value::Object(members) = &mut schema {
            drop_dialect(members);
        }
        simplify(&mut schema, side);
        RawJson::of(&schema).ok()
    };
    definition
        .edit()
        .set_some("inputSchema", schema("inputSchema", Side::Input))
        .set_some("outputSchema", schema("outputSchema", Side::Output))
        .apply()
}

/// Drops the dialect of a schema that means the same in all of them.
fn drop_dialect(root: &mut Map<String, Value>) {
    let Some(named) = root.get("$schema").and_then(Value::as_str) else { return };
    let named = named.strip_suffix('#').unwrap_or(named);
    let named = named.split_once("://").map_or(named, |(_, rest)| rest);
    if !DIALECTS.contains(&named) {
        return;
    }
    let mut rest = root.clone();
    rest.retain(|key, _| !matches!(key.as_str(), "$schema" | "$id"));
    if !depends("", &Value::Object(rest)) {
        root.remove("$schema");
    }
}

/// Whether a keyword means something else in another dialect.
fn depends(key: &str, value: &Value) -> bool {
    let schema = |schema: &Value| match schema {
        Value::Object(members) => {
            // Before 2019-09 a reference silences what stands beside it.
            let is_note = |key: &str| matches!(key, "$ref" | "title" | "description" | "$comment");
            let is_beside = members.contains_key("$ref") && !members.keys().all(|it| is_note(it));
            is_beside || members.iter().any(|(key, value)| depends(key, value))
        }
        _ => false,
    };
    match (key, value) {
        _ if DATA.contains(&key) => false,
        _ if OF_DIALECT.contains(&key) => true,
        ("items", Value::Array(_)) => true,
        (_, Value::Object(members)) if NAMED.contains(&key) => members.values().any(schema),
        (_, Value::Array(elements)) => elements.iter().any(schema),
        (_, value) => schema(value),
    }
}

/// Leaves out what says nothing, and of an input what only its server need hold to: it still refuses
/// what it does not take, and clients keep to the pinned schema.
fn simplify(schema: &mut Value, side: Side) {
    let Value::Object(members) = schema else { return };
    let is_text = |value: &Value| {
        value.as_object().is_some_and(|it| {
            it.len() == 1 && it.get("type").and_then(Value::as_str) == Some("string")
        })
    };
    let is_anything =
        |value: &Value| value == &Value::Bool(true) || value.as_object().is_some_and(Map::is_empty);
    let takes = |members: &Map<String, Value>, key: &str, test: &dyn Fn(&Value) -> bool| {
        members.get(key).is_some_and(test)
    };
    if takes(members, "additionalProperties", &is_anything) {
        members.remove("additionalProperties");
    }
    if takes(members, "propertyNames", &is_text) {
        members.remove("propertyNames");
    }
    for (key, bound) in [("minimum", -SAFE), ("maximum", SAFE)] {
        if takes(members, key, &|it| it.as_i64() == Some(bound)) {
            members.remove(key);
        }
    }
    if side == Side::Input {
        let is_closed = takes(members, "additionalProperties", &|it| it == &Value::Bool(false));
        let is_listed = members.get("properties").is_some_and(Value::is_object);
        if is_closed && is_listed && !members.contains_key("patternProperties") {
            members.remove("additionalProperties");
        }
        let is_known = |it: &Value| it.as_str().is_some_and(|it| FORMATS.contains(&it));
        if takes(members, "format", &is_known) {
            members.remove("pattern");
        }
    }
    for (key, value) in members.iter_mut() {
        let key = key.as_str();
        if DATA.contains(&key) || TURNED.contains(&key) {
            continue;
        }
        match value {
            Value::Object(named) if NAMED.contains(&key) => {
                named.values_mut().for_each(|it| simplify(it, side));
            }
            Value::Array(elements) => elements.iter_mut().for_each(|it| simplify(it, side)),
            value => simplify(value, side),
        }
    }
}

#[cfg(test)]
mod tests;
