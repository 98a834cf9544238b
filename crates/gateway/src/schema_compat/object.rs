//! Compares what schemas say of objects and arrays: properties, required names, items.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::ChangeClass;
use super::document::ANYTHING;
use super::kinds::Kinds;
use super::node::Node;
use super::place::{Place, Side};
use super::walk::{Effect, Walk, is_compatible};

pub(super) const KNOWN: &[&str] = &[
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "dependentRequired",
];

impl<'a> Walk<'a> {
    pub(super) fn object(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        if (old.kinds() & new.kinds() & Kinds::OBJECT).is_empty() {
            return;
        }
        let garbled = ["properties", "patternProperties"].into_iter().filter(|key| {
            [old, new].iter().any(|node| node.keywords.get(key).is_some_and(|it| !it.is_object()))
        });
        garbled.for_each(|key| self.opaque(key, old, new, place));
        self.properties(old, new, place);
        self.patterns(old, new, place);
        self.required(old, new, place);
        self.dependent_required(old, new, place);
        self.additional(old, new, place);
        let names = |node: &Node<'a>| node.keywords.get("propertyNames").copied();
        self.part(names(old), names(new), &place.property("propertyNames", "(name)"));
    }

    fn properties(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        for name in names(old, new, "properties") {
            let there = place.property("properties", name);
            match (old.named("properties", name), new.named("properties", name)) {
                (Some(before), Some(after)) => {
                    self.part(Some(before), Some(after), &there);
                    self.needed_default(name, before, after, new, &there);
                }
                (None, Some(after)) => self.added(name, after, old, new, &there),
                (Some(before), None) => self.removed(before, &there),
                (None, None) => {}
            }
        }
    }

    /// The gateway fills in defaults before it checks, so a required parameter with a default may
    /// be left out until the default is gone.
    fn needed_default(
        &mut self,
        name: &str,
        before: &'a Value,
        after: &'a Value,
        new: &Node<'a>,
        place: &Place,
    ) {
        if self.side == Side::Output || !new.required.contains(name) {
            return;
        }
        let had = self.old_node(before).notes.contains_key("default");
        if had && !self.new_node(after).notes.contains_key("default") {
            let what = "is required and lost its default, so calls without it no longer fit";
            self.note(Effect::Narrower, place, "default", what);
        }
    }

    /// A property that was not declared before. Of a caller it is expected that it sends no
    /// arguments that the old schema does not declare, unless that schema says what they are.
    fn added(
        &mut self,
        name: &str,
        after: &'a Value,
        old: &Node<'a>,
        new: &Node<'a>,
        place: &Place,
    ) {
        let rest = old.keywords.get("additionalProperties").copied();
        let before = self.old_rest(old);
        let schema = self.new_node(after);
        let undeclared = says_nothing(rest);
        let patterns = old.keywords.contains_key("patternProperties");
        let fits = match self.side {
            Side::Input if patterns || schema.is_never() => schema.is_anything(),
            Side::Input if undeclared || before.is_never() => true,
            Side::Output if undeclared => true,
            _ => is_compatible(&self.aside(|walk| walk.part(rest, Some(after), place))),
        };
        let required = new.required.contains(name) && self.side == Side::Input;
        let class = if fits && !required { ChangeClass::Minor } else { ChangeClass::Major };
        let noun = match (self.side, required) {
            (Side::Input, true) => "required parameter",
            (Side::Input, false) => "optional parameter",
            (Side::Output, _) => "field",
        };
        let subject = place.subject().replacen(self.side.noun(), noun, 1);
        let why = match (fits, self.side) {
            (true, _) => "",
            (false, Side::Input) => ", where other values were accepted before",
            (false, Side::Output) => ", which the old schema does not allow",
        };
        self.report(class, place.at(""), format!("{subject} was added{why}"));
    }

    fn removed(&mut self, before: &'a Value, place: &Place) {
        // What no caller could send can go.
        let unusable = self.side == Side::Input && self.old_node(before).is_never();
        let class = if unusable { ChangeClass::Minor } else { ChangeClass::Major };
        self.report(class, place.at(""), format!("{} was removed", place.subject()));
    }

    fn patterns(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let key = "patternProperties";
        for pattern in names(old, new, key) {
            let (before, after) = (old.named(key, pattern), new.named(key, pattern));
            let there = place.property(&format!("{key}.{pattern}"), &format!("({pattern})"));
            if before.is_some() && after.is_some() {
                self.part(before, after, &there);
                continue;
            }
            // Names that match are taken from, or given to, those of `additionalProperties`.
            let (node, effect, what) = match before {
                Some(_) => (self.new_rest(new), Effect::Wider, "are no longer described"),
                None => (self.old_rest(old), Effect::Narrower, "are now described"),
            };
            let effect = if node.is_anything() { effect } else { Effect::Unclear };
            self.note(effect, &there, "", what);
        }
    }

    fn required(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let declared = |node: &Node<'a>, name: &str| node.named("properties", name).is_some();
        for name in new.required.difference(&old.required) {
            let added = !declared(old, name) && declared(new, name);
            if !added {
                let there = place.property("required", name);
                self.note(Effect::Narrower, &there, "", "is now required");
            }
        }
        for name in old.required.difference(&new.required) {
            let removed = declared(old, name) && !declared(new, name);
            if !removed {
                let what = match self.side {
                    Side::Input => "is no longer required",
                    Side::Output => "is no longer always there",
                };
                self.note(Effect::Wider, &place.property("required", name), "", what);
            }
        }
    }

    fn dependent_required(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let key = "dependentRequired";
        let (before, after) = (old.keywords.get(key).copied(), new.keywords.get(key).copied());
        let (Some(was), Some(is)) = (demands(before), demands(after)) else {
            return self.opaque(key, old, new, place);
        };
        if let Some(effect) = Effect::of_sets(is.is_subset(&was), was.is_subset(&is)) {
            self.note_keyword(effect, place, key, (before, after));
        }
    }

    fn additional(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let key = "additionalProperties";
        let (before, after) = (old.keywords.get(key).copied(), new.keywords.get(key).copied());
        if self.exact && before.is_some() != after.is_some() {
            self.note_keyword(Effect::Unclear, place, key, (before, after));
        } else {
            self.part(before, after, &place.property(key, "*"));
        }
    }

    fn old_rest(&self, node: &Node<'a>) -> Node<'a> {
        let rest = node.keywords.get("additionalProperties").copied();
        self.old_node(rest.unwrap_or(&ANYTHING))
    }

    fn new_rest(&self, node: &Node<'a>) -> Node<'a> {
        let rest = node.keywords.get("additionalProperties").copied();
        self.new_node(rest.unwrap_or(&ANYTHING))
    }
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

impl<'a> Walk<'a> {
    pub(super) fn array(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        if (old.kinds() & new.kinds() & Kinds::ARRAY).is_empty() {
            return;
        }
        self.items(old, new, place);
        self.contains(old, new, place);
        self.unique(old, new, place);
    }

    fn items(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let (Some(before), Some(after)) = (first_items(old), first_items(new)) else {
            self.opaque("prefixItems", old, new, place);
            return self.opaque("items", old, new, place);
        };
        let rest = |node: &Node<'a>| node.keywords.get("items").copied();
        let (old_rest, new_rest) = (rest(old), rest(new));
        let presence = (before.len(), old_rest.is_some()) == (after.len(), new_rest.is_some());
        if self.exact && !presence {
            return self.note_keyword(Effect::Unclear, place, "items", (old_rest, new_rest));
        }
        for index in 0..before.len().max(after.len()) {
            let (one, two) = (before.get(index).or(old_rest), after.get(index).or(new_rest));
            self.part(one, two, &place.item(Some(index)));
        }
        self.part(old_rest, new_rest, &place.item(None));
    }

    /// More items that count make `contains` easier to satisfy, but `maxContains` harder.
    fn contains(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let read = |node: &Node<'a>| node.keywords.get("contains").copied();
        let (before, after) = match (read(old), read(new)) {
            (None, None) => return,
            (Some(before), Some(after)) => (before, after),
            (before, after) => {
                let effect = Effect::of_constraint(before.is_some());
                return self.note_keyword(effect, place, "contains", (before, after));
            }
        };
        let limited = |node: &Node<'a>| node.keywords.contains_key("maxContains");
        let there = place.within("contains");
        if !limited(old) && !limited(new) {
            self.part(Some(before), Some(after), &there);
        } else if !self.exactly(|walk| walk.part(Some(before), Some(after), &there)) {
            let values = (Some(before), Some(after));
            self.note_keyword(Effect::Unclear, place, "contains", values);
        }
        self.length("maxContains", false, old, new, place);
        self.least_contains(old, new, place);
    }

    /// Unlike other lower bounds this one is 1 when absent.
    fn least_contains(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let key = "minContains";
        let read = |node: &Node<'a>| node.keywords.get(key).map_or(Some(1.0), |it| it.as_f64());
        let effect = match (read(old), read(new)) {
            (Some(before), Some(after)) => Effect::of_sets(after <= before, before <= after),
            _ => Some(Effect::Unclear),
        };
        if let Some(effect) = effect {
            let value = |node: &Node<'a>| node.keywords.get(key).copied();
            self.note_keyword(effect, place, key, (value(old), value(new)));
        }
    }

    fn unique(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let key = "uniqueItems";
        let (before, after) = (old.keywords.get(key).copied(), new.keywords.get(key).copied());
        let read = |value: Option<&Value>| value == Some(&Value::Bool(true));
        if let Some(effect) =
            Effect::of_sets(!read(after) || read(before), !read(before) || read(after))
        {
            self.note_keyword(effect, place, key, (before, after));
        }
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
