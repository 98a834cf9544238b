//! Looking into a text and editing it leaves everything else byte for byte.

use gantry_protocol::RawJson;
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::generate::{Field, Node, leaf, object, text};
use super::{Pairs, json};

/// What an edit does to a member: a new value, or none to remove it.
type Change = (&'static str, Option<String>);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let key = proptest::sample::select(&["a", "b", "", "_meta", "a\"b", "ä", "new"][..]);
    proptest::collection::vec((key, proptest::option::of(leaf())), 0..4)
}

fn decoded(field: &Field) -> String {
    serde_json::from_str(&field.key).expect("a key is a string")
}

/// What the edited object must hold: pairs, and the members that must stand as they stood.
fn expected(fields: &[Field], changes: &[Change]) -> (Pairs, Vec<String>) {
    let mut last: Vec<Change> = Vec::new();
    for (key, value) in changes {
        match last.iter_mut().find(|change| change.0 == *key) {
            Some(change) => change.1 = value.clone(),
            None => last.push((key, value.clone())),
        }
    }
    let (mut pairs, mut untouched) = (Vec::new(), Vec::new());
    for field in fields {
        let key = decoded(field);
        match last.iter().find(|change| change.0 == key) {
            None => {
                untouched.push(field.text());
                pairs.push((key, field.value.text()));
            }
            Some((_, Some(value))) if !pairs.iter().any(|pair| pair.0 == key) => {
                pairs.push((key, value.clone()));
            }
            Some(_) => {}
        }
    }
    for (key, value) in last {
        let there = fields.iter().any(|field| decoded(field) == key);
        pairs.extend(value.filter(|_| !there).map(|value| (key.to_owned(), value)));
    }
    (Pairs(pairs), untouched)
}

/// Whether the parts stand in the text in this order.
fn stand_in_order(text: &str, parts: &[String]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.find(part.as_str()) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

proptest! {
    #[test]
    fn an_edit_touches_only_what_it_names(fields in object(), changes in changes()) {
        let text = Node::Object(fields.clone()).text();
        let raw = json(&text);
        let edited = changes.iter().fold(raw.edit(), |edit, (key, value)| match value {
            Some(value) => edit.set(*key, json(value)),
            None => edit.remove(*key),
        });
        let edited = edited.apply();
        let (pairs, untouched) = expected(&fields, &changes);
        prop_assert_eq!(serde_json::from_str::<Pairs>(edited.as_str()).ok(), Some(pairs));
        prop_assert!(stand_in_order(edited.as_str(), &untouched), "{} -> {}", text, edited);
        if untouched.len() == fields.len() && changes.iter().all(|change| change.1.is_none()) {
            prop_assert_eq!(edited.bytes().as_ptr(), raw.bytes().as_ptr());
        }
    }

    #[test]
    fn a_text_is_carried_as_it_is(text in text(), before in "[ \n]{0,2}", after in "[\t\r]{0,2}") {
        let raw = json(&format!("{before}{text}{after}"));
        prop_assert_eq!(raw.as_str(), text.as_str());
        prop_assert_eq!(serde_json::to_string(&raw).ok(), Some(text));
    }

    #[test]
    fn members_and_elements_are_what_another_reader_sees(text in text()) {
        let raw = json(&text);
        let members: Vec<_> = raw
            .members()
            .map(|member| (member.key().into_owned(), member.value().to_string()))
            .collect();
        match serde_json::from_str::<Pairs>(&text) {
            Ok(pairs) => {
                for (key, value) in &pairs.0 {
                    let first = pairs.0.iter().find(|pair| pair.0 == *key).map(|pair| json(&pair.1));
                    prop_assert_eq!(raw.get(key), first);
                    prop_assert!(members.contains(&(key.clone(), value.clone())));
                }
                prop_assert_eq!(members, pairs.0);
            }
            Err(_) => prop_assert!(members.is_empty()),
        }
        let elements: Vec<_> = raw.elements().map(|element| element.to_string()).collect();
        let seen = serde_json::from_str::<Vec<Box<RawValue>>>(&text).unwrap_or_default();
        let seen: Vec<_> = seen.iter().map(|element| element.get().to_owned()).collect();
        prop_assert_eq!(elements, seen);
    }

    #[test]
    fn compacting_takes_whitespace_and_nothing_else(text in text()) {
        let compact = json(&text).compact();
        let bare: Vec<u8> = outside_strings(&text);
        prop_assert_eq!(compact.bytes().as_ref(), bare.as_slice());
        prop_assert_eq!(compact.compact().bytes().as_ptr(), compact.bytes().as_ptr());
    }
}

/// The text without whitespace that stands outside of strings, found one byte at a time.
fn outside_strings(text: &str) -> Vec<u8> {
    let (mut quoted, mut escaped) = (false, false);
    text.bytes()
        .filter(|&byte| {
            let kept = quoted || !byte.is_ascii_whitespace();
            quoted ^= byte == b'"' && !escaped;
            escaped = quoted && byte == b'\\' && !escaped;
            kept
        })
        .collect()
}

#[test]
fn half_a_character_is_carried_and_is_no_other_key() {
    let raw = json(r#"{"\ud800":1,"":2,"\\ud800":3,"\udc00":4}"#);
    assert_eq!(raw.get(""), Some(json("2")));
    let edited = raw.edit().set("", RawJson::NULL).apply();
    assert_eq!(edited.as_str(), r#"{"\ud800":1,"":null,"\\ud800":3,"\udc00":4}"#);
}
