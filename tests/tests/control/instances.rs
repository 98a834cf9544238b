//! Several gateways of one user, and gateways on standard input.

use gantry_tests::temp_folder::Bench;
use gantry_tests::test_server::soon;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::gateway::{Gateway, TOOL, bench, gantry};

#[tokio::test]
async fn one_of_several_is_chosen() {
    let bench = bench("several");
    let one = Gateway::start(&bench, &["--config", "gantry.json"], &[]).await;
    let two = Gateway::start(&bench, &["--config", "other.json", "--stdio"], &[]).await;
    let (first, second) = (one.pid().to_string(), two.pid().to_string());
    let cases: [(&[&str], i32, &[&str]); 8] = [
        // The configuration of this folder is the first one's.
        (&["status"], 0, &[&first]),
        (&["status", "--config", "other.json"], 0, &[&second]),
        (&["status", "--instance", &first], 0, &[]),
        (&["status", "--instance", &second], 0, &[]),
        (&["status", "--instance", "1"], 6, &["`1`", &first, &second, "other.json"]),
        (&["trust", "--instance", "1"], 6, &["`1`"]),
        (&["token", "list", "--instance", &second], 2, &["standard input only"]),
        (&["token", "list", "--instance", &first], 0, &[]),
    ];
    for (words, code, expected) in cases {
        let run = gantry(&bench, words, &[]).await;
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(expected.iter().all(|it| run.err.contains(it)), "{words:?}: {run:?}");
    }
    for words in [&["status"][..], &["logs", "x"], &["trust"], &["restart", "x"]] {
        // A configuration that is neither's decides nothing.
        let run = gantry(&bench, words, &[("GANTRY_CONFIG", "/none.json")]).await;
        assert_eq!(run.code, Some(2), "{words:?}: {run:?}");
        for id in [&first, &second] {
            assert!(run.err.contains(&format!("--instance {id}")), "{words:?}: {run:?}");
        }
    }
    two.end(Signal::TERM).await;
    let run = gantry(&bench, &["status", "--instance", &second], &[]).await;
    assert_eq!(run.code, Some(6), "{run:?}");
    assert_eq!(gantry(&bench, &["status"], &[]).await.code, Some(0));
}

/// The id of the call that waits at a gateway.
async fn waiting_at(bench: &Bench, gateway: &Gateway) -> String {
    let instance = gateway.pid().to_string();
    let waits = async {
        loop {
            let run = gantry(bench, &["approve", "--json", "--instance", &instance], &[]).await;
            let all: Value = serde_json::from_str(&run.out).expect("JSON");
            if let Some(id) = all["pending"][0]["id"].as_str() {
                return id.to_owned();
            }
        }
    };
    soon("a call that waits", waits).await
}

/// Each client may have started a gateway of its own with the same configuration, or with another.
#[tokio::test]
async fn an_approval_is_found_among_several_gateways() {
    for config in ["gantry.json", "other.json"] {
        let bench = bench(&format!("among-{config}"));
        let first = Gateway::start(&bench, &["--config", "gantry.json"], &[]).await;
        let mut second = Gateway::start(&bench, &["--config", config, "--stdio"], &[]).await;
        for (word, expected) in [("approve", false), ("deny", true)] {
            let call = json!({"name": TOOL, "arguments": {"path": word}});
            second.send("tools/call", &call).await;
            let id = waiting_at(&bench, &second).await;
            let pid = second.pid().to_string();

            let listed = gantry(&bench, &["approve"], &[]).await;
            assert!(listed.code == Some(0) && listed.out.contains(&id), "{listed:?}");
            assert!(listed.err.contains(&format!("at the gateway {pid} ")), "{listed:?}");
            let listed = gantry(&bench, &["approve", "--json"], &[]).await;
            let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
            let pending = &listed["pending"][0];
            assert_eq!((&pending["id"], &pending["instance"]), (&json!(id), &json!(pid)));
            let shown = gantry(&bench, &["approve", &id, "--show"], &[]).await;
            assert!(shown.code == Some(0) && shown.out.contains(&id), "{shown:?}");

            let elsewhere = first.pid().to_string();
            let run = gantry(&bench, &[word, &id, "--instance", &elsewhere], &[]).await;
            assert_eq!(run.code, Some(4), "it waits at another: {run:?}");
            let run = gantry(&bench, &[word, &id], &[]).await;
            assert_eq!(run.code, Some(0), "{run:?}");
            assert!(run.err.contains(&format!("asking the gateway {pid} ")), "{run:?}");
            let answer = second.receive().await;
            let is_error = answer["result"]["isError"].as_bool().unwrap_or_default();
            assert_eq!(is_error, expected, "{word}: {answer}");
            let again = gantry(&bench, &[word, &id], &[]).await;
            assert!(again.code == Some(1) && again.err.contains("waits no longer"), "{again:?}");
        }
        for words in [&["approve", "nothing"][..], &["deny", "nothing"]] {
            let run = gantry(&bench, words, &[]).await;
            assert!(run.code == Some(4) && run.err.contains("`nothing`"), "{words:?}: {run:?}");
        }
        // What has no such id needs a choice between gateways of one configuration.
        let code = if config == "gantry.json" { 2 } else { 0 };
        let run = gantry(&bench, &["tools", "pin"], &[]).await;
        assert_eq!(run.code, Some(code), "{run:?}");
        assert_eq!(run.err.contains(&format!("--instance {}", first.pid())), code == 2, "{run:?}");
    }
}

#[tokio::test]
async fn a_gateway_with_another_state_is_not_meant() {
    let bench = bench("state");
    let runtime = bench.folder.join("runtime");
    std::fs::create_dir_all(&runtime).expect("a folder");
    let runtime = [("XDG_RUNTIME_DIR", runtime.to_str().expect("text"))];
    let gateway = Gateway::start(&bench, &[], &runtime).await;
    let other = bench.folder.join("other-state");
    let other = [runtime[0], ("XDG_STATE_HOME", other.to_str().expect("text"))];
    let id = gateway.pid().to_string();
    let run = gantry(&bench, &["status"], &other).await;
    assert!(run.code == Some(6) && run.err.contains(&format!("--instance {id}")), "{run:?}");
    let run = gantry(&bench, &["status", "--instance", &id], &other).await;
    assert_eq!(run.code, Some(0), "{run:?}");
}

/// Clients start gateways with other variables than those of the user's shell.
#[tokio::test]
async fn a_gateway_of_another_environment_is_listed() {
    let bench = bench("environment");
    let text = |path: &str| bench.folder.join(path).display().to_string();
    let (home, state) = (text("home"), text("home/.local/state"));
    std::fs::create_dir_all(&state).expect("a folder");
    let gateway =
        Gateway::start(&bench, &["--stdio"], &[("HOME", &home), ("XDG_STATE_HOME", &state)]).await;
    let id = gateway.pid().to_string();
    let variables = [("HOME", &*home), ("XDG_STATE_HOME", &*text("elsewhere"))];
    let run = gantry(&bench, &["status"], &variables).await;
    assert!(run.code == Some(6) && run.err.contains(&format!("--instance {id}")), "{run:?}");
    let run = gantry(&bench, &["status", "--instance", &id], &variables).await;
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[tokio::test]
async fn a_call_over_standard_input_is_approved() {
    for (word, expected) in [("approve", false), ("deny", true)] {
        let bench = bench(&format!("stdio-{word}"));
        let mut gateway = Gateway::start(&bench, &["--stdio"], &[]).await;
        let call = json!({"name": TOOL, "arguments": {"path": "a"}});
        gateway.send("tools/call", &call).await;
        let waits = async {
            loop {
                let run = gantry(&bench, &["approve", "--json"], &[]).await;
                assert_eq!(run.code, Some(0), "{run:?}");
                let all: Value = serde_json::from_str(&run.out).expect("JSON");
                if let Some(id) = all["pending"][0]["id"].as_str() {
                    return id.to_owned();
                }
            }
        };
        let id = soon("a call that waits", waits).await;
        let run = gantry(&bench, &[word, &id], &[]).await;
        assert_eq!(run.code, Some(0), "{run:?}");
        let answer = gateway.receive().await;
        let is_error = answer["result"]["isError"].as_bool().unwrap_or_default();
        assert_eq!(is_error, expected, "{word}: {answer}");
    }
}
