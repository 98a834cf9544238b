//! Compares types, listed values, formats and annotations.

use serde_json::Value;

use super::ChangeClass;
use super::comparison::{Comparison, Effect};
use super::kinds::Kinds;
use super::node::Node;
use super::place::{Place, Side, cut};

pub(super) const KNOWN: &[&str] = &["type", "enum", "const", "pattern", "format"];

/// The annotation that makes HTTP clients repeat an argument in a header.
const HEADER: &str = "x-mcp-header";

/// Notes in which a change is nobody's business.
const SILENT: [&str; 8] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$schema",
    "$vocabulary",
    "definitions",
];

/// Types, listed values and the two keywords of texts that either stay or change.
pub(super) fn compare_values<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    for key in ["type", "enum"] {
        let sound = |node: &Node<'a>| {
            node.keywords.get(key).is_none_or(|value| match key {
                "type" => Kinds::read(value).is_some(),
                _ => value.is_array(),
            })
        };
        if !sound(old) || !sound(new) {
            comparison.opaque(key, old, new, place);
        }
    }
    kinds(comparison, old.kinds(), new.kinds(), place);
    listed(comparison, old, new, place);
    let both = old.kinds() & new.kinds();
    for (key, kinds) in [("pattern", Kinds::STRING), ("format", Kinds::ALL)] {
        let (before, after) = (old.keywords.get(key), new.keywords.get(key));
        if before == after || (both & kinds).is_empty() {
            continue;
        }
        let effect = match (before, after) {
            (Some(_), Some(_)) => Effect::Unclear,
            _ => Effect::of_constraint(before.is_some()),
        };
        comparison.note_keyword(effect, place, key, (before.copied(), after.copied()));
    }
}

fn kinds<'a>(comparison: &mut Comparison<'a>, old: Kinds, new: Kinds, place: &Place) {
    if let Some(effect) = Effect::of_sets(new.contains(old), old.contains(new)) {
        let (before, after) = (old.words(), new.words());
        let what =
            format!("changed its type from {before} to {after}{}", comparison.meaning(effect));
        comparison.note(effect, place, "type", &what);
    }
}

fn listed<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    let key = if new.keywords.contains_key("const") { "const" } else { "enum" };
    let quote = |values: Vec<&String>| {
        cut(&values.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", "))
    };
    let (effect, what) = match (old.values(), new.values()) {
        (None, None) => return,
        (Some(before), Some(after)) => {
            let gone: Vec<&String> = before.difference(&after).collect();
            let come: Vec<&String> = after.difference(&before).collect();
            let Some(effect) = Effect::of_sets(gone.is_empty(), come.is_empty()) else {
                return;
            };
            let what = match effect {
                Effect::Wider => format!("may now also be {}", quote(come)),
                Effect::Narrower => format!("may no longer be {}", quote(gone)),
                Effect::Unclear => format!("may be {} instead of {}", quote(come), quote(gone)),
            };
            (effect, what)
        }
        (None, Some(after)) => {
            (Effect::Narrower, format!("may now only be {}", quote(after.iter().collect())))
        }
        (Some(before), None) => {
            let what = format!("is no longer limited to {}", quote(before.iter().collect()));
            (Effect::Wider, what)
        }
    };
    comparison.note(effect, place, key, &format!("{what}{}", comparison.meaning(effect)));
}

/// What does not constrain, but is read by people, or by the gateway.
pub(super) fn compare_annotations<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    let keys = old.notes.keys().chain(new.notes.keys().filter(|key| !old.notes.contains_key(*key)));
    let keys: Vec<&str> = keys.copied().filter(|key| !SILENT.contains(key)).collect();
    for key in keys {
        let (before, after) = (old.notes.get(key).copied(), new.notes.get(key).copied());
        if before != after {
            changed_note(comparison, key, before, after, place);
        }
    }
}

fn changed_note<'a>(
    comparison: &mut Comparison<'a>,
    key: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    place: &Place,
) {
    let subject = place.subject();
    let (class, text) = match (comparison.side, key) {
        // Calls still fit; but those that leave it out may do something else now.
        (Side::Input, "default") => {
            let text =
                |value: Option<&Value>| value.map_or("none".into(), |it| cut(&it.to_string()));
            let (before, after) = (text(before), text(after));
            let what = format!("the default of {subject} changed from {before} to {after}");
            (ChangeClass::Minor, format!("{what}: calls still fit, but may act differently"))
        }
        (Side::Input, HEADER) if after.is_some() => {
            let which = if before.is_some() { "another" } else { "a" };
            (ChangeClass::Major, format!("{subject} must now be repeated in {which} header"))
        }
        (Side::Input, HEADER) => {
            (ChangeClass::Minor, format!("{subject} need no longer be repeated in a header"))
        }
        _ => (ChangeClass::Patch, format!("`{key}` of {subject} changed")),
    };
    comparison.report(class, place.at(key), text);
}
