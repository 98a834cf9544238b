//! Schemas and values that are made to keep a validator busy, and honest ones of the same size.
//! Checking either ends soon: the first are refused before they are checked.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::{Schema, SchemaLimits};
use super::raw;

/// Time for one check in a build without optimisation on a busy machine. Without a bound on the work
/// most of these take minutes.
const AT_MOST: Duration = Duration::from_secs(30);

fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let schema = Schema::compile(&raw(&schema.to_string()), SchemaLimits::default()).unwrap();
    let start = Instant::now();
    let checked = schema.check(&raw(&value.to_string())).map_err(|it| it.to_string());
    let took = start.elapsed();
    assert!(took < AT_MOST, "{took:?}");
    checked
}

/// An object in an object, so many deep.
fn nested(member: &str, depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({ member: inner }))
}

fn array(depth: usize, inner: Value) -> Value {
    (0..depth).fold(inner, |inner, _| json!([inner]))
}

#[test]
fn what_would_take_too_long_is_refused() {
    let text = "ab".repeat(75_000);
    let names = |count: usize| (0..count).map(|it| format!("name-{it}")).collect::<Vec<_>>();
    let patterns = (0..150).map(|it| (format!("^x{it}.*[a-z]{{20}}$"), json!({"type": "null"})));
    let members = (0..20_000).map(|it| (format!("y{it}"), json!(1)));
    let mut chain = json!({"$ref": "#/$defs/0", "$defs": {"200": {"items": {"$ref": "#"}}}});
    for link in 0..200 {
        chain["$defs"][link.to_string()] = json!({"$ref": format!("#/$defs/{}", link + 1)});
    }
    let wide = vec![json!({"minLength": 1, "maxLength": 9, "not": {"const": 0}}); 3000];
    let cases = [
        (
            "look-around",
            json!({"items": {"pattern": "^(a+)+(?!b)$"}}),
            json!(vec!["a".repeat(39) + "!"; 4000]),
        ),
        ("repetition", json!({"pattern": "^[ab]*a([ab]{100}){100}c$"}), json!(text)),
        ("choices", json!({"items": {"enum": names(5000)}}), json!(vec!["name-4999"; 15_000])),
        ("required", json!({"items": {"required": names(5000)}}), json!(vec![json!({}); 20_000])),
        ("all of many", json!({"items": {"allOf": wide}}), json!(vec!["x"; 5000])),
        (
            "names",
            json!({"patternProperties": Value::Object(patterns.collect())}),
            Value::Object(members.collect()),
        ),
        ("chain", chain, array(100, json!([]))),
    ];
    for (case, schema, value) in cases {
        let checked = check(&schema, &value);
        let is_refused = checked.as_ref().is_err_and(|it| it.contains("`limits.validation`"));
        assert!(is_refused, "{case}: {checked:?}");
    }
}

#[test]
fn honest_values_are_checked_whatever_their_size() {
    let email = "^(?!\\.)(?!.*\\.\\.)[a-z0-9.]+@[a-z0-9.]+$";
    let record = json!({"type": "object", "required": ["id", "email", "tags"],
    "additionalProperties": false,
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "email": {"type": "string", "pattern": email},
        "name": {"type": ["string", "null"], "maxLength": 200},
        "kind": {"enum": ["user", "admin", "guest"]},
        "tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}},
    }});
    let person = |it: usize| {
        json!({"id": it, "email": format!("a.b{it}@example.org"), "name": null, "kind": "user",
            "tags": ["x", "y"]})
    };
    let people: Vec<Value> = (0..1500).map(person).collect();
    let rows = vec![json!({"id": 1, "name": "x".repeat(40), "tags": [1, 2, 3]}); 20_000];
    let row = json!({"properties": {"id": {"type": "integer"},
        "name": {"type": "string", "pattern": "^[a-z]{1,64}$"},
        "tags": {"items": {"type": "integer"}}}});
    let node = json!({"type": "array", "items": {"$ref": "#/$defs/node"}});
    let variant = |kind: &str| {
        json!({"type": "object", "required": ["kind"],
            "properties": {"kind": {"const": kind}, "content": node}})
    };
    let variants = ["a", "b", "c", "d", "e", "f", "g", "h"].map(variant);
    let document = json!({"$ref": "#/$defs/node", "$defs": {"node": {"anyOf": variants}}});
    let tree = (0..30).fold(
        json!({"kind": "h"}),
        |inner, _| json!({"kind": "h", "content": [inner, {"kind": "a"}]}),
    );
    let object = json!({"type": "object", "additionalProperties": {"$ref": "#"}});
    let evaluated = json!({"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"required": ["b"]}],
        "unevaluatedProperties": false});
    let cases = [
        ("records", json!({"items": record}), json!(people)),
        ("rows", json!({"items": row}), json!(rows)),
        ("document", document, tree),
        ("circle", json!({"$ref": "#"}), json!(vec![1; 10_000])),
        ("text", json!({"pattern": "^[a-z ]*$"}), json!("lorem ipsum ".repeat(80_000))),
        ("objects", object, nested("a", 100)),
        ("evaluated", evaluated, nested("a", 60)),
    ];
    for (case, schema, value) in cases {
        assert_eq!(check(&schema, &value), Ok(()), "{case}");
    }
}

#[test]
fn only_what_is_short_is_checked_at_once() {
    let list = json!({"items": {"type": "integer"}});
    let tree = json!({"items": {"$ref": "#"}});
    let around = json!({"items": {"pattern": "^(?!a)b"}});
    let cases = [
        (&list, json!([1, 2, 3]), true),
        (&list, json!(vec![1; 5000]), true),
        (&list, json!(vec![1; 50_000]), false),
        (&tree, json!([[[[]]]]), true),
        (&around, json!(["b"]), true),
        (&around, json!(vec!["b"; 1000]), false),
    ];
    for (schema, value, is_quick) in cases {
        let compiled = Schema::compile(&raw(&schema.to_string()), SchemaLimits::default()).unwrap();
        assert_eq!(compiled.is_quick(&raw(&value.to_string())), is_quick, "{schema}");
    }
}

#[test]
fn the_budget_is_a_setting() {
    let schema = raw(r#"{"items": {"type": "integer"}}"#);
    let value = raw(&json!(vec![1; 1000]).to_string());
    for (steps, is_checked) in [(100, false), (100_000, true), (usize::MAX, true)] {
        let limits = SchemaLimits { steps, ..SchemaLimits::default() };
        let checked = Schema::compile(&schema, limits).unwrap().check(&value);
        assert_eq!(checked.is_ok(), is_checked, "{steps}: {checked:?}");
    }
}

/// Names that are written with escapes are read once, however many properties have defaults.
#[test]
fn defaults_are_filled_in_within_linear_time() {
    let defaults = (0..500).map(|it| (format!("property{it}"), json!({"default": 1})));
    let schema = json!({"properties": defaults.collect::<serde_json::Map<_, _>>()});
    let schema = Schema::compile(&raw(&schema.to_string()), SchemaLimits::default()).unwrap();
    let members: Vec<String> = (0..30_000).map(|it| format!(r#""\u0061{it}":0"#)).collect();
    let value = raw(&format!("{{{}}}", members.join(",")));
    let start = Instant::now();
    assert!(schema.fill_defaults(&value).get("property499").is_some());
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}
