//! Programs that write without end: each is cut at a limit, and the gateway does not grow.

use gantry_tests::processes;
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::{Value, json};

/// By how much the gateway may grow for a flood, in kilobytes: its limits are far below.
const ROOM: u64 = 8 * 1024;

/// Calls a tool that floods, and checks that the gateway did not keep what came.
async fn flood(script: &str) -> (ToolFixture, Value) {
    let folder = Folder::new();
    folder.shell("quiet.tool", "echo '{}'");
    folder.shell("loud.tool", script);
    let mut tool_fixture = ToolFixture::open(folder).await;
    tool_fixture.call("quiet.tool", json!({})).await;
    let before = processes::memory(tool_fixture.id(), "VmHWM");
    let result = tool_fixture.call("loud.tool", json!({})).await;
    let grown = processes::memory(tool_fixture.id(), "VmHWM") - before;
    assert!(grown < ROOM, "{script}: the gateway grew by {grown} kB");
    processes::until_none(tool_fixture.folder.mark()).await;
    (tool_fixture, result)
}

#[tokio::test]
async fn a_flood_on_standard_output_ends_the_call() {
    let scripts = [
        "head -c 1000000000 /dev/zero; echo end >ended",
        "yes; echo end >ended",
        "yes | tr -d '\\n'; echo end >ended",
        "yes & yes & yes; echo end >ended",
        "trap '' TERM PIPE; while :; do echo '{}'; done",
    ];
    for script in scripts {
        let (tool_fixture, result) = flood(script).await;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let expected = "the tool `loud.tool` wrote more to standard output than one call may";
        let advised = text.contains("let it write less");
        assert!(text.contains(expected) && advised, "{script}: {result}");
        assert!(!tool_fixture.folder.tools("ended").exists(), "{script}: it was let finish");
    }
}

#[tokio::test]
async fn a_flood_elsewhere_does_not_end_the_call() {
    let scripts = [
        "head -c 100000000 /dev/zero >&2; echo '{\"a\": 1}'",
        "head -c 100000000 /dev/zero >&3; echo '{\"a\": 1}'",
        "yes '{\"progress\": 1}' | head -c 3000000 >&3; echo '{\"a\": 1}'",
        "yes '{\"log\": \"again\"}' | head -c 1000000 >&3; echo '{\"a\": 1}'",
        "yes | head -c 3000000 >&3 & yes | head -c 30000000 >&2; wait; echo '{\"a\": 1}'",
    ];
    for script in scripts {
        let (_, result) = flood(script).await;
        assert_eq!(result["structuredContent"], json!({"a": 1}), "{script}: {result}");
    }
}

#[tokio::test]
async fn only_the_end_of_what_it_complained_about_is_shown() {
    let script = "yes complaint | head -c 3000000 >&2; echo the last word >&2; exit 3";
    let (_, result) = flood(script).await;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("exit status 3") && text.contains("the last word"), "{result}");
    let whole = result.to_string();
    assert!(whole.len() < 32 * 1024, "the answer has {} bytes", whole.len());
}
