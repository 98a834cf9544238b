//! Capabilities of clients and servers.

use super::{json, same};
use crate::compat::{
    lift_client_capabilities, lift_server_capabilities, lower_client_capabilities,
    lower_server_capabilities,
};
use crate::revision::Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

#[test]
fn client_capabilities_are_lifted() {
    let all = r#"{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"url":{}},"tasks":{},"experimental":{"x":{}}}"#;
    let plain = r#"{"roots":{},"sampling":{},"experimental":{"x":{}}}"#;
    let forms = r#"{"roots":{},"sampling":{},"elicitation":{"form":{}},"experimental":{"x":{}}}"#;
    let urls = r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"url":{}},"experimental":{"x":{}}}"#;
    let cases = [
        (V2024_11_05, all, plain),
        (V2025_03_26, all, plain),
        (V2025_06_18, all, forms),
        (V2025_11_25, all, urls),
        (V2026_07_28, all, all),
        (V2025_11_25, r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#),
        (V2025_11_25, r#"{"elicitation":{"x":1}}"#, r#"{"elicitation":{"x":1,"form":{}}}"#),
        (V2025_06_18, r#"{"elicitation":{"form":{}}}"#, r#"{"elicitation":{"form":{}}}"#),
        (V2024_11_05, "{}", "{}"),
        (V2024_11_05, r#"{"roots":null}"#, r#"{"roots":null}"#),
    ];
    for (revision, given, expected) in cases {
        same(&(revision, given), &lift_client_capabilities(revision, &json(given)), expected);
    }
}

#[test]
fn server_capabilities_are_lowered() {
    let all = r#"{"tools":{"listChanged":true},"completions":{},"extensions":{"a/b":{"v":1}}}"#;
    let moved = r#"{"tools":{"listChanged":true},"completions":{},"experimental":{"a/b":{"v":1}}}"#;
    let first = r#"{"tools":{"listChanged":true},"experimental":{"a/b":{"v":1}}}"#;
    let both = r#"{"experimental":{"a":1,"c":2},"extensions":{"a":3,"b":4}}"#;
    let tasks = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let cases = [
        (V2024_11_05, all, first),
        (V2025_03_26, all, moved),
        (V2025_11_25, all, moved),
        (V2026_07_28, all, all),
        (V2025_11_25, both, r#"{"experimental":{"a":1,"c":2,"b":4}}"#),
        (V2025_11_25, r#"{"extensions":{}}"#, "{}"),
        (V2025_11_25, r#"{"prompts":{}}"#, r#"{"prompts":{}}"#),
        (V2025_06_18, tasks, "{}"),
        (
            V2025_11_25,
            tasks,
            r#"{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#,
        ),
    ];
    for (revision, given, expected) in cases {
        same(&(revision, given), &lower_server_capabilities(revision, &json(given)), expected);
    }
}

#[test]
fn client_capabilities_are_lowered() {
    let all = r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{}},"experimental":{"x":{}}}"#;
    let plain = r#"{"roots":{},"sampling":{},"extensions":{"a/b":{}},"experimental":{"x":{}}}"#;
    let forms = r#"{"roots":{},"sampling":{},"elicitation":{},"extensions":{"a/b":{}},"experimental":{"x":{}}}"#;
    let urls = r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"extensions":{"a/b":{}},"experimental":{"x":{}}}"#;
    let cases = [
        (V2024_11_05, all, plain),
        (V2025_03_26, all, plain),
        (V2025_06_18, all, forms),
        (V2025_11_25, all, urls),
        (V2026_07_28, all, all),
        (V2025_06_18, r#"{"elicitation":{"url":{}}}"#, "{}"),
        (V2025_06_18, r#"{"elicitation":{}}"#, r#"{"elicitation":{}}"#),
        (V2025_11_25, "{}", "{}"),
    ];
    for (revision, given, expected) in cases {
        same(&(revision, given), &lower_client_capabilities(revision, &json(given)), expected);
    }
}

#[test]
fn server_capabilities_are_lifted() {
    let tasks = r#"{"tools":{},"tasks":{"list":{},"requests":{"tools":{"call":{}}}}}"#;
    let extended = r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let cases = [
        (V2024_11_05, r#"{"tools":{}}"#, r#"{"tools":{},"completions":{}}"#),
        (V2025_03_26, r#"{"tools":{}}"#, r#"{"tools":{}}"#),
        (V2025_11_25, tasks, extended),
        (V2025_11_25, r#"{"tasks":{"list":{}}}"#, "{}"),
        (V2026_07_28, tasks, tasks),
    ];
    for (revision, given, expected) in cases {
        same(&(revision, given), &lift_server_capabilities(revision, &json(given)), expected);
    }
}
