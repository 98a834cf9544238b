//! Pairs of definitions, and how far the change from one to the other reaches.

use std::sync::Arc;

use gantry_gateway::ChangeClass;
use gantry_protocol::{JsonLimits, RawJson};
use serde_json::{Value, json};

use super::compare;
use crate::pins::pin::{Key, Kind};

const SAFE: i64 = 9_007_199_254_740_991;

fn class(kind: Kind, before: &Value, now: &Value) -> Option<ChangeClass> {
    let raw = |value: &Value| RawJson::parse(value.to_string(), JsonLimits::default()).unwrap();
    let key = Key { server: Arc::from("s"), kind, name: Arc::from("t"), identity: Arc::from("") };
    compare(&key, &raw(before), &raw(now)).first().map(|it| it.class)
}

/// A tool with that input.
fn takes(schema: Value) -> Value {
    let mut tool = json!({"name": "t"});
    tool["inputSchema"] = schema;
    tool
}

/// A tool with that output.
fn gives(schema: Value) -> Value {
    let mut tool = takes(json!({"type": "object"}));
    tool["outputSchema"] = schema;
    tool
}

/// A tool with a parameter `a`.
fn param(a: Value) -> Value {
    let mut schema = json!({"type": "object", "properties": {}, "required": ["a"]});
    schema["properties"]["a"] = a;
    takes(schema)
}

fn hints(annotations: Value) -> Value {
    let mut tool = takes(json!({"type": "object"}));
    tool["annotations"] = annotations;
    tool
}

#[test]
fn one_meaning_in_other_words() {
    let draft7 = "http://json-schema.org/draft-07/schema#";
    let latest = "https://json-schema.org/draft/2020-12/schema";
    let object = |more: Value| {
        let mut schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        for (key, value) in more.as_object().unwrap() {
            schema[key] = value.clone();
        }
        takes(schema)
    };
    let plain = object(json!({}));
    let cases = [
        (plain.clone(), plain.clone()),
        (object(json!({"$schema": draft7})), object(json!({"$schema": latest}))),
        (object(json!({"$schema": draft7, "additionalProperties": false})), plain.clone()),
        (plain.clone(), object(json!({"$schema": latest, "additionalProperties": false}))),
        (plain.clone(), object(json!({"additionalProperties": true}))),
        (plain.clone(), object(json!({"additionalProperties": {}}))),
        (plain.clone(), object(json!({"propertyNames": {"type": "string"}}))),
        (plain.clone(), object(json!({"required": []}))),
        (
            takes(json!({"properties": {"a": {"type": "string"}}, "type": "object"})),
            takes(json!({"type": "object", "properties": {"a": {"type": ["string"]}}})),
        ),
        (
            param(json!({"type": "integer"})),
            param(json!({"type": "integer", "minimum": -SAFE, "maximum": SAFE})),
        ),
        (
            param(json!({"type": "string", "format": "email"})),
            param(json!({"type": "string", "format": "email", "pattern": "^.+@.+$"})),
        ),
        (
            param(json!({"type": ["string", "null"]})),
            param(json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
        ),
        (param(json!({"const": "x"})), param(json!({"enum": ["x"]}))),
        (param(json!({"enum": ["x", "y"]})), param(json!({"enum": ["y", "x"]}))),
        (
            param(json!({"type": "object", "properties": {}, "additionalProperties": false})),
            param(json!({"type": "object", "properties": {}})),
        ),
        (
            takes(
                json!({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"type": "string"}}}}}),
            ),
            takes(json!({"properties": {"a": {"type": "string"}}})),
        ),
        (hints(json!({})), json!({"name": "t", "inputSchema": {"type": "object"}})),
        (hints(json!({"openWorldHint": true})), hints(json!({}))),
        (
            hints(json!({})),
            json!({"name": "t", "inputSchema": {"type": "object"},
                "execution": {"taskSupport": "forbidden"}}),
        ),
    ];
    for (before, now) in cases {
        assert_eq!(class(Kind::Tool, &before, &now), None, "{before} {now}");
        assert_eq!(class(Kind::Tool, &now, &before), None, "{now} {before}");
    }
}

#[test]
fn how_far_changes_reach() {
    const PATCH: Option<ChangeClass> = Some(ChangeClass::Patch);
    const MINOR: Option<ChangeClass> = Some(ChangeClass::Minor);
    const MAJOR: Option<ChangeClass> = Some(ChangeClass::Major);
    let string = json!({"type": "string"});
    let (a, ab) = (
        json!({"type": "object", "properties": {"a": string}}),
        json!({"type": "object", "properties": {"a": string, "b": string}}),
    );
    let closed = |schema: &Value| {
        let mut schema = schema.clone();
        schema["additionalProperties"] = json!(false);
        schema
    };
    let draft7 = |schema: Value| {
        let mut schema = schema;
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        takes(schema)
    };
    let described = |text: &str| json!({"name": "t", "description": text, "inputSchema": a});
    let needed =
        json!({"type": "object", "properties": {"a": string, "b": string}, "required": ["b"]});
    let cases = [
        (described("Adds."), described("Sends."), PATCH),
        (takes(a.clone()), takes(ab.clone()), MINOR),
        (takes(closed(&a)), takes(closed(&ab)), MINOR),
        (takes(ab.clone()), takes(a.clone()), MAJOR),
        (takes(a.clone()), takes(needed), MAJOR),
        (param(json!({"type": "string"})), param(json!({"type": "integer"})), MAJOR),
        (param(json!({"type": "integer"})), param(json!({"type": "number"})), MINOR),
        (param(json!({"type": "integer"})), param(json!({"type": "integer", "maximum": 9})), MAJOR),
        (param(json!({"type": "string"})), param(json!({"type": "string", "pattern": "a"})), MAJOR),
        // A dialect that matters stays.
        (
            draft7(json!({"type": "object", "dependencies": {"a": ["b"]}})),
            takes(json!({"type": "object", "dependencies": {"a": ["b"]}})),
            MAJOR,
        ),
        // Of a result clients rely on what is not there, too.
        (gives(closed(&a)), gives(closed(&ab)), MAJOR),
        (gives(closed(&a)), gives(a.clone()), MAJOR),
        (gives(a.clone()), gives(closed(&a)), MINOR),
        (gives(a.clone()), gives(ab.clone()), MINOR),
        (gives(a.clone()), takes(json!({"type": "object"})), MAJOR),
        (takes(json!({"type": "object"})), gives(a.clone()), MINOR),
        // Annotations that promise less are loosened.
        (hints(json!({"readOnlyHint": true})), hints(json!({"readOnlyHint": false})), MAJOR),
        (hints(json!({"readOnlyHint": true})), hints(json!({})), MAJOR),
        (hints(json!({"destructiveHint": false})), hints(json!({"destructiveHint": true})), MAJOR),
        (hints(json!({"destructiveHint": false})), hints(json!({})), MAJOR),
        (hints(json!({"idempotentHint": true})), hints(json!({})), MAJOR),
        (hints(json!({"openWorldHint": false})), hints(json!({})), MAJOR),
        (hints(json!({})), hints(json!({"destructiveHint": true})), MAJOR),
        (hints(json!({"readOnlyHint": false})), hints(json!({"destructiveHint": true})), MAJOR),
        (
            hints(json!({"readOnlyHint": true})),
            hints(json!({"readOnlyHint": true, "destructiveHint": true})),
            MAJOR,
        ),
        (hints(json!({})), hints(json!({"readOnlyHint": true})), MINOR),
        (hints(json!({})), hints(json!({"destructiveHint": false})), MINOR),
        (hints(json!({"destructiveHint": true})), hints(json!({"readOnlyHint": true})), MINOR),
        (takes(a.clone()), json!({"name": "t", "inputSchema": a, "unheard": 1}), MAJOR),
    ];
    for (before, now, expected) in cases {
        assert_eq!(class(Kind::Tool, &before, &now), expected, "{before} {now}");
    }
}

#[test]
fn prompts() {
    let prompt = |arguments: Value| json!({"name": "p", "arguments": arguments});
    let with = |name: &str, required: bool| json!({"name": name, "required": required});
    let cases = [
        (prompt(json!([])), json!({"name": "p"}), None),
        (prompt(json!([])), prompt(json!([with("a", false)])), Some(ChangeClass::Minor)),
        (prompt(json!([])), prompt(json!([{"name": "a"}])), Some(ChangeClass::Minor)),
        (prompt(json!([])), prompt(json!([with("a", true)])), Some(ChangeClass::Major)),
        (prompt(json!([with("a", false)])), prompt(json!([])), Some(ChangeClass::Major)),
        (
            prompt(json!([with("a", false)])),
            prompt(json!([with("a", true)])),
            Some(ChangeClass::Major),
        ),
        (
            prompt(json!([with("a", true)])),
            prompt(json!([with("a", false)])),
            Some(ChangeClass::Minor),
        ),
        (
            prompt(json!([{"name": "a", "description": "x"}])),
            prompt(json!([{"name": "a", "description": "y"}])),
            Some(ChangeClass::Patch),
        ),
        (
            prompt(json!([with("a", false), with("b", false)])),
            prompt(json!([with("b", false), with("a", false)])),
            None,
        ),
        (
            prompt(json!([])),
            prompt(json!([with("a", false), with("a", true)])),
            Some(ChangeClass::Major),
        ),
        (prompt(json!([])), prompt(json!(7)), Some(ChangeClass::Major)),
        (
            json!({"name": "p", "description": "x"}),
            json!({"name": "p", "description": "y"}),
            Some(ChangeClass::Patch),
        ),
        (json!({"name": "p"}), json!({"name": "p", "unheard": 1}), Some(ChangeClass::Major)),
    ];
    for (before, now, expected) in cases {
        assert_eq!(class(Kind::Prompt, &before, &now), expected, "{before} {now}");
    }
}
