//! A folder of programs is a set of tools.

use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::json;

const COUNT: &str = "#!/usr/bin/env python3
import json, os, sys
text = json.load(sys.stdin)['arguments']['text']
with os.fdopen(int(os.environ['GANTRY_NOTICES']), 'w') as notices:
    notices.write(json.dumps({'progress': 1, 'total': 1, 'message': 'counted'}) + '\\n')
print(json.dumps({'words': len(text.split())}))
";

const SCRIPT: &str = r#"# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.gantry]
# name = "text.shout"
# version = "1.0.0"
# description = "Says it louder."
# read_only = true
# [tool.gantry.input.properties.text]
# type = "string"
# description = "The text."
# [tool.gantry.output]
# type = "string"
# ///
import json, sys
print(json.dumps(json.load(sys.stdin)["arguments"]["text"].upper()))
"#;

/// Two tools, and a manifest that is none.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.program("count.py", COUNT);
    folder.manifest("text.count", counting());
    folder.shell("text.fail", "echo broken >&2\nexit 7");
    folder.file("broken.tool.json", "{");
    folder
}

fn counting() -> serde_json::Value {
    let text = json!({"type": "string", "default": "two words"});
    json!({
        "command": "./count.py",
        "inputSchema": {"type": "object", "properties": {"text": text}},
    })
}

#[tokio::test]
async fn a_python_file_is_a_tool() {
    let folder = Folder::new();
    folder.file("shout.py", SCRIPT);
    let mut tool_fixture = ToolFixture::open(folder).await;
    let listed = tool_fixture.ask("tools/list", json!({})).await;
    let tool = &listed["result"]["tools"][0];
    assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    let result = tool_fixture.call("text.shout", json!({"text": "hé"})).await;
    let value = &result["structuredContent"]["result"];
    assert_eq!(value, "HÉ", "with uv from `cargo xtask provision`: {result}");
    let wrong = tool_fixture.call("text.shout", json!({})).await;
    assert_eq!(wrong["isError"], true, "the argument without default is required");
}

#[tokio::test]
async fn a_script_is_a_tool() {
    let mut tool_fixture = ToolFixture::open(folder()).await;
    let names = tool_fixture.names().await;
    assert_eq!(names, ["text_count", "text_fail"], "the broken one takes nothing else down");
    let result = tool_fixture.call("text.count", json!({"text": "one two three"})).await;
    assert_eq!(result["structuredContent"], json!({"words": 3}), "{result}");
    let result = tool_fixture.call("text.count", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"words": 2}), "the default is filled in");
}

#[tokio::test]
async fn it_tells_of_progress() {
    let mut tool_fixture = ToolFixture::open(folder()).await;
    let params = json!({"name": "text.count", "arguments": {}, "_meta": {"progressToken": "p"}});
    let id = tool_fixture.begin("tools/call", params).await;
    let notice = tool_fixture.receive().await;
    assert_eq!(notice["params"]["message"], "counted", "{notice}");
    assert_eq!(tool_fixture.answer(id).await["result"]["structuredContent"]["words"], 2);
}

#[tokio::test]
async fn a_failure_says_what_happened() {
    let mut tool_fixture = ToolFixture::open(folder()).await;
    let result = tool_fixture.call("text.fail", json!({})).await;
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("exit status 7") && text.contains("broken"), "{text}");
    let detail = &result["_meta"]["gantry/error"];
    assert_eq!(detail["error_type"], "ToolExecutionError");
    let details = &detail["error_details"];
    assert_eq!((&details["exit_status"], &details["stderr"]), (&json!(7), &json!("broken")));
}

#[tokio::test]
async fn a_new_file_is_a_new_tool() {
    let mut tool_fixture = ToolFixture::open(folder()).await;
    tool_fixture.folder.manifest("text.more", counting());
    tool_fixture.hear("notifications/tools/list_changed").await;
    let result = tool_fixture.call("text.more", json!({"text": "here"})).await;
    assert_eq!(result["structuredContent"]["words"], 1, "{result}");
}

#[tokio::test]
async fn it_sees_only_what_it_is_given() {
    let folder = Folder::new();
    folder.shell(
        "see.environment",
        "exec env | cut -d= -f1 | sort | tr '\\n' ' ' | sed 's/.*/{\"names\": \"&\"}/'",
    );
    let mut tool_fixture = ToolFixture::open(folder).await;
    let result = tool_fixture.call("see.environment", json!({})).await;
    let names = result["structuredContent"]["names"].as_str().expect("names").to_owned();
    let seen: Vec<&str> = names.split_whitespace().collect();
    for expected in ["GANTRY_NOTICES", "PATH", "FOUNDRY"] {
        assert!(seen.contains(&expected), "{expected} is there: {names}");
    }
    // Both are set for the gateway itself.
    for hidden in ["XDG_STATE_HOME", "FOUNDRY_SECRET"] {
        assert!(!seen.contains(&hidden), "{hidden} is kept back: {names}");
    }
}
