//! When servers begin and end: late, for a while, again, or not at all.

use std::collections::BTreeSet;
use std::fs;

use gantry_tests::house::soon;
use gantry_tests::processes;
use gantry_tests::yard::{Load, Yard, scripted};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Waits that suit a test.
fn quick() -> Value {
    json!({"first": "50ms", "atMost": "200ms"})
}

async fn who(yard: &Yard, server: &str) -> u32 {
    let text = yard.call(&format!("{server}_who"), json!({})).await.expect("it answers");
    text.parse().expect("a number")
}

#[tokio::test]
async fn one_that_starts_late_is_listed_from_what_was_known() {
    let servers = json!({"late": scripted(&["well"], json!({"start": "lazy"}))});
    let yard = Yard::open("lazy", servers.clone()).await;
    // Nothing is known of it yet, so it is started once.
    yard.until_listed("late").await;
    let listed = yard.tools("late").await;
    let yard = yard.reopen(servers).await;
    let status = yard.until("late", "listed", |status| status["tools"] == 4).await;
    assert_eq!((&status["state"], &status["process"]), (&json!("configured"), &Value::Null));
    yard.until_offered("late").await;
    assert_eq!(yard.tools("late").await, listed);
    assert_eq!(yard.processes(), Vec::<u32>::new());
    let process = who(&yard, "late").await;
    assert_eq!(yard.process("late").await, Some(process));
    yard.close().await;
}

#[tokio::test]
async fn one_that_nobody_uses_ends_and_comes_back() {
    let servers = json!({"idle": scripted(&["well"], json!({"idle": "300ms", "refresh": "50ms"}))});
    let yard = Yard::open("idle", servers).await;
    yard.until("idle", "listed", |status| status["tools"] == 4).await;
    for _ in 0..2 {
        yard.until_state("idle", "configured").await;
        processes::until("the end of the process", || yard.processes().is_empty()).await;
        assert_eq!(yard.tools("idle").await.len(), 4);
        who(&yard, "idle").await;
    }
    yard.close().await;
}

#[tokio::test]
async fn one_whose_time_is_up_is_replaced_and_no_call_fails() {
    let servers = json!({"brief": scripted(&["well"], json!({"lifetime": "500ms"}))});
    let yard = Yard::open("lifetime", servers).await;
    yard.until_listed("brief").await;
    let load = Load::start(yard.address, "brief_well", &json!({}));
    let mut seen = BTreeSet::new();
    let three = async {
        while seen.len() < 3 {
            seen.insert(who(&yard, "brief").await);
        }
    };
    soon("a third process", three).await;
    load.end().await;
    yard.close().await;
}

#[tokio::test]
async fn one_that_is_restarted_fails_no_call() {
    let servers = json!({
        "again": scripted(&["well"], json!({})), "other": scripted(&["well"], json!({})),
    });
    let yard = Yard::open("restart", servers).await;
    let [mut before, other] = [
        yard.until_listed("again").await["process"].clone(),
        yard.until_listed("other").await["process"].clone(),
    ];
    let loads = ["again_well", "other_well"].map(|it| Load::start(yard.address, it, &json!({})));
    for _ in 0..3 {
        yard.admin("POST", "/api/servers/again/restart").await;
        let is_new = |status: &Value| status["process"].is_u64() && status["process"] != before;
        before = yard.until("again", "new", is_new).await["process"].clone();
    }
    for load in loads {
        load.end().await;
    }
    assert_eq!(yard.status("other").await["process"], other, "it was not touched");
    processes::until("the end of the old ones", || yard.processes().len() == 2).await;
    yard.close().await;
}

#[tokio::test]
async fn one_that_is_disabled_is_left_alone() {
    let servers = json!({
        "off": scripted(&["well"], json!({"disabled": true})),
        "on": scripted(&["well"], json!({})),
    });
    let yard = Yard::open("disabled", servers).await;
    yard.until_listed("on").await;
    let status = yard.status("off").await;
    assert_eq!((&status["state"], &status["process"]), (&json!("disabled"), &Value::Null));
    assert_eq!(yard.tools("off").await, Vec::<String>::new());
    assert_eq!(yard.processes().len(), 1);
    yard.close().await;
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
    let yard = Yard::open("flapping", servers).await;
    yard.until_listed("flaps").await;
    yard.until_listed("other").await;
    let load = Load::start(yard.address, "other_well", &json!({}));
    for _ in 0..2 {
        let process = yard.process("flaps").await.expect("it runs");
        fs::write(&file, "").expect("a file");
        processes::signal(process, Signal::KILL);
        yard.until_state("flaps", "backing off").await;
        assert_eq!(yard.tools("flaps").await.len(), 4, "they are kept");
        let failed = yard.call("flaps_well", json!({})).await.expect_err("it is away");
        assert!(failed.contains("`flaps`") && failed.contains("cannot be reached"), "{failed}");
        fs::remove_file(&file).expect("a file");
        let is_back = |status: &Value| status["state"] == "ready" && status["process"].is_u64();
        yard.until("flaps", "back", is_back).await;
        assert_ne!(who(&yard, "flaps").await, process);
    }
    load.end().await;
    yard.close().await;
}

/// One that neither ends with its input nor when it is asked to, and that has children.
#[tokio::test]
async fn one_that_will_not_end_is_made_to() {
    let mut entry = scripted(&["well"], json!({}));
    let server = entry["command"].as_str().expect("a path").to_owned();
    let words = format!("trap '' TERM; {server} well; sleep 1000 & sleep 1000");
    (entry["command"], entry["args"]) = (json!("sh"), json!(["-c", words]));
    let yard = Yard::open("stubborn", json!({"stubborn": entry})).await;
    let before = yard.until_listed("stubborn").await["process"].clone();
    let old = yard.processes();
    yard.admin("POST", "/api/servers/stubborn/restart").await;
    let is_new = |status: &Value| status["process"].is_u64() && status["process"] != before;
    yard.until("stubborn", "new", is_new).await;
    let is_left = || yard.processes().iter().any(|process| old.contains(process));
    processes::until("the end of the old ones", || !is_left()).await;
    yard.close().await;
}

/// One that never greets delays neither a list nor the calls of another.
#[tokio::test]
async fn one_that_is_slow_delays_nothing() {
    let servers = json!({
        "mute": scripted(&["mute"], json!({"startup_timeout_ms": "60s"})),
        "fine": scripted(&["well"], json!({})),
    });
    let yard = Yard::open("slow", servers).await;
    yard.until_listed("fine").await;
    assert_eq!(yard.status("mute").await["state"], "starting");
    assert_eq!(yard.tools("fine").await.len(), 4);
    assert_eq!(yard.tools("mute").await.len(), 0);
    who(&yard, "fine").await;
    assert_eq!(yard.status("mute").await["state"], "starting", "nothing has waited for it");
    yard.close().await;
}
