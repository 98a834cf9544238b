//! Output schemas for revisions that require an object at the root.
//!
//! `structuredContent` that is not an object is sent as `{"result": value}`, and the schema must
//! describe what is sent. A schema that excludes objects moves under `result`; one that allows both
//! becomes an `anyOf` of the two forms.

use super::map_elements;
use crate::json::{JsonKind, ObjectWriter, RawJson};

/// Members that apply to the whole document and so move to the new root.
const OF_THE_ROOT: [&str; 3] = ["$schema", "$defs", "definitions"];

/// The schema with an object at its root; none when it has one.
pub(super) fn with_object_root(schema: &RawJson) -> Option<RawJson> {
    let objects = allows_objects(schema);
    if objects == Objects::Only {
        return None;
    }
    let (place, choice) = match objects {
        Objects::Perhaps => ("#/anyOf/0", true),
        _ => ("#/properties/result", false),
    };
    let base = move_references(schema, place).unwrap_or_else(|| schema.clone());
    let mut root = ObjectWriter::with_capacity(base.bytes().len() * 2 + 128);
    let mut inner = base.edit();
    // With an `$id` the schema is a document of its own, and its references stay inside it.
    if base.get("$id").is_none() {
        for key in OF_THE_ROOT {
            root = root.raw_some(key, base.get(key).as_ref());
            inner = inner.remove(key);
        }
    }
    let inner = inner.apply();
    let root = root.value("type", "object");
    Some(match choice {
        true => root.array("anyOf", &[inner.clone(), under_result(&inner)]).finish(),
        false => {
            root.raw("properties", &only_result(&inner)).value("required", &["result"]).finish()
        }
    })
}

fn only_result(schema: &RawJson) -> RawJson {
    ObjectWriter::new().raw("result", schema).finish()
}

fn under_result(schema: &RawJson) -> RawJson {
    let properties = only_result(schema);
    ObjectWriter::new().raw("properties", &properties).value("required", &["result"]).finish()
}

#[derive(PartialEq, Eq)]
enum Objects {
    Only,
    Perhaps,
    Never,
}

fn allows_objects(schema: &RawJson) -> Objects {
    let Some(kind) = schema.get("type") else {
        return Objects::Perhaps;
    };
    let is_object = |kind: &RawJson| kind.to_text().as_deref() == Some("object");
    match kind.kind() {
        JsonKind::String if is_object(&kind) => Objects::Only,
        JsonKind::Array if kind.elements().any(|kind| is_object(&kind)) => Objects::Perhaps,
        _ => Objects::Never,
    }
}

/// Rewrites the references that name a place in the document which `place` now holds; none when
/// there is none. Those into definitions stay good, because the definitions stay at the root.
fn move_references(schema: &RawJson, place: &str) -> Option<RawJson> {
    match schema.kind() {
        JsonKind::Array => map_elements(schema, |element| move_references(element, place)),
        JsonKind::Object if schema.get("$id").is_none() => {
            let mut edit = schema.edit();
            for member in schema.members() {
                let key = member.key();
                let moved = match &*key {
                    "const" | "enum" | "default" | "examples" => None,
                    "$ref" => moved_reference(&member.value(), place),
                    _ => move_references(&member.value(), place),
                };
                edit = edit.set_some(key.into_owned(), moved);
            }
            let moved = edit.apply();
            (moved != *schema).then_some(moved)
        }
        _ => None,
    }
}

fn moved_reference(reference: &RawJson, place: &str) -> Option<RawJson> {
    let target = reference.to_text()?;
    let pointer = target.strip_prefix('#')?;
    let named = !pointer.is_empty() && !pointer.starts_with('/');
    if named || pointer.starts_with("/$defs/") || pointer.starts_with("/definitions/") {
        return None;
    }
    Some(RawJson::string(&format!("{place}{pointer}")))
}
