//! When servers begin and end: late, for a while, again, or not at all.

use std::collections::BTreeSet;
use std::fs;

use gantry_tests::processes;
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{Load, UpstreamFixture, scripted};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Waits that suit a test.
fn quick() -> Value {
    json!({"first": "50ms", "atMost": "200ms"})
}

async fn who(fixture: &UpstreamFixture, server: &str) -> u32 {
    let text = fixture.call(&format!("{server}_who"), json!({})).await.expect("it answers");
    text.parse().expect("a number")
}

#[tokio::test]
async fn one_that_starts_late_is_listed_from_what_was_known() {
    let servers = json!({"late": scripted(&["well"], json!({"start": "lazy"}))});
    let fixture = UpstreamFixture::open("lazy", servers.clone()).await;
    // Nothing is known of it yet, so it is started once.
    fixture.until_listed("late").await;
    let listed = fixture.tools("late").await;
    let fixture = fixture.reopen(servers).await;
    let status = fixture.until("late", "listed", |status| status["tools"] == 4).await;
    assert_eq!((&status["state"], &status["process"]), (&json!("configured"), &Value::Null));
    fixture.until_offered("late").await;
    assert_eq!(fixture.tools("late").await, listed);
    assert_eq!(fixture.processes(), Vec::<u32>::new());
    let process = who(&fixture, "late").await;
    assert_eq!(fixture.process("late").await, Some(process));
    fixture.close().await;
}

#[tokio::test]
async fn one_that_nobody_uses_ends_and_comes_back() {
    let servers = json!({"idle": scripted(&["well"], json!({"idle": "300ms", "refresh": "50ms"}))});
    let fixture = UpstreamFixture::open("idle", servers).await;
    fixture.until("idle", "listed", |status| status["tools"] == 4).await;
    for _ in 0..2 {
        fixture.until_state("idle", "configured").await;
        processes::until("the end of the process", || fixture.processes().is_empty()).await;
        assert_eq!(fixture.tools("idle").await.len(), 4);
        who(&fixture, "idle").await;
    }
    fixture.close().await;
}

#[tokio::test]
async fn one_whose_time_is_up_is_replaced_and_no_call_fails() {
    let servers = json!({"brief": scripted(&["well"], json!({"lifetime": "500ms"}))});
    let fixture = UpstreamFixture::open("lifetime", servers).await;
    fixture.until_listed("brief").await;
    let load = Load::start(fixture.address, "brief_well", &json!({}));
    let mut seen = BTreeSet::new();
    let three = async {
        while seen.len() < 3 {
            seen.insert(who(&fixture, "brief").await);
        }
    };
    soon("a third process", three).await;
    load.end().await;
    fixture.close().await;
}

#[tokio::test]
async fn one_that_is_restarted_fails_no_call() {
    let servers = json!({
        "again": scripted(&["well"], json!({})), "other": scripted(&["well"], json!({})),
    });
    let fixture = UpstreamFixture::open("restart", servers).await;
    let [mut before, other] = [
        fixture.until_listed("again").await["process"].clone(),
        fixture.until_listed("other").await["process"].clone(),
    ];
    let loads = ["again_well", "other_well"].map(|it| Load::start(fixture.address, it, &json!({})));
    for _ in 0..3 {
        fixture.admin("POST", "/api/servers/again/restart").await;
        let is_new = |status: &Value| status["process"].is_u64() && status["process"] != before;
        before = fixture.until("again", "new", is_new).await["process"].clone();
    }
    for load in loads {
        load.end().await;
    }
    assert_eq!(fixture.status("other").await["process"], other, "it was not touched");
    processes::until("the end of the old ones", || fixture.processes().len() == 2).await;
    fixture.close().await;
}

#[tokio::test]
async fn one_that_is_disabled_is_left_alone() {
    let servers = json!({
        "off": scripted(&["well"], json!({"disabled": true})),
        "on": scripted(&["well"], json!({})),
    });
    let fixture = UpstreamFixture::open("disabled", servers).await;
    fixture.until_listed("on").await;
    let status = fixture.status("off").await;
    assert_eq!((&status["state"], &status["process"]), (&json!("disabled"), &Value::Null));
    assert_eq!(fixture.tools("off").await, Vec::<String>::new());
    assert_eq!(fixture.processes().len(), 1);
    fixture.close().await;
}

/// A server that is lost keeps its tools for a while; its calls say what is wrong.
#[tokio::test]
async fn one_that_comes_and_goes_keeps_its_tools() {
    let file = std::env::temp_dir().join(format!("gantry-flapping-{}", std::process::id()));
    let words = ["well", "--unless", file.to_str().expect("text")];
    let servers = json!({
        "flaps": scripted(&words, json!({"restart": quick()})),
        "other": scripted(&["well"], json!({})),
    });
    let fixture = UpstreamFixture::open("flapping", servers).await;
    fixture.until_listed("flaps").await;
    fixture.until_listed("other").await;
    let load = Load::start(fixture.address, "other_well", &json!({}));
    for _ in 0..2 {
        let process = fixture.process("flaps").await.expect("it runs");
        fs::write(&file, "").expect("a file");
        processes::signal(process, Signal::KILL);
        fixture.until_state("flaps", "backing off").await;
        assert_eq!(fixture.tools("flaps").await.len(), 4, "they are kept");
        let failed = fixture.call("flaps_well", json!({})).await.expect_err("it is away");
        assert!(failed.contains("`flaps`") && failed.contains("cannot be reached"), "{failed}");
        fs::remove_file(&file).expect("a file");
        let is_back = |status: &Value| status["state"] == "ready" && status["process"].is_u64();
        fixture.until("flaps", "back", is_back).await;
        assert_ne!(who(&fixture, "flaps").await, process);
    }
    load.end().await;
    fixture.close().await;
}

/// One that neither ends with its input nor when it is asked to, and that has children.
#[tokio::test]
async fn one_that_will_not_end_is_made_to() {
    let mut entry = scripted(&["well"], json!({}));
    let server = entry["command"].as_str().expect("a path").to_owned();
    let words = format!("trap '' TERM; {server} well; sleep 1000 & sleep 1000");
    (entry["command"], entry["args"]) = (json!("sh"), json!(["-c", words]));
    let fixture = UpstreamFixture::open("stubborn", json!({"stubborn": entry})).await;
    let before = fixture.until_listed("stubborn").await["process"].clone();
    let old = fixture.processes();
    fixture.admin("POST", "/api/servers/stubborn/restart").await;
    let is_new = |status: &Value| status["process"].is_u64() && status["process"] != before;
    fixture.until("stubborn", "new", is_new).await;
    let is_left = || fixture.processes().iter().any(|process| old.contains(process));
    processes::until("the end of the old ones", || !is_left()).await;
    fixture.close().await;
}

/// One that never greets delays neither a list nor the calls of another.
#[tokio::test]
async fn one_that_is_slow_delays_nothing() {
    let servers = json!({
        "mute": scripted(&["mute"], json!({"startup_timeout_ms": "60s"})),
        "fine": scripted(&["well"], json!({})),
    });
    let fixture = UpstreamFixture::open("slow", servers).await;
    fixture.until_listed("fine").await;
    assert_eq!(fixture.status("mute").await["state"], "starting");
    assert_eq!(fixture.tools("fine").await.len(), 4);
    assert_eq!(fixture.tools("mute").await.len(), 0);
    who(&fixture, "fine").await;
    assert_eq!(fixture.status("mute").await["state"], "starting", "nothing has waited for it");
    fixture.close().await;
}
