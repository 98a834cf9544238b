//! What the classification calls compatible, the validator must find compatible, for any schemas.

use std::sync::LazyLock;

use gantry_protocol::RawJson;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

use super::super::ChangeClass;
use super::{of_input, of_output, worst};
use crate::schema::{Schema, SchemaLimits};

/// Keywords with plain values, few enough that two schemas often have the same.
fn plain() -> BoxedStrategy<(String, Value)> {
    let texts = [
        r#"{"type":"string"}"#,
        r#"{"type":"integer"}"#,
        r#"{"type":"number"}"#,
        r#"{"type":"array"}"#,
        r#"{"type":"object"}"#,
        r#"{"type":"object"}"#,
        r#"{"type":["string","null"]}"#,
        r#"{"type":["integer","object"]}"#,
        r#"{"type":["number","array"]}"#,
        r#"{"enum":["a",1]}"#,
        r#"{"enum":["a","ab",null]}"#,
        r#"{"enum":[1,1.5,2.0]}"#,
        r#"{"const":"a"}"#,
        r#"{"const":1.0}"#,
        r#"{"const":{"a":1}}"#,
        r#"{"minimum":0}"#,
        r#"{"minimum":1}"#,
        r#"{"exclusiveMinimum":0}"#,
        r#"{"exclusiveMinimum":1.5}"#,
        r#"{"maximum":1}"#,
        r#"{"exclusiveMaximum":2}"#,
        r#"{"multipleOf":1}"#,
        r#"{"multipleOf":2}"#,
        r#"{"multipleOf":0.5}"#,
        r#"{"minLength":1}"#,
        r#"{"minLength":2}"#,
        r#"{"maxLength":0}"#,
        r#"{"maxLength":1}"#,
        r#"{"pattern":"^a"}"#,
        r#"{"pattern":"b$"}"#,
        r#"{"minItems":1}"#,
        r#"{"maxItems":1}"#,
        r#"{"minItems":2}"#,
        r#"{"uniqueItems":true}"#,
        r#"{"uniqueItems":false}"#,
        r#"{"minProperties":1}"#,
        r#"{"maxProperties":1}"#,
        r#"{"required":["a"]}"#,
        r#"{"required":["b","a"]}"#,
        r#"{"required":["b"]}"#,
        r#"{"dependentRequired":{"a":["b"]}}"#,
        r#"{"dependentRequired":{"b":["a"]}}"#,
        r#"{"minContains":0}"#,
        r#"{"minContains":2}"#,
        r#"{"maxContains":1}"#,
        r#"{"default":1}"#,
        r#"{"description":"x"}"#,
        r##"{"$ref":"#/$defs/d"}"##,
        r##"{"$ref":"#/$defs/e"}"##,
    ];
    let members = texts.map(|text| {
        let members: Map<String, Value> = serde_json::from_str(text).expect("an object");
        members.into_iter().next().expect("a member")
    });
    select(members.to_vec()).boxed()
}

/// Keywords that hold schemas. Closing what stands in the last may open the whole.
fn nested(inner: &BoxedStrategy<Value>, all: bool) -> BoxedStrategy<(String, Value)> {
    let list = || proptest::collection::vec(inner.clone(), 1..4).prop_map(Value::Array).boxed();
    let map = |names: &[&'static str]| {
        let names = subsequence(names.to_vec(), 1..=names.len());
        (names, proptest::collection::vec(inner.clone(), 3))
            .prop_map(|(names, values)| {
                let names = names.into_iter().map(str::to_owned);
                Value::Object(names.zip(values).collect())
            })
            .boxed()
    };
    let one = || inner.clone();
    let mut choices = vec![
        ("properties", map(&["a", "b", "c"])),
        ("properties", map(&["a", "b", "c"])),
        ("patternProperties", map(&["^a", "b"])),
        ("additionalProperties", one()),
        ("additionalProperties", Just(json!(false)).boxed()),
        ("propertyNames", one()),
        ("items", one()),
        ("prefixItems", list()),
        ("anyOf", list()),
        ("allOf", list()),
        ("dependentSchemas", map(&["a", "b"])),
    ];
    if all {
        choices.extend([
            ("contains", one()),
            ("oneOf", list()),
            ("oneOf", list()),
            ("not", one()),
            ("if", one()),
            ("then", one()),
            ("else", one()),
            ("unevaluatedProperties", one()),
            ("unevaluatedProperties", Just(json!(false)).boxed()),
            ("unevaluatedItems", Just(json!(false)).boxed()),
        ]);
    }
    let choices =
        choices.into_iter().map(|(key, value)| value.prop_map(move |it| (key.to_owned(), it)));
    proptest::strategy::Union::new(choices).boxed()
}

fn object(members: Vec<(String, Value)>) -> Value {
    Value::Object(members.into_iter().collect())
}

/// A schema without definitions.
fn part(all: bool) -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        6 => proptest::collection::vec(plain(), 0..3).prop_map(object),
        1 => any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        let plain = proptest::collection::vec(plain(), 0..3);
        let nested = proptest::collection::vec(nested(&inner.boxed(), all), 1..4);
        (plain, nested).prop_map(|(plain, nested)| object([plain, nested].concat()))
    })
    .boxed()
}

/// Takes each member from the one schema or the other, or from none.
fn mix(one: &Value, two: &Value, choices: &mut impl Iterator<Item = u8>) -> Value {
    match (one, two) {
        (Value::Object(old), Value::Object(other)) => {
            let mut mixed = Map::new();
            for (key, value) in old {
                match (choices.next().unwrap_or(0), other.get(key)) {
                    (0..6, _) => drop(mixed.insert(key.clone(), value.clone())),
                    (6..9, Some(two)) => drop(mixed.insert(key.clone(), mix(value, two, choices))),
                    (9..12, Some(two)) => drop(mixed.insert(key.clone(), two.clone())),
                    (6..10, None) => drop(mixed.insert(key.clone(), mix(value, two, choices))),
                    _ => {}
                }
            }
            for (key, value) in other.iter().filter(|(key, _)| !old.contains_key(*key)) {
                if choices.next().unwrap_or(0) > 12 {
                    mixed.insert(key.clone(), value.clone());
                }
            }
            Value::Object(mixed)
        }
        (Value::Array(old), Value::Array(other)) if !old.is_empty() => {
            let mixed = old.iter().enumerate().filter_map(|(index, value)| {
                match (choices.next().unwrap_or(0), other.get(index)) {
                    (0..8, _) | (8..14, None) => Some(value.clone()),
                    (8..12, Some(two)) => Some(mix(value, two, choices)),
                    (12..14, Some(two)) => Some(two.clone()),
                    _ => None,
                }
            });
            let mut mixed: Vec<Value> = mixed.collect();
            if choices.next().unwrap_or(0) > 11 {
                mixed.extend(other.last().cloned());
            }
            if mixed.is_empty() { one.clone() } else { Value::Array(mixed) }
        }
        _ => one.clone(),
    }
}

/// Two schemas that have much in common, with definitions that also do.
fn pair(all: bool) -> BoxedStrategy<(Value, Value)> {
    let alike = || {
        (part(all), part(all), proptest::collection::vec(0_u8..16, 30)).prop_map(
            |(old, other, choices)| {
                let new = mix(&old, &other, &mut choices.into_iter());
                (old, new)
            },
        )
    };
    let whole = |schema: Value, one: Value, two: Value| json!({"type": "object", "properties": {"v": schema}, "$defs": {"d": one, "e": two}});
    (alike(), alike(), alike())
        .prop_map(move |(schema, one, two)| {
            (whole(schema.0, one.0, two.0), whole(schema.1, one.1, two.1))
        })
        .boxed()
}

/// The schema that allows no member it does not declare, as a caller is expected to behave.
fn closed(schema: &Value) -> Value {
    let Value::Object(members) = schema else {
        return match schema {
            Value::Bool(true) => json!({"additionalProperties": false}),
            other => other.clone(),
        };
    };
    let close = |(key, value): (&String, &Value)| {
        let value = match (key.as_str(), value) {
            (
                "properties" | "patternProperties" | "dependentSchemas" | "$defs",
                Value::Object(it),
            ) => Value::Object(it.iter().map(|(name, it)| (name.clone(), closed(it))).collect()),
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::Array(it)) => {
                Value::Array(it.iter().map(closed).collect())
            }
            (
                "items"
                | "additionalProperties"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "unevaluatedProperties",
                schema,
            ) => closed(schema),
            (_, other) => other.clone(),
        };
        (key.clone(), value)
    };
    let mut closed: Map<String, Value> = members.iter().map(close).collect();
    let open = closed
        .get("additionalProperties")
        .is_none_or(|it| *it == json!({"additionalProperties": false}));
    if open {
        closed.insert("additionalProperties".to_owned(), json!(false));
    }
    Value::Object(closed)
}

/// Values enough to tell the generated schemas apart.
static VALUES: LazyLock<Vec<RawJson>> = LazyLock::new(|| {
    let plain = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(1.5),
        json!(2),
        json!(3),
        json!(""),
        json!("a"),
        json!("b"),
        json!("ab"),
        json!("abb"),
    ];
    let mut small: Vec<Value> = plain.to_vec();
    small.extend([
        json!([]),
        json!({}),
        json!([1]),
        json!({"a": 1}),
        json!(["a", "a"]),
        json!({"b": "a"}),
    ]);
    let mut all = small.clone();
    let some =
        [json!(null), json!(1), json!(2), json!("a"), json!("ab"), json!({"a": 1}), json!([1])];
    for one in &small {
        all.push(json!([one]));
        all.extend(["a", "b", "c", "ab"].map(|name| json!({name: one})));
        for two in &some {
            all.push(json!([one, two]));
            all.push(json!({"a": one, "b": two}));
        }
    }
    for (one, two) in some.iter().zip(some.iter().rev()) {
        all.push(json!([one, two, one]));
        all.push(json!({"a": one, "b": two, "c": one}));
        all.push(json!({"a": {"a": one, "b": two}}));
        all.push(json!([{"a": one}, [two]]));
    }
    all.iter().map(|value| RawJson::from(json!({"v": value}))).collect()
});

/// A value that fits `narrow` and not `wide`. Schemas that do not compile have none.
fn outsider(narrow: &Value, wide: &Value) -> Option<&'static RawJson> {
    let compile = |schema: &Value| {
        Schema::compile(&RawJson::from(schema.clone()), SchemaLimits::default()).ok()
    };
    let (narrow, wide) = (compile(narrow)?, compile(wide)?);
    VALUES.iter().find(|value| narrow.check(value).is_ok() && wide.check(value).is_err())
}

fn with_dialect(schema: &Value, old_draft: bool) -> Value {
    let mut schema = schema.clone();
    if old_draft {
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    }
    schema
}

proptest! {
    #[test]
    fn nothing_changes_from_a_schema_to_itself((schema, _) in pair(true)) {
        let text = schema.to_string();
        prop_assert_eq!(of_input(&text, &text), vec![]);
        let spaced = serde_json::to_string_pretty(&schema).expect("a value");
        prop_assert_eq!(of_output(&text, &spaced), vec![]);
    }

    #[test]
    fn what_was_accepted_still_is((old, new) in pair(true), old_draft in any::<bool>()) {
        let (old, new) = (closed(&old), closed(&new));
        let (old, new) = (with_dialect(&old, old_draft), with_dialect(&new, old_draft));
        let changes = of_input(&old.to_string(), &new.to_string());
        if worst(&changes) < Some(ChangeClass::Major) {
            let outsider = outsider(&old, &new);
            prop_assert!(outsider.is_none(), "{outsider:?}\n{old}\n{new}\n{changes:#?}");
        }
    }

    #[test]
    fn what_was_declared_is_still_accepted((old, new) in pair(false)) {
        let changes = of_input(&old.to_string(), &new.to_string());
        if worst(&changes) < Some(ChangeClass::Major) {
            let outsider = outsider(&closed(&old), &new);
            prop_assert!(outsider.is_none(), "{outsider:?}\n{old}\n{new}\n{changes:#?}");
        }
    }

    #[test]
    fn what_is_promised_was_promised((old, new) in pair(true), old_draft in any::<bool>()) {
        let (old, new) = (with_dialect(&old, old_draft), with_dialect(&new, old_draft));
        let changes = of_output(&old.to_string(), &new.to_string());
        if worst(&changes) < Some(ChangeClass::Major) {
            let outsider = outsider(&new, &old);
            prop_assert!(outsider.is_none(), "{outsider:?}\n{old}\n{new}\n{changes:#?}");
        }
    }
}
