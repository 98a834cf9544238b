//! What is asked about tools of a server: those that are marked, and others only where the settings say
//! so; and grants that last.

use std::fs;

use gantry_tests::request::bodiless;
use gantry_tests::temp_folder::{Bench, command, program, root};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::UpstreamFixture;
use serde_json::{Value, json};

use crate::fixture::{ApprovalFixture, TOOL, refusal, wipe};

/// A gateway before a server whose tools have these annotations.
async fn open(name: &str, policy: Value) -> (UpstreamFixture, Bench) {
    let file = Bench::new(&format!("marks-{name}"));
    let tool = |name: &str, annotations: Value| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": annotations});
    let tools = json!([
        tool("reads", json!({"readOnlyHint": true})),
        tool("changes", json!({"destructiveHint": false})),
        tool("wipes", json!({"destructiveHint": true})),
        tool("plain", json!({"readOnlyHint": false})),
        {"name": "silent", "inputSchema": {"type": "object"}},
    ]);
    fs::write(file.folder.join("offered.json"), tools.to_string()).expect("a file");
    let server = json!({"s": {"command": "python3", "args": [
        root().join("tests/tests/pins/changing.py").display().to_string(),
        file.folder.join("offered.json").display().to_string()]}});
    let mut policy = policy;
    policy["trust"] = json!("verified");
    policy["approvals"] = json!({"wait": 50});
    let fixture =
        UpstreamFixture::open_with(&format!("marks-{name}"), json!({"policy": policy}), server)
            .await;
    fixture.until_listed("s").await;
    (fixture, file)
}

async fn gantry(fixture: &UpstreamFixture, words: &[&str]) -> (Option<i32>, String) {
    let mut run = command(program());
    run.args(words).env("XDG_STATE_HOME", &fixture.bench.folder).current_dir(&fixture.bench.folder);
    let output = soon("the command", run.output()).await.expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// The tools whose calls run at once.
async fn running(fixture: &UpstreamFixture) -> Vec<&'static str> {
    let mut running = Vec::new();
    for tool in ["reads", "changes", "wipes", "plain", "silent"] {
        let outcome = fixture.call(&format!("s_{tool}"), json!({})).await;
        let waits = outcome.as_ref().err().is_some_and(|it| it.contains("nobody has approved it"));
        assert!(waits || outcome.is_ok(), "{tool}: {outcome:?}");
        running.extend((!waits).then_some(tool));
    }
    running
}

#[tokio::test]
async fn only_what_is_marked_waits_unless_the_settings_say_more() {
    const MILD: [&str; 2] = ["reads", "changes"];
    const USUAL: [&str; 4] = ["reads", "changes", "plain", "silent"];
    let cases: [(&str, Value, &[&str]); 4] = [
        ("usual", json!({}), &USUAL),
        ("marked", json!({"approve": ["destructive"]}), &USUAL),
        ("unannotated", json!({"approve": ["destructive", "unannotated"]}), &MILD),
        ("configured", json!({"destructive": ["s_silent"]}), &["reads", "changes", "plain"]),
    ];
    for (name, policy, expected) in cases {
        let (fixture, _file) = open(name, policy).await;
        assert_eq!(running(&fixture).await, expected, "{name}");
        fixture.close().await;
    }
}

#[tokio::test]
async fn the_marks_are_said_once_with_how_to_trust_the_server() {
    let (fixture, _file) = open("said", json!({})).await;
    let line = "the server `s` has 5 tools, 1 destructive (each call waits for approval), 2 without \
                annotations (each call runs without asking); `gantry trust grant server:s` lets all of \
                them run";
    assert_eq!(fixture.log().matches(line).count(), 1, "{}", fixture.log());
    let (code, said) = gantry(&fixture, &["status"]).await;
    assert!(code == Some(0) && said.matches(line).count() == 1, "{said}");
    let told = fixture.status("s").await;
    assert_eq!((&told["destructive"], &told["unannotated"]), (&json!(1), &json!(2)), "{told}");
    let (code, said) = gantry(&fixture, &["trust", "grant", "server:s"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(running(&fixture).await.len(), 5, "all of them run");
    let (_, said) = gantry(&fixture, &["status"]).await;
    assert!(!said.contains("trust grant"), "{said}");
    assert_eq!(fixture.log().matches(line).count(), 1, "{}", fixture.log());
    fixture.close().await;
}

#[tokio::test]
async fn a_tool_is_granted_for_good_at_the_command_line() {
    let fixture = ApprovalFixture::open("always", json!({})).await;
    let answers = async {
        let id = fixture.pending().await["id"].as_str().expect("a name").to_owned();
        for more in [["--for", "1h"], ["--matching", "{}"]] {
            let (code, said) =
                fixture.gantry(&["approve", &id, "--always", more[0], more[1]]).await;
            assert_eq!(code, 2, "{said}");
        }
        let (code, said) = fixture.gantry(&["approve", &id, "--always"]).await;
        assert_eq!(code, 0, "{said}");
        id
    };
    let (_, id) = fixture.during(&wipe("a"), answers).await;
    let fixture = fixture.reopen(json!({"approvals": {"wait": 50}})).await;
    for path in ["a", "b"] {
        assert_eq!(refusal(&wipe(path).ask(fixture.address).await), "", "it lasts: {path}");
    }
    let (code, said) = fixture.gantry(&["trust", "revoke", &format!("grant:{id}")]).await;
    assert_eq!((code, fixture.runs()), (0, 3), "{said}");
    assert!(refusal(&wipe("a").ask(fixture.address).await).contains("nobody has approved it"));
}

#[tokio::test]
async fn a_tool_is_granted_for_good_over_http() {
    let fixture = ApprovalFixture::open("always-http", json!({"approvals": {"wait": 2000}})).await;
    let answers = async {
        let id = fixture.pending().await["id"].clone();
        let body = json!({"decision": "approve", "scope": "always"});
        let (status, told) = fixture.answer(&id, body).await;
        assert!(status == 200 && told["grant"]["expires"].is_null(), "{told}");
    };
    fixture.during(&wipe("a"), answers).await;
    assert_eq!(refusal(&wipe("b").ask(fixture.address).await), "");
    assert_eq!((fixture.runs(), TOOL), (2, "file.wipe"));
    let mut page = bodiless("GET").to("/ui/approvals.js").send(fixture.address).await;
    assert!(page.text().await.contains("always for this tool"));
}
