//! Programs that are deleted or replaced while they run.

use std::fs;

use gantry_tests::foundry::{Folder, Foundry};
use gantry_tests::processes;
use serde_json::json;

/// Says that it runs, waits to be let go, and says which version it is. Nothing of the file is
/// read any more once it runs.
fn waiting(version: u32) -> String {
    format!("{{ echo run >running; : <gate; echo '{{\"version\": {version}}}'; exit; }}")
}

/// A gateway with a call of the first version under way, and its id.
async fn running() -> (Foundry, u64) {
    let folder = Folder::new();
    folder.shell("slow.tool", &waiting(1));
    folder.gate("gate");
    let mut foundry = Foundry::open(folder).await;
    let id = foundry.begin_call("slow.tool", json!({})).await;
    let sign = foundry.folder.tools("running");
    processes::until("the start of the tool", || sign.exists()).await;
    (foundry, id)
}

#[tokio::test]
async fn a_replaced_program_finishes_and_the_next_call_runs_the_new_one() {
    let (mut foundry, id) = running().await;
    foundry.folder.program("slow.tool.sh", &format!("#!/bin/sh\n{}\n", waiting(2)));
    let _open = foundry.folder.open("gate");
    let result = &foundry.answer(id).await["result"];
    assert_eq!(result["structuredContent"]["version"], 1, "{result}");
    let result = foundry.call("slow.tool", json!({})).await;
    assert_eq!(result["structuredContent"]["version"], 2, "{result}");
}

#[tokio::test]
async fn a_deleted_program_finishes_and_the_next_call_says_that_it_is_gone() {
    let (mut foundry, id) = running().await;
    let _open = foundry.folder.open("gate");
    fs::remove_file(foundry.folder.tools("slow.tool.sh")).expect("it is there");
    let result = &foundry.answer(id).await["result"];
    assert_eq!(result["structuredContent"]["version"], 1, "{result}");
    // The call says so itself until the folder is looked at again; then there is no such tool.
    let answer = foundry.begin_call("slow.tool", json!({})).await;
    let answer = foundry.answer(answer).await.to_string();
    let gone = ["was not found", "has just been removed", "there is no tool"];
    let gone = gone.iter().any(|it| answer.contains(it));
    assert!(answer.contains("slow.tool") && gone, "{answer}");
}

#[tokio::test]
async fn a_deleted_manifest_takes_its_tool_away_but_not_the_call() {
    let (mut foundry, id) = running().await;
    fs::remove_file(foundry.folder.tools("slow.tool.tool.json")).expect("it is there");
    foundry.hear("notifications/tools/list_changed").await;
    assert!(foundry.names().await.is_empty());
    let _open = foundry.folder.open("gate");
    let result = &foundry.answer(id).await["result"];
    assert_eq!(result["structuredContent"]["version"], 1, "{result}");
}
