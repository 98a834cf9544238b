//! One client on standard input and output.

use gantry_tests::request::call;
use rustix::process::Signal;
use serde_json::json;

use crate::program::{Program, state};

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    "\n",
);
const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":\"alive\",\"method\":\"ping\"}\n";
const COUNTDOWN: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","#,
    r#""params":{"name":"countdown","arguments":{"from":2}}}"#,
    "\n",
);

async fn start(name: &str) -> Program {
    let mut program = Program::start(&state(name), &["serve", "--stdio"]);
    program.write(HELLO).await;
    let answer = program.receive().await.expect("an answer");
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    program
}

async fn ends_well(program: Program) {
    let end = program.end().await;
    assert_eq!(end.code, Some(0), "{}", end.log);
}

#[tokio::test]
async fn the_end_of_input_is_the_end() {
    let mut program = start("eof").await;
    program.end_input();
    assert_eq!(program.receive().await, None);
    ends_well(program).await;
}

#[tokio::test]
async fn a_client_that_says_it_is_done_is_done() {
    let mut program = start("closed").await;
    program.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/closed\"}\n").await;
    assert_eq!(program.receive().await, None, "although its input is open");
    ends_well(program).await;
}

#[tokio::test]
async fn a_signal_is_the_end_although_input_is_open() {
    let program = start("signal").await;
    program.signal(Signal::TERM);
    ends_well(program).await;
}

#[tokio::test]
async fn calls_under_way_are_answered_first() {
    for signal in [None, Some(Signal::TERM)] {
        let mut program = start("under-way").await;
        // Requests are taken in order, so the call has begun when the ping is answered.
        program.write(COUNTDOWN).await;
        program.write(PING).await;
        assert_eq!(program.receive().await.expect("an answer")["id"], "alive");
        match signal {
            Some(signal) => program.signal(signal),
            None => program.end_input(),
        }
        let answer = program.receive().await.expect("the call is answered");
        assert_eq!(answer["result"]["content"][0]["text"], "liftoff", "{answer}");
        assert_eq!(program.receive().await, None);
        ends_well(program).await;
    }
}

#[tokio::test]
async fn lines_that_are_bad_half_or_too_long() {
    let mut program = start("lines").await;
    program.write("\n\r\n  \nnot json\n").await;
    assert_eq!(program.receive().await.expect("an answer")["error"]["code"], -32700);
    program.write(&format!("{{\"jsonrpc\":\"{}\"}}\n", "x".repeat(5 << 20))).await;
    assert_eq!(program.receive().await.expect("an answer")["error"]["code"], -32700);
    program.write(PING).await;
    assert_eq!(program.receive().await.expect("an answer")["id"], "alive");
    let (one, other) = PING.split_at(20);
    program.write(one).await;
    program.write(other).await;
    assert_eq!(program.receive().await.expect("an answer")["id"], "alive");
    // The last line lacks its end.
    program.write(PING.trim_end()).await;
    program.end_input();
    assert_eq!(program.receive().await.expect("an answer")["id"], "alive");
    assert_eq!(program.receive().await, None);
    ends_well(program).await;
}

#[tokio::test]
async fn a_client_that_closes_its_ear_ends_it() {
    let mut program = start("deaf").await;
    program.end_output();
    program.write(PING).await;
    let end = program.end().await;
    assert!(matches!(end.code, Some(0 | 1)), "{end:?}");
}

/// A program whose answers fill the pipe, so that it reads no further.
async fn unread(name: &str) -> Program {
    let mut program = start(name).await;
    let many = PING.repeat(1000);
    let patience = std::time::Duration::from_millis(500);
    let mut written = 0;
    while tokio::time::timeout(patience, program.write(&many)).await.is_ok() {
        written += many.len();
        assert!(written < 64 << 20, "what is not read must not pile up");
    }
    program
}

#[tokio::test]
async fn a_client_that_never_reads_cannot_hold_up_a_signal() {
    let program = unread("unread-signal").await;
    program.signal(Signal::TERM);
    let end = program.end().await;
    assert!(end.code.is_some(), "it ends by itself: {end:?}");
}

#[tokio::test]
async fn a_client_that_never_reads_cannot_hold_up_the_end_of_input() {
    let mut program = unread("unread-eof").await;
    program.end_input();
    let end = program.end().await;
    assert!(end.code.is_some(), "it ends by itself: {end:?}");
}

#[tokio::test]
async fn beside_http() {
    let arguments = ["serve", "--stdio", "--listen", "127.0.0.1:0"];
    let mut program = Program::start(&state("both"), &arguments);
    let address = program.address().await;
    program.write(HELLO).await;
    program.receive().await.expect("an answer");
    let answer = call("echo", json!({"text": "over HTTP"})).ask(address).await;
    assert_eq!(answer["result"]["content"][0]["text"], "over HTTP");
    program.write(PING).await;
    assert_eq!(program.receive().await.expect("an answer")["id"], "alive");
    program.end_input();
    assert_eq!(program.receive().await, None, "only messages were on standard output");
    ends_well(program).await;
}
