//! Schemas that depend on whether another one fits: `not`, `if`, and what one name entails.

use std::collections::BTreeSet;

use super::node::Node;
use super::place::Place;
use super::walk::{Effect, Walk};

pub(super) const KNOWN: &[&str] =
    &["not", "if", "then", "else", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"];

impl<'a> Walk<'a> {
    pub(super) fn conditions(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        self.fixed("not", old, new, place);
        for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
            self.fixed(keyword, old, new, place);
        }
        if self.fixed("if", old, new, place) {
            for keyword in ["then", "else"] {
                let read = |node: &Node<'a>| node.keywords.get(keyword).copied();
                self.schemas(read(old), read(new), &place.within(keyword));
            }
        }
        self.dependent_schemas(old, new, place);
    }

    /// A subschema that has to stay as it is. Says whether it is there, before and after, and did.
    fn fixed(&mut self, keyword: &str, old: &Node<'a>, new: &Node<'a>, place: &Place) -> bool {
        let (before, after) =
            (old.keywords.get(keyword).copied(), new.keywords.get(keyword).copied());
        let effect = match (before, after) {
            (None, None) => return false,
            (Some(_), Some(_)) => {
                let there = place.within(keyword);
                if self.exactly(|walk| walk.schemas(before, after, &there)) {
                    return true;
                }
                Effect::Unclear
            }
            _ => Effect::of_constraint(before.is_some()),
        };
        self.note_keyword(effect, place, keyword, (before, after));
        false
    }

    fn dependent_schemas(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let key = "dependentSchemas";
        let read = |node: &Node<'a>| node.keywords.get(key).map(|value| value.as_object());
        let (before, after) = match (read(old), read(new)) {
            (None, None) => return,
            (Some(None), _) | (_, Some(None)) => return self.opaque(key, old, new, place),
            (before, after) => (before.flatten(), after.flatten()),
        };
        let names: BTreeSet<&String> =
            [before, after].into_iter().flatten().flat_map(|it| it.keys()).collect();
        for name in names {
            let (one, two) = (old.named(key, name), new.named(key, name));
            self.schemas(one, two, &place.within(&format!("{key}.{name}")));
        }
    }
}
