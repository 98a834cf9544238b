//! Compares what schemas say of objects and arrays: properties, required names, items.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::ChangeClass;
use super::comparison::{Comparison, Effect, is_compatible};
use super::document::ANYTHING;
use super::kinds::Kinds;
use super::node::Node;
use super::number;
use super::place::{Place, Side};

pub(super) const KNOWN: &[&str] = &[
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "dependentRequired",
];

pub(super) fn compare_objects<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    if (old.kinds() & new.kinds() & Kinds::OBJECT).is_empty() {
        return;
    }
    let garbled = ["properties", "patternProperties"].into_iter().filter(|key| {
        [old, new].iter().any(|node| node.keywords.get(key).is_some_and(|it| !it.is_object()))
    });
    garbled.for_each(|key| comparison.opaque(key, old, new, place));
    properties(comparison, old, new, place);
    patterns(comparison, old, new, place);
    required(comparison, old, new, place);
    dependent_required(comparison, old, new, place);
    additional(comparison, old, new, place);
    let names = |node: &Node<'a>| node.keywords.get("propertyNames").copied();
    comparison.part(names(old), names(new), &place.property("propertyNames", "(name)"));
}

fn properties<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    for name in names(old, new, "properties") {
        let there = place.property("properties", name);
        match (old.named("properties", name), new.named("properties", name)) {
            (Some(before), Some(after)) => {
                comparison.part(Some(before), Some(after), &there);
                needed_default(comparison, name, before, after, new, &there);
            }
            (None, Some(after)) => added(comparison, name, after, old, new, &there),
            (Some(before), None) => removed(comparison, before, &there),
            (None, None) => {}
        }
    }
}

/// The gateway fills in defaults before it checks, so a required parameter with a default may
/// be left out until the default is gone.
fn needed_default<'a>(
    comparison: &mut Comparison<'a>,
    name: &str,
    before: &'a Value,
    after: &'a Value,
    new: &Node<'a>,
    place: &Place,
) {
    if comparison.side == Side::Output || !new.required.contains(name) {
        return;
    }
    let had = comparison.old_node(before).notes.contains_key("default");
    if had && !comparison.new_node(after).notes.contains_key("default") {
        let what = "is required and lost its default, so calls without it no longer fit";
        comparison.note(Effect::Narrower, place, "default", what);
    }
}

/// A property that was not declared before. Of a caller it is expected that it sends no
/// arguments that the old schema does not declare, unless that schema says what they are.
fn added<'a>(
    comparison: &mut Comparison<'a>,
    name: &str,
    after: &'a Value,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    let rest = old.keywords.get("additionalProperties").copied();
    let before = old_rest(comparison, old);
    let schema = comparison.new_node(after);
    let undeclared = says_nothing(rest);
    let patterns = old.keywords.contains_key("patternProperties");
    let fits = match comparison.side {
        Side::Input if patterns || schema.is_never() => schema.is_anything(),
        Side::Input if undeclared || before.is_never() => true,
        Side::Output if undeclared => true,
        _ => {
            is_compatible(&comparison.aside(|comparison| comparison.part(rest, Some(after), place)))
        }
    };
    let required = new.required.contains(name) && comparison.side == Side::Input;
    let class = if fits && !required { ChangeClass::Minor } else { ChangeClass::Major };
    let noun = match (comparison.side, required) {
        (Side::Input, true) => "required parameter",
        (Side::Input, false) => "optional parameter",
        (Side::Output, _) => "field",
    };
    let subject = place.subject().replacen(comparison.side.noun(), noun, 1);
    let why = match (fits, comparison.side) {
        (true, _) => "",
        (false, Side::Input) => ", where other values were accepted before",
        (false, Side::Output) => ", which the old schema does not allow",
    };
    comparison.report(class, place.at(""), format!("{subject} was added{why}"));
}

fn removed<'a>(comparison: &mut Comparison<'a>, before: &'a Value, place: &Place) {
    // What no caller could send can go.
    let unusable = comparison.side == Side::Input && comparison.old_node(before).is_never();
    let class = if unusable { ChangeClass::Minor } else { ChangeClass::Major };
    comparison.report(class, place.at(""), format!("{} was removed", place.subject()));
}

fn patterns<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    let key = "patternProperties";
    for pattern in names(old, new, key) {
        let (before, after) = (old.named(key, pattern), new.named(key, pattern));
        let there = place.property(&format!("{key}.{pattern}"), &format!("({pattern})"));
        if before.is_some() && after.is_some() {
            comparison.part(before, after, &there);
            continue;
        }
        // Names that match are taken from, or given to, those of `additionalProperties`.
        let (node, effect, what) = match before {
            Some(_) => (new_rest(comparison, new), Effect::Wider, "are no longer described"),
            None => (old_rest(comparison, old), Effect::Narrower, "are now described"),
        };
        let effect = if node.is_anything() { effect } else { Effect::Unclear };
        comparison.note(effect, &there, "", what);
    }
}

fn required<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    let declared = |node: &Node<'a>, name: &str| node.named("properties", name).is_some();
    for name in new.required.difference(&old.required) {
        let added = !declared(old, name) && declared(new, name);
        if !added {
            let there = place.property("required", name);
            comparison.note(Effect::Narrower, &there, "", "is now required");
        }
    }
    for name in old.required.difference(&new.required) {
        let removed = declared(old, name) && !declared(new, name);
        if !removed {
            let what = match comparison.side {
                Side::Input => "is no longer required",
                Side::Output => "is no longer always there",
            };
            comparison.note(Effect::Wider, &place.property("required", name), "", what);
        }
    }
}

fn dependent_required<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    let key = "dependentRequired";
    let (before, after) = (old.keywords.get(key).copied(), new.keywords.get(key).copied());
    let (Some(was), Some(is)) = (demands(before), demands(after)) else {
        return comparison.opaque(key, old, new, place);
    };
    if let Some(effect) = Effect::of_sets(is.is_subset(&was), was.is_subset(&is)) {
        comparison.note_keyword(effect, place, key, (before, after));
    }
}

fn additional<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    let key = "additionalProperties";
    let (before, after) = (old.keywords.get(key).copied(), new.keywords.get(key).copied());
    if comparison.exact && before.is_some() != after.is_some() {
        comparison.note_keyword(Effect::Unclear, place, key, (before, after));
    } else {
        comparison.part(before, after, &place.property(key, "*"));
    }
}

fn old_rest<'a>(comparison: &Comparison<'a>, node: &Node<'a>) -> Node<'a> {
    let rest = node.keywords.get("additionalProperties").copied();
    comparison.old_node(rest.unwrap_or(&ANYTHING))
}

fn new_rest<'a>(comparison: &Comparison<'a>, node: &Node<'a>) -> Node<'a> {
    let rest = node.keywords.get("additionalProperties").copied();
    comparison.new_node(rest.unwrap_or(&ANYTHING))
}

/// Whether nothing is said about further members. A schema with a mere description says that there
/// may be some.
fn says_nothing(rest: Option<&Value>) -> bool {
    match rest {
        None | Some(Value::Bool(true)) => true,
        Some(Value::Object(members)) => members.is_empty(),
        Some(_) => false,
    }
}

/// The names under a keyword in either node.
fn names<'a>(old: &Node<'a>, new: &Node<'a>, keyword: &str) -> BTreeSet<&'a str> {
    let members = |node: &Node<'a>| -> Option<&'a Map<String, Value>> {
        node.keywords.get(keyword).copied()?.as_object()
    };
    [members(old), members(new)]
        .into_iter()
        .flatten()
        .flat_map(|it| it.keys().map(String::as_str))
        .collect()
}

/// Which name demands which other.
fn demands(value: Option<&Value>) -> Option<BTreeSet<(&str, &str)>> {
    let mut all = BTreeSet::new();
    let Some(value) = value else { return Some(all) };
    for (name, demanded) in value.as_object()? {
        for other in demanded.as_array()? {
            all.insert((name.as_str(), other.as_str()?));
        }
    }
    Some(all)
}

pub(super) const KNOWN_OF_ARRAYS: &[&str] =
    &["prefixItems", "items", "contains", "minContains", "maxContains", "uniqueItems"];

pub(super) fn compare_arrays<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    if (old.kinds() & new.kinds() & Kinds::ARRAY).is_empty() {
        return;
    }
    items(comparison, old, new, place);
    contains(comparison, old, new, place);
    unique(comparison, old, new, place);
}

fn items<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    let (Some(before), Some(after)) = (first_items(old), first_items(new)) else {
        comparison.opaque("prefixItems", old, new, place);
        return comparison.opaque("items", old, new, place);
    };
    let rest = |node: &Node<'a>| node.keywords.get("items").copied();
    let (old_rest, new_rest) = (rest(old), rest(new));
    let presence = (before.len(), old_rest.is_some()) == (after.len(), new_rest.is_some());
    if comparison.exact && !presence {
        return comparison.note_keyword(Effect::Unclear, place, "items", (old_rest, new_rest));
    }
    for index in 0..before.len().max(after.len()) {
        let (one, two) = (before.get(index).or(old_rest), after.get(index).or(new_rest));
        comparison.part(one, two, &place.item(Some(index)));
    }
    comparison.part(old_rest, new_rest, &place.item(None));
}

/// More items that count make `contains` easier to satisfy, but `maxContains` harder.
fn contains<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    let read = |node: &Node<'a>| node.keywords.get("contains").copied();
    let (before, after) = match (read(old), read(new)) {
        (None, None) => return,
        (Some(before), Some(after)) => (before, after),
        (before, after) => {
            let effect = Effect::of_constraint(before.is_some());
            return comparison.note_keyword(effect, place, "contains", (before, after));
        }
    };
    let limited = |node: &Node<'a>| node.keywords.contains_key("maxContains");
    let there = place.within("contains");
    if !limited(old) && !limited(new) {
        comparison.part(Some(before), Some(after), &there);
    } else if !comparison.exactly(|comparison| comparison.part(Some(before), Some(after), &there)) {
        let values = (Some(before), Some(after));
        comparison.note_keyword(Effect::Unclear, place, "contains", values);
    }
    number::compare_limit(comparison, "maxContains", false, old, new, place);
    least_contains(comparison, old, new, place);
}

/// Unlike other lower bounds this one is 1 when absent.
fn least_contains<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    let key = "minContains";
    let read = |node: &Node<'a>| node.keywords.get(key).map_or(Some(1.0), |it| it.as_f64());
    let effect = match (read(old), read(new)) {
        (Some(before), Some(after)) => Effect::of_sets(after <= before, before <= after),
        _ => Some(Effect::Unclear),
    };
    if let Some(effect) = effect {
        let value = |node: &Node<'a>| node.keywords.get(key).copied();
        comparison.note_keyword(effect, place, key, (value(old), value(new)));
    }
}

fn unique<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    let key = "uniqueItems";
    let (before, after) = (old.keywords.get(key).copied(), new.keywords.get(key).copied());
    let read = |value: Option<&Value>| value == Some(&Value::Bool(true));
    if let Some(effect) =
        Effect::of_sets(!read(after) || read(before), !read(before) || read(after))
    {
        comparison.note_keyword(effect, place, key, (before, after));
    }
}

/// The schemas of the first items, or none when they are no list.
fn first_items<'a>(node: &Node<'a>) -> Option<&'a [Value]> {
    let items_are_a_list = node.keywords.get("items").is_some_and(|items| items.is_array());
    match node.keywords.get("prefixItems").copied() {
        _ if items_are_a_list => None,
        None => Some(&[]),
        Some(list) => list.as_array().map(Vec::as_slice),
    }
}
