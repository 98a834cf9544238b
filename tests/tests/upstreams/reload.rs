//! A configuration that is saved while servers work: only what has changed is touched.

use std::fs;

use gantry_tests::processes;
use gantry_tests::upstream_fixture::{Load, UpstreamFixture, scripted};
use serde_json::{Value, json};

#[tokio::test]
async fn what_did_not_change_goes_on() {
    let well = |more: Value| scripted(&["well"], more);
    let servers =
        json!({"stays": well(json!({})), "changes": well(json!({})), "goes": well(json!({}))});
    let fixture = UpstreamFixture::open("reload", servers).await;
    let mut before = Vec::new();
    for server in ["stays", "changes", "goes"] {
        fixture.until_listed(server).await;
        before.push(fixture.process(server).await.expect("it runs"));
    }
    let loads =
        ["stays_well", "changes_well"].map(|it| Load::start(fixture.address, it, &json!({})));

    // Another order, and nothing else.
    let servers = json!({"goes": well(json!({})), "changes": well(json!({})), "stays": well(json!({})),
        "added": well(json!({}))});
    fixture.configure(servers);
    fixture.until_listed("added").await;
    for (server, process) in ["stays", "changes", "goes"].iter().zip(&before) {
        assert_eq!(fixture.process(server).await, Some(*process), "{server}");
    }

    let changed = json!({"env": {"SOMETHING": "else"}});
    fixture.configure(json!({"stays": well(json!({})), "changes": well(changed)}));
    let is_new = |status: &Value| status["process"].is_u64() && status["process"] != before[1];
    fixture.until("changes", "new", is_new).await;
    processes::until("the end of those that went", || fixture.processes().len() == 2).await;
    assert_eq!(fixture.process("stays").await, Some(before[0]));
    assert_eq!(fixture.tools("goes").await.len() + fixture.tools("added").await.len(), 0);
    for load in loads {
        load.end().await;
    }
    fixture.close().await;
}

#[tokio::test]
async fn what_is_broken_changes_nothing() {
    let fixture =
        UpstreamFixture::open("broken", json!({"stays": scripted(&["well"], json!({}))})).await;
    let before = fixture.until_listed("stays").await["process"].clone();
    let load = Load::start(fixture.address, "stays_well", &json!({}));
    let texts = ["{\"mcpServers\": {", "{\"mcpServers\": {\"stays\": {\"comand\": \"x\"}}}"];
    for text in texts {
        let complaints = || fixture.log().matches("the configuration is not valid").count();
        let before_this = complaints();
        fs::write(fixture.bench.folder.join("gantry.json"), text).expect("a file");
        processes::until("a word about it", || complaints() > before_this).await;
        assert_eq!(fixture.status("stays").await["process"], before, "{text}");
    }
    load.end().await;
    fixture.close().await;
}
