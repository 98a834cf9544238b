//! The whole definition of a tool: its schemas, and what it says of itself beside them.

use std::collections::BTreeSet;

use gantry_protocol::RawJson;
use serde_json::{Map, Value};

use super::comparison::compare;
use super::document::Document;
use super::place::{Side, cut};
use super::{ChangeClass, DefinitionChange};

/// Members that only people read, or that say nothing about a call.
const TEXTS: [&str; 4] = ["title", "description", "icons", "_meta"];

/// What changed from one definition of a tool to another: the worst first, then by place.
///
/// For the input, accepting less is breaking; for the output, promising less is. A definition
/// written differently that means the same has no changes.
///
/// ```
/// use gantry_gateway::{ChangeClass, changes};
/// use gantry_protocol::RawJson;
/// let old = RawJson::from_static(r#"{"name":"t","inputSchema":{"properties":{"a":{}}}}"#);
/// let new = RawJson::from_static(
///     r#"{"name":"t","inputSchema":{"properties":{"a":{}},"required":["a"]}}"#,
/// );
/// let changes = changes(&old, &new);
/// assert_eq!(changes[0].class, ChangeClass::Major);
/// assert_eq!(changes[0].text, "the parameter `a` is now required");
/// ```
pub fn changes(old: &RawJson, new: &RawJson) -> Vec<DefinitionChange> {
    let read = |raw: &RawJson| raw.read::<Map<String, Value>>();
    let (Some(mut before), Some(mut after)) = (read(old), read(new)) else {
        return if old.compact() == new.compact() { Vec::new() } else { vec![unreadable()] };
    };
    let mut found = Vec::new();
    let mut schemas = |key: &str| (before.remove(key), after.remove(key));
    let ((old_input, new_input), (old_output, new_output)) =
        (schemas("inputSchema"), schemas("outputSchema"));
    found.extend(input(old_input, new_input));
    found.extend(output(old_output, new_output));
    found.extend(annotations(
        before.remove("annotations").as_ref(),
        after.remove("annotations").as_ref(),
    ));
    found.extend(execution(before.remove("execution"), after.remove("execution")));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    found.extend(changed.map(|name| member(name, before.get(name), after.get(name))));
    found.sort_by(|one, two| two.class.cmp(&one.class).then_with(|| one.place.cmp(&two.place)));
    found.dedup();
    found
}

fn unreadable() -> DefinitionChange {
    let text =
        "one of the definitions is not an object that can be read, so they cannot be compared";
    DefinitionChange { class: ChangeClass::Major, place: String::new(), text: text.to_owned() }
}

fn input(old: Option<Value>, new: Option<Value>) -> Vec<DefinitionChange> {
    let document = |schema: Option<Value>| Document::new(schema.unwrap_or(Value::Bool(true)));
    compare(Side::Input, &document(old), &document(new))
}

/// Without a schema nothing was promised.
fn output(old: Option<Value>, new: Option<Value>) -> Vec<DefinitionChange> {
    let change = |class, text: &str| {
        vec![DefinitionChange { class, place: "outputSchema".to_owned(), text: text.to_owned() }]
    };
    match (old, new) {
        (None, None) => Vec::new(),
        (None, Some(_)) => change(ChangeClass::Minor, "the result now has a schema"),
        (Some(_), None) => change(ChangeClass::Major, "the result no longer has a schema"),
        (Some(old), Some(new)) => compare(Side::Output, &Document::new(old), &Document::new(new)),
    }
}

/// Any other member of a definition. One that nobody here knows may mean anything.
fn member(name: &str, old: Option<&Value>, new: Option<&Value>) -> DefinitionChange {
    let quote = |value: Option<&Value>| value.map_or("nothing".into(), |it| cut(&it.to_string()));
    let (class, text) = match name {
        "name" => (
            ChangeClass::Major,
            format!("the tool is called {} instead of {}", quote(new), quote(old)),
        ),
        _ if TEXTS.contains(&name) || name.starts_with("x-") => (
            ChangeClass::Patch,
            format!("the {} of the tool changed", name.trim_start_matches('_')),
        ),
        _ => (
            ChangeClass::Major,
            format!("`{}` of the tool changed in a way that cannot be judged", cut(name)),
        ),
    };
    DefinitionChange { class, place: name.to_owned(), text }
}

/// The hints of a tool as callers have to take them.
fn hints(annotations: Option<&Value>) -> [(&'static str, bool); 4] {
    let hint = |name: &str, absent| {
        annotations.and_then(|it| it.get(name)).and_then(Value::as_bool).unwrap_or(absent)
    };
    // A tool that only reads destroys nothing and can be called twice, whatever else it says.
    let reads = hint("readOnlyHint", false);
    [
        ("readOnlyHint", reads),
        ("destructiveHint", !reads && hint("destructiveHint", true)),
        ("idempotentHint", reads || hint("idempotentHint", false)),
        ("openWorldHint", hint("openWorldHint", true)),
    ]
}

fn annotations(old: Option<&Value>, new: Option<&Value>) -> Vec<DefinitionChange> {
    let mut found = Vec::new();
    for ((name, before), (_, after)) in hints(old).into_iter().zip(hints(new)) {
        let harmless = matches!(name, "readOnlyHint" | "idempotentHint");
        let class = if after == harmless { ChangeClass::Minor } else { ChangeClass::Major };
        let place = format!("annotations.{name}");
        if before != after {
            found.push(DefinitionChange { class, place, text: promise(name, after).to_owned() });
        }
    }
    let others = |value: Option<&Value>| {
        let mut others = value.and_then(Value::as_object).cloned().unwrap_or_default();
        hints(None).iter().for_each(|(name, _)| drop(others.remove(*name)));
        others
    };
    if others(old) != others(new) {
        let text = "the annotations of the tool changed in their texts".to_owned();
        found.push(DefinitionChange {
            class: ChangeClass::Patch,
            place: "annotations".to_owned(),
            text,
        });
    }
    found
}

fn promise(hint: &str, after: bool) -> &'static str {
    match (hint, after) {
        ("readOnlyHint", true) => "the tool now only reads",
        ("readOnlyHint", false) => "the tool no longer only reads",
        ("destructiveHint", true) => "the tool may now destroy something",
        ("destructiveHint", false) => "the tool no longer destroys anything",
        ("idempotentHint", true) => "calling the tool twice is now as good as once",
        ("idempotentHint", false) => "calling the tool twice is no longer as good as once",
        (_, true) => "the tool may now reach beyond a closed world",
        (_, false) => "the tool now stays within a closed world",
    }
}

/// Whether callers may, must or must not ask for a task.
fn execution(old: Option<Value>, new: Option<Value>) -> Vec<DefinitionChange> {
    let support = |value: &Option<Value>| {
        let named = value.as_ref().and_then(|it| it.get("taskSupport")).and_then(Value::as_str);
        named.unwrap_or("forbidden").to_owned()
    };
    let (before, after) = (support(&old), support(&new));
    let rest = |value: Option<Value>| {
        let mut rest = value.and_then(|it| it.as_object().cloned()).unwrap_or_default();
        rest.remove("taskSupport");
        rest
    };
    let mut found = Vec::new();
    if rest(old) != rest(new) {
        found.push(member("execution", None, None));
    }
    if before != after {
        let class = if after == "optional" { ChangeClass::Minor } else { ChangeClass::Major };
        let text = format!("running the tool as a task is {after} instead of {before}");
        found.push(DefinitionChange { class, place: "execution.taskSupport".to_owned(), text });
    }
    found
}
