//! What is shown of a configuration, and what is not.

use serde_json::{Value, json};

use crate::config::tests::parse;

#[test]
fn secrets_are_not_shown() {
    let text = r#"{"mcpServers": {
        "p": {"command": "./x", "args": ["--at", "${SET}", "--api-key", "abc", "--token=abc", "-v"],
              "env": {"K": "abc"}, "cwd": "d", "prefix": "q"},
        "u": {"url": "https://me:abc@example.com/${SET}/mcp?key=abc", "disabled": true,
              "headers": {"Authorization": "Bearer abc"}},
        "n": {"url": "${NO}"}}, "profiles": {"a": {"servers": ["p"]}}}"#;
    let shown = parse(text).expect("it is right").to_json();
    let shown: Value = serde_json::from_str(shown.as_str()).expect("JSON");
    let servers = &shown["mcpServers"];
    let program = json!({"type": "stdio", "command": "/etc/x", "env": {"K": "…"}, "cwd": "/etc/d",
        "args": ["--at", "…", "--api-key", "…", "--token=…", "-v"], "prefix": "q"});
    assert_eq!(servers["p"], program);
    let web = json!({"type": "http", "url": "https://…@example.com/…/mcp?…", "disabled": true,
        "headers": {"Authorization": "…"}});
    assert_eq!(servers["u"], web);
    let problem = servers["n"]["problem"].as_str().expect("a text");
    assert!(problem.contains("the variable `NO`"), "{problem}");
    assert_eq!(shown["profiles"]["a"]["servers"], json!(["p"]));
}

#[test]
fn the_secrets_of_telemetry_are_not_shown() {
    let text = r#"{"telemetry": {"otlp": "https://example.com/${SET}?key=abc", "sample": 0.5,
        "headers": {"Authorization": "Bearer abc"}}}"#;
    let shown = parse(text).expect("it is right").to_json();
    let shown: Value = serde_json::from_str(shown.as_str()).expect("JSON");
    let telemetry = json!({"otlp": "https://example.com/…?…", "sample": 0.5,
        "headers": {"Authorization": "…"}});
    assert_eq!(shown["telemetry"], telemetry);
}
