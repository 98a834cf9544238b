//! An index must say what a tree says.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::json::JsonLimits;

fn flat(text: &str) -> Result<FlatJson, FlatError> {
    let limits = JsonLimits { size: usize::MAX, depth: 1000 };
    FlatJson::new(&RawJson::parse(text.to_owned(), limits).expect("JSON"))
}

/// The tree that an index stands for.
fn tree(node: FlatNode<'_>) -> Value {
    match node.kind() {
        JsonKind::Object => {
            let members = node
                .members()
                .map(|(key, value)| (key.as_text().expect("a key").into_owned(), tree(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        JsonKind::Array => Value::Array(node.elements().map(tree).collect()),
        JsonKind::String => Value::String(node.as_text().expect("a text").into_owned()),
        JsonKind::Number => Value::Number(node.as_number().expect("a number")),
        JsonKind::Boolean => Value::Bool(node.as_boolean().expect("a boolean")),
        JsonKind::Null => Value::Null,
    }
}

#[test]
fn texts() {
    let many: String = (0..100).map(|it| format!("\"k{}\":{it},", it % 90)).collect();
    let many = format!("{{{many}\"\\u0061\\n\":[]}}");
    let cases = [
        "null",
        " [ 1 , -2.5e3, true ,false, null, {} , [], \"\" ] ",
        r#"{"a":{"b":[{"c":1},2]},"d\"e":"x\\y","a":2}"#,
        r#"["😀","\ud83d\ude00","[{,:}]"]"#,
        "[18446744073709551615,-9223372036854775808,123456789012345678901]",
        &many,
    ];
    for text in cases {
        let json = flat(text).expect(text);
        let expected: Value = serde_json::from_str(text).expect(text);
        assert_eq!(tree(json.root()), expected, "{text}");
        for (key, value) in expected.as_object().into_iter().flatten() {
            assert_eq!(json.root().get(key).map(tree).as_ref(), Some(value), "{key} in {text}");
        }
        assert!(json.root().get("none").is_none() && json.root().get("k").is_none(), "{text}");
    }
}

#[test]
fn what_has_no_value_is_refused() {
    let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let cases = [
        (deep(128), None),
        (deep(129), Some(FlatError::Deep)),
        (r#"["\ud800"]"#.to_owned(), Some(FlatError::Surrogate)),
        ("[1e308]".to_owned(), None),
        ("[1e309]".to_owned(), Some(FlatError::Number)),
        (format!("[{}]", "9".repeat(400)), Some(FlatError::Number)),
    ];
    for (text, expected) in cases {
        assert_eq!(flat(&text).err(), expected, "{text:.20}");
    }
    assert_eq!(flat(&deep(128)).expect("it is shallow").root().depth(), 128);
}

#[test]
fn pointers_lead_to_values() {
    let json = flat(r#"{"a":[{"b/c":1,"~":2}],"":{"x":[]}}"#).expect("JSON");
    let cases = [
        ("/a/0/b~1c", Some(json!(1))),
        ("/a/0/~0", Some(json!(2))),
        ("//x", Some(json!([]))),
        ("/a/1", None),
        ("/a/x", None),
        ("/a/0/b~1c/d", None),
    ];
    for (pointer, expected) in cases {
        assert_eq!(json.root().at(pointer).map(tree), expected, "{pointer}");
    }
}

#[test]
fn an_index_takes_four_times_its_text_at_most() {
    let texts = ["[0,0,0,0,0,0,0,0]", "[[],[],[],[]]", "[{},{},{}]", r#"[{"":0},{"":0}]"#];
    for text in texts {
        let text = format!("[{}]", vec![text; 1000].join(","));
        let size = flat(&text).expect("JSON").entries.len() * size_of::<Entry>();
        assert!(
            size <= 4 * text.len() + size_of::<Entry>(),
            "{size} for {} bytes of {text:.20}",
            text.len()
        );
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 200, 50, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..50)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn an_index_says_what_a_tree_says(value in values(), key in any::<String>()) {
        let json = flat(&value.to_string()).expect("JSON");
        let reread: Value = serde_json::from_str(&value.to_string()).expect("JSON");
        prop_assert_eq!(&tree(json.root()), &reread);
        prop_assert_eq!(json.root().get(&key).map(tree), reread.get(&key).cloned());
        for (key, value) in reread.as_object().into_iter().flatten() {
            prop_assert_eq!(&json.root().get(key).map(tree), &Some(value.clone()));
        }
    }
}
