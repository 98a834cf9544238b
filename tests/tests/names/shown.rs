//! What clients see of tools with dots, long names, and names that would be alike.

use std::collections::BTreeSet;

use gantry_tests::request::{call, request, text};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{UpstreamFixture, said, scripted};
use serde_json::{Value, json};

/// A tool that answers with its name.
fn tool(name: &str) -> Value {
    let object = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    json!({
        "name": name, "version": "1.0.0", "description": "Answers.", "inputSchema": object,
        "outputSchema": object, "command": ["sh", "-c", format!("echo '{{\"name\":\"{name}\"}}'")],
    })
}

async fn listed(fixture: &UpstreamFixture) -> Vec<String> {
    let answer = request("tools/list", json!({})).ask(fixture.address).await;
    let tools = answer["result"]["tools"].as_array().expect("tools").clone();
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

fn fits(name: &str) -> bool {
    let letters = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
    (1..=48).contains(&name.len()) && name.bytes().all(letters)
}

#[tokio::test]
async fn clients_see_names_that_model_apis_take() {
    let long = format!("text.{}", "x".repeat(80));
    let names = ["text.count", "a.b_c", "a_b.c", "bare", &long];
    let tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
    let db = scripted(&["contract"], json!({"prefix": "base"}));
    let config = json!({"tools": tools, "mcpServers": {"db": db}});
    let mut fixture = UpstreamFixture::with("names-shown-all", config.clone()).await;
    soon("the server", async {
        while !listed(&fixture).await.contains(&"base_table_drop".to_owned()) {}
    })
    .await;
    let shown = listed(&fixture).await;
    assert!(shown.iter().all(|name| fits(name)), "{shown:?}");
    for name in ["text_count", "a_b_c", "base_table_drop"] {
        assert!(shown.iter().any(|it| it == name), "{name} of {shown:?}");
    }
    let unique: BTreeSet<_> = shown.iter().collect();
    assert_eq!(unique.len(), shown.len());
    // A name without a dot belongs to the module of its folder.
    let bare = shown.iter().find(|it| it.ends_with("_bare")).expect("the bare name").clone();
    let distinct = shown.iter().find(|it| it.starts_with("a_b_c_")).expect("the other").clone();
    let cut = shown.iter().find(|it| it.starts_with("text_x")).expect("the long one").clone();
    let cases = [
        ("text_count", "text.count"),
        ("text.count", "text.count"),
        ("text.count@1.0.0", "text.count"),
        ("text_count@1.0.0", "text.count"),
        ("a_b_c", "a.b_c"),
        ("a.b_c", "a.b_c"),
        ("a_b.c", "a_b.c"),
        (&distinct, "a_b.c"),
        (&cut, &long),
        (&long, &long),
        (&bare, "bare"),
        ("bare", "bare"),
    ];
    for (name, expected) in cases {
        let answer = call(name, json!({})).ask(fixture.address).await;
        assert_eq!(answer["result"]["structuredContent"]["name"], *expected, "{name}: {answer}");
    }
    for name in ["db.table_drop", "base_table.drop", "text.count"] {
        let body = json!({"tool_name": name, "arguments": {}}).to_string();
        let answer = text(&body).to("/call").ask(fixture.address).await;
        assert_ne!(answer["error"]["error_type"], "ToolNotFoundError", "{name}: {answer}");
    }
    assert_eq!(fixture.log().matches("both can be called").count(), 1, "{}", fixture.log());
    // They are the same after a restart.
    fixture = fixture.reopen_with(config).await;
    soon("the server", async { while listed(&fixture).await != shown {} }).await;
    fixture.close().await;
}

#[tokio::test]
async fn a_setting_keeps_dots_and_changes_the_length() {
    let names = ["text.count", "text.counting_words_and_lines"];
    let tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
    let style = json!({"dots": true, "length": 20});
    let fixture = UpstreamFixture::with(
        "names-dots",
        json!({"tools": tools, "toolNames": style, "mcpServers": {}}),
    )
    .await;
    let shown = listed(&fixture).await;
    assert_eq!(shown[0], "text.count");
    assert!(shown[1].len() == 20 && shown[1].starts_with("text.counti"), "{shown:?}");
    for (name, expected) in [("text_count", false), ("text.count", true), (&shown[1], true)] {
        let answer = call(name, json!({})).ask(fixture.address).await;
        assert_eq!(said(&answer).is_ok(), expected, "{name}: {answer}");
    }
    fixture.close().await;
}
