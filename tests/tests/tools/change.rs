//! Programs that are deleted or replaced while they run.

use std::fs;

use gantry_tests::processes;
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::json;

/// Says that it runs, waits to be let go, and says which version it is. Nothing of the file is
/// read any more once it runs.
fn waiting(version: u32) -> String {
    format!("{{ echo run >running; : <gate; echo '{{\"version\": {version}}}'; exit; }}")
}

/// A gateway with a call of the first version under way, and its id.
async fn running() -> (ToolFixture, u64) {
    let folder = Folder::new();
    folder.shell("slow.tool", &waiting(1));
    folder.latch("gate");
    let mut tool_fixture = ToolFixture::open(folder).await;
    let id = tool_fixture.begin_call("slow.tool", json!({})).await;
    let sign = tool_fixture.folder.tools("running");
    processes::until("the start of the tool", || sign.exists()).await;
    (tool_fixture, id)
}

#[tokio::test]
async fn a_replaced_program_finishes_and_the_next_call_runs_the_new_one() {
    let (mut tool_fixture, id) = running().await;
    tool_fixture.folder.program("slow.tool.sh", &format!("#!/bin/sh\n{}\n", waiting(2)));
    let _open = tool_fixture.folder.open("gate");
    let result = &tool_fixture.answer(id).await["result"];
    assert_eq!(result["structuredContent"]["version"], 1, "{result}");
    let result = tool_fixture.call("slow.tool", json!({})).await;
    assert_eq!(result["structuredContent"]["version"], 2, "{result}");
}

#[tokio::test]
async fn a_deleted_program_finishes_and_the_next_call_says_that_it_is_gone() {
    let (mut tool_fixture, id) = running().await;
    let _open = tool_fixture.folder.open("gate");
    fs::remove_file(tool_fixture.folder.tools("slow.tool.sh")).expect("it is there");
    let result = &tool_fixture.answer(id).await["result"];
    assert_eq!(result["structuredContent"]["version"], 1, "{result}");
    // The call says so itself until the folder is looked at again; then there is no such tool.
    let answer = tool_fixture.begin_call("slow.tool", json!({})).await;
    let answer = tool_fixture.answer(answer).await.to_string();
    let gone = ["was not found", "has just been removed", "there is no tool"];
    let gone = gone.iter().any(|it| answer.contains(it));
    assert!(answer.contains("slow.tool") && gone, "{answer}");
}

#[tokio::test]
async fn a_deleted_manifest_takes_its_tool_away_but_not_the_call() {
    let (mut tool_fixture, id) = running().await;
    fs::remove_file(tool_fixture.folder.tools("slow.tool.tool.json")).expect("it is there");
    tool_fixture.hear("notifications/tools/list_changed").await;
    assert!(tool_fixture.names().await.is_empty());
    let _open = tool_fixture.folder.open("gate");
    let result = &tool_fixture.answer(id).await["result"];
    assert_eq!(result["structuredContent"]["version"], 1, "{result}");
}
