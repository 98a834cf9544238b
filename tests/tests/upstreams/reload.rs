//! A configuration that is saved while servers work: only what has changed is touched.

use std::fs;

use gantry_tests::processes;
use gantry_tests::yard::{Load, Yard, scripted};
use serde_json::{Value, json};

#[tokio::test]
async fn what_did_not_change_goes_on() {
    let well = |more: Value| scripted(&["well"], more);
    let servers =
        json!({"stays": well(json!({})), "changes": well(json!({})), "goes": well(json!({}))});
    let yard = Yard::open("reload", servers).await;
    let mut before = Vec::new();
    for server in ["stays", "changes", "goes"] {
        yard.until_listed(server).await;
        before.push(yard.process(server).await.expect("it runs"));
    }
    let loads = ["stays_well", "changes_well"].map(|it| Load::start(yard.address, it, &json!({})));

    // Another order, and nothing else.
    let servers = json!({"goes": well(json!({})), "changes": well(json!({})), "stays": well(json!({})),
        "added": well(json!({}))});
    yard.configure(servers);
    yard.until_listed("added").await;
    for (server, process) in ["stays", "changes", "goes"].iter().zip(&before) {
        assert_eq!(yard.process(server).await, Some(*process), "{server}");
    }

    let changed = json!({"env": {"SOMETHING": "else"}});
    yard.configure(json!({"stays": well(json!({})), "changes": well(changed)}));
    let is_new = |status: &Value| status["process"].is_u64() && status["process"] != before[1];
    yard.until("changes", "new", is_new).await;
    processes::until("the end of those that went", || yard.processes().len() == 2).await;
    assert_eq!(yard.process("stays").await, Some(before[0]));
    assert_eq!(yard.tools("goes").await.len() + yard.tools("added").await.len(), 0);
    for load in loads {
        load.end().await;
    }
    yard.close().await;
}

#[tokio::test]
async fn what_is_broken_changes_nothing() {
    let yard = Yard::open("broken", json!({"stays": scripted(&["well"], json!({}))})).await;
    let before = yard.until_listed("stays").await["process"].clone();
    let load = Load::start(yard.address, "stays_well", &json!({}));
    let texts = ["{\"mcpServers\": {", "{\"mcpServers\": {\"stays\": {\"comand\": \"x\"}}}"];
    for text in texts {
        let complaints = || yard.log().matches("the configuration is not valid").count();
        let before_this = complaints();
        fs::write(yard.bench.folder.join("gantry.json"), text).expect("a file");
        processes::until("a word about it", || complaints() > before_this).await;
        assert_eq!(yard.status("stays").await["process"], before, "{text}");
    }
    load.end().await;
    yard.close().await;
}
