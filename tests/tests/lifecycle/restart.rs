//! A session opened before a restart goes on after it.

use std::os::unix::fs::PermissionsExt;

use gantry_tests::request::{bodiless, initialize, message};
use serde_json::{Value, json};

use crate::program::{Program, state};

fn echo(session: &str) -> gantry_tests::request::Request {
    let params = json!({"name": "echo", "arguments": {"text": "hello"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    message(call).of(session)
}

fn text(answer: &Value) -> &Value {
    &answer["result"]["content"][0]["text"]
}

#[tokio::test]
async fn sessions_outlive_the_process() {
    let home = state("restart");
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let (program, address) = Program::serve(&home).await;
        let answer = initialize(revision).send(address).await;
        let session = answer.header("mcp-session-id").expect("an id").to_owned();
        assert_eq!(text(&echo(&session).ask(address).await), "hello");
        program.stop().await;

        let (program, address) = Program::serve(&home).await;
        let answer = echo(&session).ask(address).await;
        assert_eq!(text(&answer), "hello", "{revision}: the session goes on: {answer}");
        let stream = bodiless("GET").of(&session).send(address).await;
        assert_eq!(stream.status, 200, "{revision}: so do its streams");
        drop(stream);
        let mut tampered = session.clone().into_bytes();
        tampered[40] = if tampered[40] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(tampered).expect("text");
        assert_eq!(echo(&tampered).send(address).await.status, 404, "{revision}: tampered");
        program.stop().await;

        let (program, address) = Program::serve(&state("elsewhere")).await;
        assert_eq!(echo(&session).send(address).await.status, 404, "{revision}: another key");
        program.stop().await;
    }
}

#[tokio::test]
async fn the_key_is_for_its_owner_only() {
    let home = state("key");
    let (program, _) = Program::serve(&home).await;
    program.stop().await;
    let mode = |path: &str| {
        let file = std::fs::metadata(home.join(path)).expect("it was made");
        file.permissions().mode() & 0o777
    };
    assert_eq!((mode("gantry"), mode("gantry/key")), (0o700, 0o600));
}

#[tokio::test]
async fn a_killed_process_leaves_a_state_that_the_next_can_use() {
    let home = state("killed");
    let (program, address) = Program::serve(&home).await;
    let answer = initialize("2025-11-25").send(address).await;
    let session = answer.header("mcp-session-id").expect("an id").to_owned();
    program.signal(rustix::process::Signal::KILL);
    assert_eq!(program.end().await.code, None);
    let (program, address) = Program::serve(&home).await;
    assert_eq!(text(&echo(&session).ask(address).await), "hello");
    program.stop().await;
}
