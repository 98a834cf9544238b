//! Examples made up from schemas, and what a document must not tell.

use std::path::Path;

use serde_json::{Value, json};

use super::super::{check, write};
use super::{raw, told, tool};

/// The first example of a call in the document of a tool with these parameters.
fn arguments(properties: &Value, required: &Value) -> String {
    let mut tool = tool(Path::new("/tools"));
    let schema = json!({"type": "object", "properties": properties, "required": required,
        "$defs": {"tree": {"type": "object", "properties": {"inner": {"$ref": "#/$defs/tree"}}}}});
    tool.input_schema = raw(&schema);
    let document = write(&tool);
    let problems: Vec<_> = check(Path::new("/x"), document.as_bytes()).iter().map(told).collect();
    assert_eq!(problems, Vec::<String>::new(), "{document}");
    let start = document.find("\"arguments\": ").unwrap() + "\"arguments\": ".len();
    let mut values = serde_json::Deserializer::from_str(&document[start..]).into_iter::<Value>();
    values.next().unwrap().unwrap()["x"].to_string()
}

#[test]
fn an_example_fits_its_schema() {
    let case = |schema: Value, expected: &str| {
        let mut schema = schema;
        schema["description"] = json!("About it.");
        assert_eq!(arguments(&json!({"x": schema}), &json!(["x"])), expected, "{schema}");
    };
    case(json!({"type": "string"}), "\"text\"");
    case(json!({"type": "string", "examples": ["a", "b"]}), "\"a\"");
    case(json!({"type": "string", "default": "a"}), "\"a\"");
    case(json!({"enum": [3, 4]}), "3");
    case(json!({"const": [1]}), "[1]");
    case(json!({"type": "string", "minLength": 6}), "\"textaa\"");
    case(json!({"type": "string", "maxLength": 2}), "\"te\"");
    case(json!({"type": "string", "pattern": "^[0-9]{4}$"}), "\"1234\"");
    case(json!({"type": "string", "format": "date"}), "\"2026-01-31\"");
    case(json!({"type": "integer"}), "1");
    case(json!({"type": "integer", "minimum": 7, "maximum": 9}), "7");
    case(json!({"type": "integer", "exclusiveMinimum": 7}), "8");
    case(json!({"type": "integer", "maximum": -3}), "-3");
    case(json!({"type": "number", "multipleOf": 0.5, "minimum": 1.2}), "1.5");
    case(json!({"type": ["null", "string"]}), "null");
    case(json!({"type": "boolean"}), "true");
    case(json!({"type": "array", "items": {"type": "integer"}}), "[1]");
    case(json!({"type": "array", "items": {"type": "integer"}, "minItems": 3}), "[1,1,1]");
    case(json!({"type": "array", "items": {"type": "integer"}, "maxItems": 0}), "[]");
    case(json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), "1");
    case(
        json!({"allOf": [{"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}]}),
        "{}",
    );
    case(json!({"$ref": "#/$defs/tree"}), "{}");
}

#[test]
fn a_schema_that_cannot_be_guessed_says_what_to_add() {
    let mut tool = tool(Path::new("/tools"));
    tool.input_schema = raw(
        &json!({"type": "object", "properties": {"x": {"type": "string", "description": "X.", "pattern": "^never guessed$"}}, "required": ["x"]}),
    );
    let document = write(&tool);
    assert!(
        document.contains(
            "A call: no value could be made up for `arguments`; add `examples` to the input schema."
        ),
        "{document}"
    );
}

#[test]
fn secrets_stay_out_of_the_document() {
    let document = write(&tool(Path::new("/tools")));
    assert!(!document.contains("hunter2"), "{document}");
    assert!(document.contains("\"TOKEN\": \"${TOKEN}\""), "{document}");
    assert!(document.contains("which may hold secrets: `TOKEN`."), "{document}");
}

#[test]
fn hints_become_sentences() {
    let case = |annotations: Value, expected: &[&str]| {
        let mut tool = tool(Path::new("/tools"));
        tool.annotations = Some(raw(&annotations));
        let document = write(&tool);
        for text in expected {
            assert!(document.contains(text), "{annotations}: {text} is not in\n{document}");
        }
    };
    case(json!({"readOnlyHint": true}), &["Idempotent: the tool only reads.", "It is read only"]);
    case(
        json!({"idempotentHint": true}),
        &["Idempotent: repeating a call", "It may make changes, and does not say"],
    );
    case(json!({"idempotentHint": false}), &["Not idempotent: each call"]);
    case(json!({}), &["Not stated:", "It does not say whether it reaches outside"]);
    case(json!({"destructiveHint": true}), &["It is destructive: a call may delete"]);
    case(json!({"destructiveHint": false}), &["It makes changes, and destroys nothing."]);
    case(json!({"openWorldHint": true}), &["It reaches into an open world"]);
}
