//! Tools that are changed while the gateway is down are held to what was served.

use gantry_tests::tool_fixture::{Folder, ToolFixture, description};
use serde_json::{Value, json};

/// A version of a tool with a parameter of this type, which runs that.
fn tool(version: &str, kind: &str, command: &str) -> Value {
    let input = json!({"type": "object", "properties": {"x": {"type": kind}}});
    let command = json!(["sh", "-c", command]);
    let more = json!({"version": version, "command": command, "inputSchema": input});
    description("made.tool", more)
}

#[tokio::test]
async fn a_change_while_the_gateway_is_down_is_noticed() {
    let folder = Folder::new();
    let (one, two) = ("echo '{}'", "echo '{\"x\": 1}'");
    folder.file("a.tool.json", tool("1.1.0", "string", one).to_string());
    let mut tool_fixture = ToolFixture::open(folder).await;
    assert_eq!(tool_fixture.names().await, ["made_tool"]);
    let mut text = tool("1.1.0", "string", one);
    text["description"] = json!("Another text.");
    // What is in the folder after a restart, and what the log says of it if it is refused.
    let cases = [
        (tool("1.1.0", "string", two), Some("was served with another command")),
        (tool("1.1.0", "integer", one), Some("raise the version to 2.0.0")),
        (tool("1.0.0", "integer", one), Some("give it a version above 1.1.0")),
        (text, None),
        (tool("1.1.0", "string", one), None),
        (tool("1.1.1", "string", two), None),
        (tool("2.0.0", "integer", two), None),
        (tool("1.1.1", "string", two), None),
    ];
    for (manifest, refused) in cases {
        tool_fixture.folder.file("a.tool.json", manifest.to_string());
        tool_fixture.restart().await;
        let names = tool_fixture.names().await;
        let (case, log) = (manifest.to_string(), tool_fixture.log());
        assert_eq!(names.is_empty(), refused.is_some(), "{case}: {log}");
        assert!(refused.is_none_or(|words| log.contains(words)), "{case}: {log}");
    }
}
