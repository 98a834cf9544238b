//! The items of arrays.

use serde_json::Value;

use super::kinds::Kinds;
use super::node::Node;
use super::place::Place;
use super::walk::{Effect, Walk};

pub(super) const KNOWN: &[&str] =
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
