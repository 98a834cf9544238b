//! The table of the properties of a schema.

use std::collections::HashSet;

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::put;
use crate::tool_spec::table::{cell, code, name};

/// The longest default that is shown in a table. The schema has them all.
const SHOWN: usize = 60;

/// The table of the properties; none when the schema names no property.
pub(super) fn table(schema: &RawJson) -> Option<String> {
    let properties = schema.get("properties")?;
    let required: HashSet<String> =
        schema.get("required").and_then(|it| it.read()).unwrap_or_default();
    let mut out =
        "| Name | Type | Required | Description | Default |\n|---|---|---|---|---|\n".to_owned();
    let before = out.len();
    // A schema may name a property twice. The table must not.
    let mut seen = HashSet::new();
    for member in properties.members().filter(|member| seen.insert(member.key().into_owned())) {
        let (key, value) = (member.key(), member.value());
        let flag = if required.contains(&*key) { "yes" } else { "no" };
        let text = value.get("description").and_then(|it| it.to_text()).unwrap_or_default();
        let default = value.get("default").map(|it| it.compact());
        let default = default.map_or_else(String::new, |it| match it.as_str() {
            long if long.len() > SHOWN => "see the schema".to_owned(),
            short => code(short),
        });
        let (name, kind) = (name(&key), cell(&kind(&value, 0)));
        put(&mut out, format_args!("| {name} | {kind} | {flag} | {} | {default} |\n", cell(&text)));
    }
    (out.len() > before).then_some(out)
}

/// The type of a property in words.
fn kind(schema: &RawJson, depth: usize) -> String {
    let stated = schema.get("type");
    let stated = stated.map(|kind| match kind.kind() {
        JsonKind::Array => kind.read::<Vec<String>>().unwrap_or_default().join(" or "),
        _ => kind.to_text().unwrap_or_default(),
    });
    match stated.as_deref() {
        Some("array") if depth < 3 => match schema.get("items") {
            Some(items) => format!("array of {}", kind(&items, depth + 1)),
            None => "array".to_owned(),
        },
        Some(word) if !word.is_empty() => word.to_owned(),
        _ if schema.get("enum").is_some() => "one of several values".to_owned(),
        _ if schema.get("const").is_some() => "one fixed value".to_owned(),
        _ => "see the schema".to_owned(),
    }
}
