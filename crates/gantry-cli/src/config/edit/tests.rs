//! What a text looks like after a change, and that it says what it should.

use gantry_protocol::{JsonLimits, RawJson};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::config::edit::{Document, EditError};

fn raw(value: &Value) -> RawJson {
    RawJson::parse(value.to_string(), JsonLimits::default()).expect("JSON")
}

fn set(text: &str, path: &[&str], value: &Value) -> String {
    let mut document = Document::parse(text).expect(text);
    document.set(path, &raw(value)).expect(text);
    document.text().to_owned()
}

fn remove(text: &str, path: &[&str]) -> String {
    let mut document = Document::parse(text).expect(text);
    assert!(document.remove(path).expect(text), "{text}");
    document.text().to_owned()
}

#[test]
fn a_member_more() {
    let cases = [
        ("{}", "{\n  \"x\": 1\n}"),
        ("{\n}\n", "{\n  \"x\": 1\n}\n"),
        ("{ // mine\n}", "{ // mine\n  \"x\": 1\n}"),
        ("// top\n{\n  // inside\n}\n", "// top\n{\n  // inside\n  \"x\": 1\n}\n"),
        ("{\"a\": 1}", "{\"a\": 1, \"x\": 1}"),
        ("{\"a\": 1,}", "{\"a\": 1, \"x\": 1,}"),
        ("{ \"a\": 1 }", "{ \"a\": 1, \"x\": 1 }"),
        ("{\"a\": 1 /* one */}", "{\"a\": 1, /* one */ \"x\": 1}"),
        ("{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"x\": 1\n}"),
        ("{\n\t\"a\": 1,\n}", "{\n\t\"a\": 1,\n\t\"x\": 1,\n}"),
        ("{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"x\": 1\r\n}\r\n"),
        ("{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"x\": 1\n}"),
        ("{\n  \"a\": 1, // one\n}", "{\n  \"a\": 1, // one\n  \"x\": 1,\n}"),
        ("{\n  \"a\": 1\n  // , not\n}", "{\n  \"a\": 1,\n  \"x\": 1\n  // , not\n}"),
        ("{\n  \"a\": 1 /* b\n */ }", "{\n  \"a\": 1,\n  \"x\": 1 /* b\n */ }"),
        ("{\n  \"a\": 1 /* b */ ,\n}", "{\n  \"a\": 1 /* b */ ,\n  \"x\": 1,\n}"),
        ("{\n  \"a\": \"}//\" }", "{\n  \"a\": \"}//\",\n  \"x\": 1 }"),
        ("{\"x\": 0, \"a\": 2}", "{\"x\": 1, \"a\": 2}"),
        ("{\"x\" /* it */ : [0] /* is */, }", "{\"x\" /* it */ : 1 /* is */, }"),
        ("{\"\\u0078\": 0}", "{\"\\u0078\": 1}"),
    ];
    for (text, expected) in cases {
        assert_eq!(set(text, &["x"], &json!(1)), expected, "{text}");
    }
}

#[test]
fn values_change_and_nothing_else_does() {
    let text = "{ // {\r\n  \"a\": [1, /* 2 */ 22,],\t\"b\": \"é\", \"a\": {\"c\": 3}}\r\n";
    let mut document = Document::parse(text).expect(text);
    let values: Vec<RawJson> = document.json().members().map(|it| it.value()).collect();
    let second = values[0].elements().nth(1).expect("two elements");
    // In any order, and under a name that comes twice.
    let changes =
        [(second, json!("x")), (values[2].clone(), json!(null)), (values[1].clone(), json!(0))]
            .map(|(old, new)| (old, raw(&new)));
    document.rewrite(&changes).expect(text);
    let expected = "{ // {\r\n  \"a\": [1, /* 2 */ \"x\",],\t\"b\": 0, \"a\": null}\r\n";
    assert_eq!(document.text(), expected);
}

#[test]
fn a_member_deep_inside() {
    let entry = json!({"command": "npx", "args": ["-y", "pkg"]});
    let flat = r#""x": {"args": ["-y", "pkg"], "command": "npx"}"#;
    let cases = [
        ("{}", format!("{{\n  \"servers\": {{\n    {flat}\n  }}\n}}")),
        ("{\"servers\": {}}", format!("{{\"servers\": {{{flat}}}}}")),
        (
            "{\n    \"servers\": {}, // all\n}",
            format!("{{\n    \"servers\": {{\n        {flat}\n    }}, // all\n}}"),
        ),
        (
            "{\n  \"a\": 1,\n  \"servers\": {\n    \"y\": {} // why\n  }\n}\n",
            format!(
                "{{\n  \"a\": 1,\n  \"servers\": {{\n    \"y\": {{}}, // why\n    {flat}\n  }}\n}}\n"
            ),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(set(text, &["servers", "x"], &entry), expected, "{text}");
    }
}

#[test]
fn what_is_long_is_broken() {
    let word = "x".repeat(40);
    let entry = json!({"args": [word, word], "command": "npx"});
    let expected = format!(
        "{{\n  \"x\": {{\n    \"args\": [\n      \"{word}\",\n      \"{word}\"\n    ],\n    \
         \"command\": \"npx\"\n  }}\n}}"
    );
    assert_eq!(set("{}", &["x"], &entry), expected);
    assert_eq!(set(&expected, &["x"], &entry), expected, "a second time changes nothing");
}

#[test]
fn a_member_less() {
    let cases = [
        ("{\"x\": 1}", "{}"),
        ("{\n  \"x\": 1,\n}\n", "{}\n"),
        ("{\n  // kept\n  \"x\": 1 // gone\n}", "{\n  // kept\n}"),
        ("{\"x\": 1, \"a\": 2}", "{\"a\": 2}"),
        ("{\"a\": 2, \"x\": 1}", "{\"a\": 2}"),
        ("{\"a\": 2, \"x\": 1,}", "{\"a\": 2,}"),
        ("{\n  \"a\": 2,\n  \"x\": {\n    \"b\": 1\n  }\n}", "{\n  \"a\": 2\n}"),
        ("{\n  \"a\": 2, // two\n  \"x\": 1\n}", "{\n  \"a\": 2 // two\n}"),
        ("{\n  \"x\": 1, // one\n  \"a\": 2\n}", "{\n  \"a\": 2\n}"),
        ("{\n  \"a\": 2,\n  \"x\": 1,\n}", "{\n  \"a\": 2,\n}"),
        ("{\n  \"x\": 1, \"a\": 2\n}", "{\n  \"a\": 2\n}"),
        ("{\n  \"a\": 2, \"x\": 1 // both\n}", "{\n  \"a\": 2 // both\n}"),
        ("{\n  \"a\": 2,\n  \"x\": 1 }", "{\n  \"a\": 2\n  }"),
    ];
    for (text, expected) in cases {
        assert_eq!(remove(text, &["x"]), expected, "{text}");
    }
    let mut document = Document::parse("{\"a\": {}}").expect("JSON");
    for path in [&["b"][..], &["a", "b"], &["b", "c"], &[]] {
        assert_eq!(document.remove(path), Ok(false), "{path:?}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    let syntax = |text: &str| Document::parse(text).expect_err(text).to_string();
    assert_eq!(syntax("{\n  /* open"), "2:3: not valid JSON: the comment has no end");
    assert!(syntax("{\n  1}").starts_with("2:3: not valid JSON: "), "{}", syntax("{\n  1}"));
    let cases = [("[]", "the file"), ("{\"a\": []}", "a"), ("{\"a\": {\"b\": 1}}", "b")];
    for (text, named) in cases {
        let mut document = Document::parse(text).expect(text);
        let failed = document.set(&["a", "b", "c"], &RawJson::NULL);
        assert_eq!(failed, Err(EditError::NotAnObject(named.to_owned())), "{text}");
    }
}

/// An object of objects, three deep at most.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!("}, // \"")), Just(json!([{"b": 2}]))];
    let object = leaf.prop_recursive(2, 12, 4, |inner| {
        prop::collection::btree_map("[abx]", inner, 0..4)
            .prop_map(|it| Value::Object(it.into_iter().collect()))
    });
    prop::collection::btree_map("[abx]", object, 0..4)
        .prop_map(|it| Value::Object(it.into_iter().collect()))
}

/// A text with what `noise` puts between its parts; comments are numbered.
fn write(value: &Value, noise: &mut dyn FnMut() -> String, out: &mut String) {
    let Value::Object(members) = value else {
        out.push_str(&value.to_string());
        return;
    };
    out.push('{');
    for (index, (key, value)) in members.iter().enumerate() {
        out.push_str(&noise());
        out.push_str(&format!("\"{key}\"{}:{}", noise(), noise()));
        write(value, noise, out);
        out.push_str(&noise());
        let is_last = index + 1 == members.len();
        // Half of the objects have a trailing comma.
        if !is_last || noise().len().is_multiple_of(2) {
            out.push(',');
        }
    }
    out.push_str(&noise());
    out.push('}');
}

fn text_of(value: &Value, choices: &[u8]) -> String {
    let mut out = String::new();
    let mut at = 0;
    let mut noise = || {
        at += 1;
        match choices.get(at % choices.len().max(1)).copied().unwrap_or(0) % 6 {
            0 => String::new(),
            1 => " ".to_owned(),
            2 => "\n  ".to_owned(),
            3 => format!(" // §{at}§, }}\n"),
            4 => format!(" /* §{at}§, */ "),
            _ => format!("/* §{at}§,\n {{ */"),
        }
    };
    write(value, &mut noise, &mut out);
    out
}

/// The same change to the tree itself.
fn set_in(value: &mut Value, path: &[&str], leaf: &Value) -> bool {
    let Value::Object(members) = value else { return false };
    match path {
        [] => false,
        [last] => {
            members.insert((*last).to_owned(), leaf.clone());
            true
        }
        [first, rest @ ..] => {
            let next = members.entry(*first).or_insert_with(|| Value::Object(Map::new()));
            set_in(next, rest, leaf)
        }
    }
}

fn remove_in(value: &mut Value, path: &[&str]) -> bool {
    match (value, path) {
        (Value::Object(members), [last]) => members.remove(*last).is_some(),
        (Value::Object(members), [first, rest @ ..]) => {
            members.get_mut(*first).is_some_and(|next| remove_in(next, rest))
        }
        _ => false,
    }
}

fn comments(text: &str) -> Vec<String> {
    let marks = (1..400).map(|number| format!("§{number}§"));
    marks.filter(|mark| text.contains(mark)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changes_do_what_they_say(
        tree in tree(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        path in prop::collection::vec("[abx]", 1..4),
    ) {
        let text = text_of(&tree, &choices);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let read = |document: &Document| document.json().read::<Value>().expect("JSON");

        let mut document = Document::parse(text.as_str()).expect(&text);
        prop_assert_eq!(&read(&document), &tree);
        let mut expected = tree.clone();
        let was_there = document.json().at(&path).is_some();
        let is_possible = set_in(&mut expected, &path, &json!({"new": [1]}));
        let done = document.set(&path, &raw(&json!({"new": [1]}))).is_ok();
        prop_assert_eq!(done, is_possible, "{}", text);
        if done {
            prop_assert_eq!(read(&document), expected, "{}", text);
            if !was_there {
                prop_assert_eq!(comments(document.text()), comments(&text));
            }
        }

        let mut document = Document::parse(text.as_str()).expect(&text);
        let mut expected = tree;
        let is_there = remove_in(&mut expected, &path);
        prop_assert_eq!(document.remove(&path), Ok(is_there), "{}", text);
        prop_assert_eq!(read(&document), expected, "{}", text);
    }
}
