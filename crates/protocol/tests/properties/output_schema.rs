//! A value that fits its tool's output schema still does when both are lowered.

use gantry_protocol::{Method, RawJson, Revision, compat};
use proptest::prelude::*;
use serde_json::Value;

use super::generate::{array_of, object_of, one_of};
use super::json;

/// Schemas of objects, of other things, and of both; alone, by reference, and within themselves.
fn schema() -> BoxedStrategy<String> {
    one_of(&[
        r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#,
        r#"{"type":"integer","minimum":0}"#,
        r#"{"type":["integer","null"]}"#,
        r#"{"type":["object","integer"],"required":["a"]}"#,
        r#"{"anyOf":[{"type":"integer"},{"type":"object","required":["a"]}]}"#,
        r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}"##,
        r##"{"$ref":"#/definitions/o","definitions":{"o":{"type":"object"}}}"##,
        r##"{"type":"array","items":{"$ref":"#"}}"##,
        r##"{"type":"array","items":{"$ref":"#/$defs/t"},"$defs":{"t":{"anyOf":[{"type":"integer"},{"$ref":"#"}]}}}"##,
        r##"{"anyOf":[{"type":"integer"},{"type":"object","additionalProperties":{"$ref":"#/anyOf/0"}}]}"##,
        r##"{"$id":"urn:example:t","type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}"##,
        "{}",
        "true",
        "false",
    ])
}

fn value() -> BoxedStrategy<String> {
    let leaf = one_of(&["1", "-1", "null", "\"a\"", "{\"a\":1}", "{\"a\":\"b\"}", "{}"]);
    leaf.prop_recursive(3, 8, 3, |inner| {
        let field = super::generate::member("a", inner.clone().boxed());
        prop_oneof![array_of(inner.boxed()), object_of(vec![field], vec![])]
    })
    .boxed()
}

fn fits(schema: &RawJson, value: &RawJson) -> bool {
    let read = |raw: &RawJson| raw.read::<Value>().expect("a small value");
    jsonschema::validator_for(&read(schema)).expect("a valid schema").is_valid(&read(value))
}

fn lowered(revision: Revision, method: &Method, text: &str, path: &[&str]) -> RawJson {
    let result = compat::lower_result(revision, method, &json(text));
    let result = result.get("tools").and_then(|tools| tools.elements().next()).unwrap_or(result);
    result.at(path).expect("the revision has structured output")
}

proptest! {
    #[test]
    fn a_value_that_fits_still_fits(schema in schema(), value in value()) {
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
            let tools = format!(r#"{{"tools":[{{"name":"t","outputSchema":{schema}}}]}}"#);
            let new_schema = lowered(revision, &Method::ToolsList, &tools, &["outputSchema"]);
            let result = format!(r#"{{"content":[],"structuredContent":{value}}}"#);
            let new_value = lowered(revision, &Method::ToolsCall, &result, &["structuredContent"]);
            prop_assert_eq!(new_schema.get("type"), Some(RawJson::string("object")));
            prop_assert!(new_value.is_object());
            let (before, after) =
                (fits(&json(&schema), &json(&value)), fits(&new_schema, &new_value));
            prop_assert!(!before || after, "{new_schema} refuses {new_value}");
            // Only a schema that may speak of objects gains anything by the choice it becomes.
            if new_schema != json(&schema) && new_schema.get("anyOf").is_none() {
                prop_assert!(before == after, "{new_schema} takes {new_value}");
            }
        }
    }
}
