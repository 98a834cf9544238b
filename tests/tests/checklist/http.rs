//! Checks 30 to 51: Streamable HTTP without sessions.

use std::time::Duration;

use gantry::{Eras, ServerSettings};
use gantry_tests::checks::{Check, story, wire};
use gantry_tests::request::{Request, bodiless, call, list, message, meta, request};
use gantry_tests::test_server::{TestOptions, TestServer};
use serde_json::{Value, json};

#[rustfmt::skip] // One case a line.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        wire(30, "an answer is JSON, or a stream when there is something to say before it", [
            list().gives(200).header("content-type", "application/json"),
            steps().gives(200).header("content-type", "text/event-stream").has("/result/content"),
            steps().replace("Accept", "application/json").gives(200).header("content-type", "application/json"),
        ]),
        wire(31, "a foreign website is kept out", [
            list().header("Origin", "https://evil.example").gives(403),
            list().header("Origin", "null").gives(403),
            list().replace("Host", "evil.example").gives(403),
            list().header("Origin", "http://localhost:3000").gives(200),
            list().gives(200),
        ]),
        wire(32, "the header MCP-Protocol-Version must be there", [list().without("MCP-Protocol-Version").fails(400, -32020)]),
        wire(33, "header and body name the same revision", [
            list().replace("MCP-Protocol-Version", "2025-11-25").fails(400, -32020),
            list().meta("protocolVersion", json!("2031-01-01")).fails(400, -32020),
        ]),
        wire(34, "Mcp-Method is there and says what the body says", [
            list().without("Mcp-Method").fails(400, -32020),
            list().replace("Mcp-Method", "tools/call").fails(400, -32020),
            list().replace("Mcp-Method", "TOOLS/LIST").fails(400, -32020),
        ]),
        wire(35, "names of headers have no case, and space around values does not count", [
            list().without("Mcp-Method").header("mCP-mETHOD", "tools/list").gives(200),
            list().replace("MCP-PROTOCOL-VERSION", "2026-07-28").gives(200),
            echo().replace("mcp-name", "   echo \t ").gives(200),
        ]),
        wire(36, "Mcp-Name is there where something is named", [
            echo().without("Mcp-Name").fails(400, -32020),
            request("prompts/get", json!({"name": "linked"})).without("Mcp-Name").fails(400, -32020),
            request("resources/read", json!({"uri": "test://static"})).without("Mcp-Name").fails(400, -32020),
        ]),
        wire(37, "Mcp-Name says what the body says, plainly or in base64", [
            echo().replace("Mcp-Name", "add").fails(400, -32020),
            echo().replace("Mcp-Name", "Echo").fails(400, -32020),
            echo().replace("Mcp-Name", "=?base64?ZWNobw==?=").gives(200),
            request("resources/read", json!({"uri": "test://static"})).replace("Mcp-Name", "=?base64?dGVzdDovL3N0YXRpYw==?=").gives(200),
        ]),
        wire(38, "broken base64 in a header is refused", [
            echo().replace("Mcp-Name", "=?base64?ZWNobw?=").fails(400, -32020),
            echo().replace("Mcp-Name", "=?base64?ZW!obw==?=").fails(400, -32020),
            region(json!({"region": "eu"})).header("Mcp-Param-Region", "=?base64?ZXU?=").fails(400, -32020),
        ]),
        wire(39, "an argument that is a header too must be in the header", [
            region(json!({"region": "eu"})).fails(400, -32020),
            region(json!({"region": "eu"})).header("Mcp-Param-Region", "us").fails(400, -32020),
            region(json!({"region": "eu"})).header("Mcp-Param-Region", "eu").gives(200),
            region(json!({"region": "größe"})).header("Mcp-Param-Region", "=?base64?Z3LDtsOfZQ==?=").gives(200),
        ]),
        wire(40, "an argument that is not there needs no header", [region(json!({})).gives(200).has("/result")]),
        wire(41, "a number in a header is compared as a number", [
            region(json!({"count": 42})).header("Mcp-Param-Count", "42.0").gives(200),
            region(json!({"count": 42})).header("Mcp-Param-Count", "43").fails(400, -32020),
        ]),
        wire(42, "a header for an argument nobody knows is passed over", [echo().header("Mcp-Param-Other", "x").gives(200)]),
        wire(43, "a method that this revision does not have is not found", [
            request("nothing/at/all", json!({})).fails(404, -32601),
            request("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}})).fails(404, -32601),
            request("ping", json!({})).fails(404, -32601),
            request("logging/setLevel", json!({"level": "info"})).fails(404, -32601),
            request("resources/subscribe", json!({"uri": "test://watched"})).fails(404, -32601),
        ]),
        wire(44, "a notification is taken without a word", [
            message(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": meta()}}))
                .header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "notifications/cancelled").gives(202).empty(),
        ]),
        wire(45, "GET and DELETE are for sessions only", [
            bodiless("GET").gives(405).to(TestOptions::eras(Eras::Modern)),
            bodiless("DELETE").gives(405).to(TestOptions::eras(Eras::Modern)),
        ]),
        wire(46, "a request that stands alone has no session", [
            list().of("no-such-session").header("Last-Event-ID", "5").gives(200).no_header("mcp-session-id").has("/result/tools"),
        ]),
        wire(47, "a stream is not to be held back by proxies", [steps().gives(200).header("x-accel-buffering", "no")]),
        story(48, "a stream ends with the answer and cannot be taken up again", || Box::pin(one_stream())),
        story(49, "who hangs up gives the call up", || Box::pin(hang_up())),
        story(50, "a stream on which nothing happens shows that it is alive", || Box::pin(alive())),
        story(51, "the server listens where other machines cannot reach it", || Box::pin(loopback())),
    ]
}

fn echo() -> Request {
    call("echo", json!({"text": "hello"}))
}

fn region(arguments: Value) -> Request {
    call("region", arguments)
}

/// A call that has something to say before its answer.
fn steps() -> Request {
    call("steps", json!({})).set("/params/_meta/progressToken", json!("p"))
}

async fn one_stream() {
    let test_server = TestServer::open().await;
    let mut answer = steps().send(test_server.address).await;
    let mut events = Vec::new();
    while let Some(event) = answer.event().await {
        assert_eq!((event.id.as_ref(), event.retry.as_ref()), (None, None), "{event:?}");
        events.extend(event.data);
    }
    let answers: Vec<_> = events.iter().map(|event| event.contains("\"result\"")).collect();
    assert_eq!(answers, [false, false, false, true], "{events:?}");
}

async fn hang_up() {
    let test_server = TestServer::open().await;
    // While it is silent, the client has not even seen a status.
    let silent = call("wait", json!({}));
    let address = test_server.address;
    let asking = tokio::spawn(async move { silent.send(address).await });
    test_server.latch.started(1).await;
    asking.abort();
    test_server.latch.cancelled(1).await;
    // When the stream has begun.
    let streaming = call("wait", json!({})).set("/params/_meta/progressToken", json!(1));
    let mut answer = streaming.send(address).await;
    answer.event().await.unwrap();
    drop(answer);
    test_server.latch.cancelled(2).await;
}

async fn alive() {
    let doors =
        ServerSettings { keep_alive: Duration::from_millis(10), ..ServerSettings::default() };
    let test_server = TestServer::with(TestOptions { doors, ..TestOptions::default() }).await;
    let listen =
        request("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut stream = listen.send(test_server.address).await;
    assert!(stream.event().await.unwrap().data.is_some(), "the acknowledgement");
    let sign = stream.event().await.unwrap();
    assert!(sign.comment.is_some() && sign.data.is_none(), "{sign:?}");
}

async fn loopback() {
    let test_server = TestServer::open().await;
    assert!(test_server.address.ip().is_loopback());
    let everywhere = test_server.server.listen("0.0.0.0:0").await;
    assert!(everywhere.is_err(), "nobody is asked who they are");
}
