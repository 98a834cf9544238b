//! Checks 62 to 65: standard input and output, and giving a call up by message.

use std::process::Stdio;

use gantry_tests::checks::{Check, story};
use gantry_tests::request::{NEWEST, call, initialize, list};
use gantry_tests::test_server::{TestServer, soon};
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

#[rustfmt::skip] // One case a line.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        story(62, "standard output has messages and nothing else", || Box::pin(only_messages())),
        story(63, "the program ends when its input does", || Box::pin(ends())),
        story(64, "nothing is said of a call that was given up", || Box::pin(given_up())),
        story(65, "giving up what is not there is passed over", || Box::pin(nothing_to_give_up())),
    ]
}

/// Runs the program on this input until it ends by itself. Gives what it wrote.
async fn run(input: String) -> String {
    #[expect(clippy::disallowed_methods, reason = "the program under test ends with its input")]
    let mut command = Command::new(env!("CARGO_BIN_EXE_fixture-server"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let mut output = String::new();
    let mut stdout = child.stdout.take().unwrap();
    soon("the end of the output", stdout.read_to_string(&mut output)).await.unwrap();
    let status = soon("the end of the program", child.wait()).await.unwrap();
    assert!(status.success(), "{status}");
    output
}

async fn only_messages() {
    let good = call("steps", json!({})).meta("logLevel", json!("debug")).body();
    let input = format!(
        "{good}\nnot json\n\n[]\n{{\"jsonrpc\":\"2.0\",\"id\":{{}}}}\n{}\n",
        list().set("/id", json!(2)).body()
    );
    let output = run(input).await;
    for line in output.lines() {
        let message: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
    assert!(output.ends_with('\n'));
    assert!(output.contains("arrived") && output.contains("keywords"), "{output}");
}

async fn ends() {
    assert_eq!(run(String::new()).await, "");
    // Half a line is no message, and no reason to stay.
    run("{\"jsonrpc\"".to_owned()).await;
}

async fn given_up() {
    let test_server = TestServer::open().await;
    let mut link = ClientTransport::open(&test_server, "link").await;
    link.send(call("wait", json!({})).set("/id", json!("w")).body()).await;
    test_server.latch.started(1).await;
    link.send(cancelled(json!({"requestId": "w", "reason": "no longer needed"}))).await;
    test_server.latch.cancelled(1).await;
    hears_only(&mut link).await;
    for revision in [NEWEST, "2025-11-25"] {
        given_up_at_once(revision).await;
    }
}

/// The client changes its mind before the call has begun.
async fn given_up_at_once(revision: &str) {
    let test_server = TestServer::open().await;
    let mut link = ClientTransport::open(&test_server, "link").await;
    link.send(initialize("2025-11-25").body()).await;
    link.receive().await.unwrap();
    let waiting = call("wait", json!({})).set("/id", json!("w"));
    let waiting = match revision {
        NEWEST => waiting,
        _ => waiting.set("/params/_meta", Value::Null),
    };
    link.send(waiting.body()).await;
    link.send(cancelled(json!({"requestId": "w"}))).await;
    hears_only(&mut link).await;
    // A call that goes on all the same would be answered now, before the connection ends.
    test_server.latch.open();
    link.send(json!({"jsonrpc": "2.0", "method": "notifications/closed"}).to_string()).await;
    assert_eq!(link.receive().await, None, "in {revision}");
}

async fn nothing_to_give_up() {
    let test_server = TestServer::open().await;
    let mut link = ClientTransport::open(&test_server, "link").await;
    link.send(call("wait", json!({})).set("/id", json!(7)).body()).await;
    test_server.latch.started(1).await;
    for params in [
        json!({"requestId": 99}),
        json!({"requestId": {}}),
        json!({}),
        json!([]),
        json!({"requestId": "7"}),
    ] {
        link.send(cancelled(params)).await;
    }
    hears_only(&mut link).await;
    assert_eq!(test_server.latch.cancels(), 0, "the call has another id");
}

fn cancelled(params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string()
}

/// The next thing said is the answer to the next request.
async fn hears_only(link: &mut ClientTransport) {
    link.send(list().set("/id", json!("next")).body()).await;
    let answer = link.receive().await.unwrap();
    assert_eq!(answer["id"], "next", "{answer}");
}
