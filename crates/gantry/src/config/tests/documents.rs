//! The schema and the documents say what is read.

use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;
use serde_json::json;

use super::parse;
use crate::config::SCHEMA;

fn schema() -> Schema {
    let schema = RawJson::from(serde_json::from_str::<serde_json::Value>(SCHEMA).expect("JSON"));
    Schema::compile(&schema, SchemaLimits::default()).expect("a schema")
}

#[test]
fn the_schema_is_that_of_what_is_read() {
    let compiled = schema();
    let cases = [
        (json!({"listen": "x", "tools": ["a"], "uv": "b", "standby": true, "state": "c"}), true),
        (json!({"standby": {}, "$schema": "x"}), true),
        (json!({"lisen": "x"}), false),
        (json!({"tools": [1]}), false),
        (json!({"standby": {"total": 1, "perTool": 1, "memory": "1GiB", "idle": "1s"}}), true),
        (json!({"standby": {"totl": 1}}), false),
        (json!({"standby": 1}), false),
    ];
    for (value, right) in cases {
        assert_eq!(compiled.check(&RawJson::from(value.clone())).is_ok(), right, "{value}");
        assert_eq!(parse(&value.to_string()).is_ok(), right, "{value}");
    }
}
