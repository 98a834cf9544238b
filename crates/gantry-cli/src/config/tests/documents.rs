//! The schema and the documents say what is read.

use std::path::Path;

use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;
use serde_json::json;

use crate::config::tests::parse;
use crate::config::{Config, SCHEMA, jsonc};

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
        (json!({"auth": "token"}), true),
        (json!({"auth": "none"}), true),
        (json!({"auth": "maybe"}), false),
        (json!({"auth": {}}), false),
        (json!({"lisen": "x"}), false),
        (json!({"tools": [1]}), false),
        (json!({"standby": {"total": 1, "perTool": 1, "memory": "1GiB", "idle": "1s"}}), true),
        (json!({"standby": {"totl": 1}}), false),
        (json!({"standby": 1}), false),
        (json!({"pins": "locked"}), true),
        (
            json!({"pins": {"mode": "off", "suspicious": "flag", "own": true, "most": 5, "mostBytes": 5}}),
            true,
        ),
        (json!({"pins": "of"}), false),
        (json!({"pins": {"mod": "off"}}), false),
        (json!({"audit": "strict"}), true),
        (json!({"audit": "strikt"}), false),
        (json!({"audit": {"mode": "off", "arguments": "none", "lists": true}}), true),
        (json!({"audit": {"retain": "90d", "size": "1GiB"}}), true),
        (json!({"audit": {"retian": "90d"}}), false),
        (
            json!({"mcpServers": {"a": {"command": "x", "args": ["y", 1], "env": {"K": null}}}}),
            true,
        ),
        (json!({"mcpServers": {"a": {"command": ["x"], "type": "local", "restart": {}}}}), true),
        (json!({"mcpServers": {"a": {"url": "https://x/", "oauth": {}, "_note": 1}}}), true),
        (json!({"mcpServers": [{"name": "a", "url": "https://x/", "timeout": "30s"}]}), true),
        (json!({"mcpServers": {"a b": {"command": "x"}}}), false),
        (json!({"mcpServers": {"a": {"comand": "x"}}}), false),
        (json!({"mcpServers": {"a": {"command": "x", "share": "all"}}}), false),
        (json!({"mcpServers": {"a": {"command": "x", "tools": {"t": {"titel": "T"}}}}}), false),
        (json!({"mcpServers": {"a": {"command": "x", "type": "pigeon"}}}), false),
        (json!({"profiles": {"p": {"servers": ["a"], "include": [], "exclude": ["x*"]}}}), true),
        (json!({"profiles": {"p": {"server": ["a"]}}}), false),
        (json!({"policy": {"default": "deny", "rules": [{"effect": "allow"}]}}), true),
        (
            json!({"policy": {"rules": [{"name": "a", "effect": "deny", "shadow": true,
            "who": {"principals": ["ci-*"], "clients": "x", "faces": ["work"]},
            "what": {"servers": ["s"], "tools": "t", "resources": ["r:*"], "prompts": ["p"]},
            "annotations": {"readOnly": true, "destructive": false}, "when": "true"}]}}),
            true,
        ),
        (json!({"policy": {"rules": {}}}), false),
        (json!({"policy": {"rules": [{}]}}), false),
        (json!({"policy": {"rules": [{"effect": "forbid"}]}}), false),
        (json!({"policy": {"rules": [{"effect": "deny", "who": {"principals": []}}]}}), false),
        (json!({"policy": {"default": "no"}}), false),
        (json!({"telemetry": {"otlp": "http://c:1", "headers": {"k": "v"}, "sample": 0.5}}), true),
        (json!({"telemetry": {"logs": false, "service": "s"}}), true),
        (json!({"telemetry": {"otpl": "http://c:1"}}), false),
        (json!({"telemetry": {"sample": 2}}), false),
        (json!({"telemetry": {"headers": {"k": 1}}}), false),
        (json!({"telemetry": true}), false),
        (json!({"allowedHosts": ["gantry.local", "[::2]:80"]}), true),
        (json!({"allowedHosts": []}), true),
        (json!({"allowedHosts": "gantry.local"}), false),
        (json!({"allowedHosts": ["*"]}), false),
        (json!({"allowedHosts": ["http://gantry.local"]}), false),
        (json!({"allowedHosts": [1]}), false),
        (json!({"allowedOrigins": ["https://app.example:8443"]}), true),
        (json!({"allowedOrigins": ["https://app.example/"]}), false),
        (json!({"allowedOrigins": ["null"]}), false),
        (json!({"allowedHost": []}), false),
        (json!({"http": {"connections": 5, "receiving": "1MiB", "headTimeout": "5s"}}), true),
        (json!({"http": {"connections": 0}}), false),
        (json!({"http": {"conections": 5}}), false),
        (json!({"http": true}), false),
        (json!({"metrics": {"auth": "none"}}), true),
        (json!({"metrics": {"auth": "maybe"}}), false),
        (json!({"metrics": "none"}), false),
        (json!({"include": []}), true),
        (json!({"include": 1}), false),
    ];
    for (value, right) in cases {
        assert_eq!(compiled.check(&RawJson::from(value.clone())).is_ok(), right, "{value}");
        assert_eq!(parse(&value.to_string()).is_ok(), right, "{value}");
    }
}

#[test]
fn the_examples_of_the_document_are_right() {
    let document = concat!(
        include_str!("../../../../../docs/configuration.md"),
        include_str!("../../../../../docs/policy.md")
    );
    let mut count = 0;
    for (language, file) in [("jsonc", "/etc/gantry.json"), ("toml", "/etc/config.toml")] {
        let fence = format!("```{language}\n");
        let blocks = document.split(&fence).skip(1);
        for text in blocks.filter_map(|rest| rest.split("```").next()) {
            count += 1;
            let all = |_: &str| Some("set".to_owned());
            // Files that are included are not there; the same list as inputs is passed over.
            let alone = text.replace("\"include\": [\"~", "\"inputs\": [\"~");
            let read = Config::parse(Path::new(file), alone.as_bytes(), &all);
            let read = read.unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(read.warnings.is_empty(), "{text}: {:?}", read.warnings);
            if language == "jsonc" {
                let plain = jsonc::blank(text.as_bytes());
                let plain = String::from_utf8(plain.expect("closed comments")).expect("UTF-8");
                let value: serde_json::Value = serde_json::from_str(&plain).expect("JSON");
                schema()
                    .check(&RawJson::from(value))
                    .unwrap_or_else(|error| panic!("{text}: {error:?}"));
            }
        }
    }
    assert!(count >= 6, "only {count} examples");
}
