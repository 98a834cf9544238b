//! One schema, made ready to be compared: numbers in one form, local references followed.

use std::cell::Cell;

use serde_json::{Map, Number, Value};

/// The schema that allows everything; it stands for one that is absent.
pub(super) static ANYTHING: Value = Value::Bool(true);

/// Keywords whose values are data, not schemas.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Keywords that lead elsewhere.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The work that one comparison may cost, shared by all that takes part in it.
#[derive(Debug)]
pub(super) struct Budget(Cell<usize>);

impl Budget {
    pub(super) fn new(steps: usize) -> Self {
        Self(Cell::new(steps))
    }

    /// Takes some of what is left; says whether there was as much.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.0.get().checked_sub(steps);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }

    pub(super) fn exhausted(&self) -> bool {
        self.0.get() == 0
    }
}

/// Which rules a schema is written by, as far as they differ for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// 2020-12, which is also meant when nothing is said.
    Latest,
    /// 2019-09: `items` may be a list.
    Draft2019,
    /// Drafts 6 and 7: besides, `$ref` silences what stands beside it.
    Draft7,
}

/// A schema.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Value,
    pub(super) has_references: bool,
    /// None when `$schema` names something else.
    pub(super) dialect: Option<Dialect>,
}

impl Document {
    pub(super) fn new(schema: Value) -> Self {
        let root = canonical(schema);
        Self { has_references: mentions_reference(&root), dialect: dialect_of(&root), root }
    }

    /// Follows a reference within the document. What lies within another `$id` has another root,
    /// and is not followed.
    pub(super) fn resolve(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        if pointer.is_empty() {
            return Some(&self.root);
        }
        let mut value = &self.root;
        for token in pointer.strip_prefix('/')?.split('/') {
            if token.contains('%') {
                return None;
            }
            let token = token.replace("~1", "/").replace("~0", "~");
            value = match value {
                Value::Object(members) => members.get(&token)?,
                Value::Array(elements) => elements.get(token.parse::<usize>().ok()?)?,
                _ => return None,
            };
            if value.get("$id").is_some() {
                return None;
            }
        }
        Some(value)
    }
}

/// Whether two schemas differ in nothing but texts for people.
pub(super) fn differ_in_texts_only(old: &Document, new: &Document) -> bool {
    bare(&old.root) == bare(&new.root)
}

/// Whether a value leads elsewhere, so that its text alone does not say what it means.
pub(super) fn mentions_reference(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| REFERENCES.contains(&key.as_str()) || mentions_reference(value)),
        Value::Array(elements) => elements.iter().any(mentions_reference),
        _ => false,
    }
}

/// One form for each value: `1.0` is `1`, and members are in the order of their names.
fn canonical(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(canonical_number(number)),
        Value::Array(elements) => elements.into_iter().map(canonical).collect(),
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|one, two| one.0.cmp(&two.0));
            let members = members.into_iter().map(|(key, value)| (key, canonical(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn canonical_number(number: Number) -> Number {
    // Beyond 2^53 a float and an integer of the same text may differ, so those stay as they are.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be a small integer")]
            let integer = float as i64;
            Number::from(integer)
        }
        _ => number,
    }
}

/// The schema without texts for people. A property may be called `title` as well, but its value
/// is a schema, never a string.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, value)| !is_text(key, value));
            let kept = kept.map(|(key, value)| match DATA.contains(&key.as_str()) {
                true => (key.clone(), value.clone()),
                false => (key.clone(), bare(value)),
            });
            Value::Object(kept.collect())
        }
        Value::Array(elements) => elements.iter().map(bare).collect(),
        other => other.clone(),
    }
}

fn is_text(key: &str, value: &Value) -> bool {
    matches!(key, "title" | "description" | "$comment") && value.is_string()
}

fn dialect_of(root: &Value) -> Option<Dialect> {
    let Some(named) = root.get("$schema") else { return Some(Dialect::Latest) };
    let named = named.as_str()?;
    let named = named.strip_suffix('#').unwrap_or(named);
    let named = named.split_once("://").map_or(named, |(_, rest)| rest);
    match named {
        "json-schema.org/draft/2020-12/schema" => Some(Dialect::Latest),
        "json-schema.org/draft/2019-09/schema" => Some(Dialect::Draft2019),
        "json-schema.org/draft-07/schema" | "json-schema.org/draft-06/schema" => {
            Some(Dialect::Draft7)
        }
        _ => None,
    }
}
