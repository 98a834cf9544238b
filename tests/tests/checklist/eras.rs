//! Checks 126 to 129: clients with a handshake beside clients without.

use gantry::ServerSettings;
use gantry_tests::checks::{Check, story};
use gantry_tests::request::{Request, bodiless, call, initialize, list, message, text};
use gantry_tests::test_server::{TestOptions, TestServer};
use serde_json::{Value, json};

const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

#[rustfmt::skip] // One case a line.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        story(126, "clients of all revisions share one endpoint and nothing else", || Box::pin(side_by_side())),
        story(127, "sessions begin, are needed, and end", || Box::pin(sessions())),
        story(128, "who has a session may hang up, who has none gives up", || Box::pin(hanging_up())),
        story(129, "only 2025-03-26 has batches", || Box::pin(batches())),
    ]
}

/// Opens a session of that revision.
async fn session(test_server: &TestServer, revision: &str) -> String {
    let mut answer = initialize(revision).send(test_server.address).await;
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let agreed = answer.message().await.unwrap();
    assert_eq!(agreed["result"]["protocolVersion"], revision, "{agreed}");
    let ready = message(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(ready.of(&id).send(test_server.address).await.status, 202);
    id
}

fn old(id: u32, method: &str, params: Value) -> Request {
    message(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

fn old_call(tool: &str) -> Request {
    old(1, "tools/call", json!({"name": tool, "arguments": {"a": 1, "b": 2}}))
}

async fn side_by_side() {
    let test_server = TestServer::open().await;
    let mut ids = Vec::new();
    for revision in WITH_HANDSHAKE {
        ids.push(session(&test_server, revision).await);
    }
    let quiet = old(2, "logging/setLevel", json!({"level": "error"})).of(&ids[3]);
    assert_eq!(quiet.ask(test_server.address).await["result"], json!({}));
    for (revision, id) in WITH_HANDSHAKE.iter().zip(&ids) {
        let modern = call("add", json!({"a": 1, "b": 2})).ask(test_server.address).await;
        assert_eq!(modern["result"]["resultType"], "complete", "{modern}");
        let old = old_call("add").of(id).ask(test_server.address).await;
        assert_eq!(old["result"].get("resultType"), None, "{revision}: {old}");
        let structured = old["result"].get("structuredContent").is_some();
        assert_eq!(structured, *revision >= "2025-06-18", "{revision}: {old}");
        let heard = old_call("chatter").of(id).send(test_server.address).await.messages().await;
        let expected = if *revision == "2025-11-25" { 2 } else { 4 };
        assert_eq!(heard.len(), expected, "{revision}: {heard:?}");
        let heard = call("chatter", json!({})).send(test_server.address).await.messages().await;
        assert_eq!(heard.len(), 1, "without level: {heard:?}");
    }
}

async fn sessions() {
    let test_server = TestServer::open().await;
    let id = session(&test_server, "2025-11-25").await;
    let ping = || old(3, "ping", json!({}));
    let status = async |request: Request| request.send(test_server.address).await.status;
    assert_eq!(status(ping()).await, 400, "without session");
    assert_eq!(status(ping().of("made-up")).await, 404, "of an unknown session");
    assert_eq!(status(ping().of(&id[1..])).await, 404, "of a session id that was changed");
    assert_eq!(status(ping().of(&id)).await, 200);
    assert_eq!(status(ping().of(&id).header("MCP-Protocol-Version", "2025-11-25")).await, 200);
    assert_eq!(status(ping().of(&id).header("MCP-Protocol-Version", "2031-01-01")).await, 400);
    assert_eq!(
        status(message(json!({"jsonrpc": "2.0", "id": 77, "result": {}})).of(&id)).await,
        202,
        "a response"
    );
    assert_eq!(status(bodiless("GET")).await, 400, "a stream without session");
    let mut stream = bodiless("GET").of(&id).send(test_server.address).await;
    assert_eq!((stream.status, stream.is_stream()), (200, true));
    let first = stream.event().await.unwrap();
    assert!(first.id.is_some() && first.data.as_deref() == Some(""), "{first:?}");
    old_call("grow").of(&id).ask(test_server.address).await;
    assert_eq!(stream.message().await.unwrap()["method"], "notifications/tools/list_changed");
    assert_eq!(status(bodiless("DELETE").of(&id)).await, 200);
    assert_eq!(stream.message().await, None, "the stream ends with the session");
    assert_eq!(status(ping().of(&id)).await, 404, "after its end");
    assert_eq!(status(bodiless("DELETE").of(&id)).await, 404, "after its end");
}

async fn hanging_up() {
    let test_server = TestServer::open().await;
    let id = session(&test_server, "2025-11-25").await;
    let with_token = |request: Request| request.set("/params/_meta", json!({"progressToken": 1}));
    let mut old = with_token(old_call("wait")).of(&id).send(test_server.address).await;
    let token = call("wait", json!({})).set("/params/_meta/progressToken", json!(1));
    let mut new = token.send(test_server.address).await;
    let mut last_seen = None;
    while last_seen.is_none() {
        let event = old.event().await.unwrap();
        last_seen = event.data.filter(|data| !data.is_empty()).and(event.id);
    }
    new.event().await.unwrap();
    test_server.latch.started(2).await;
    drop((old, new));
    test_server.latch.cancelled(1).await;
    test_server.latch.open();
    test_server.latch.finished(1).await;
    assert_eq!(test_server.latch.cancels(), 1);
    let resumed = bodiless("GET").of(&id).header("Last-Event-ID", &last_seen.unwrap());
    let answer = resumed.send(test_server.address).await.message().await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
}

async fn batches() {
    let test_server = TestServer::open().await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/nothing"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}},
    ]);
    let batch = || text(&batch.to_string());
    for revision in WITH_HANDSHAKE {
        let id = session(&test_server, revision).await;
        let mut answer = batch().of(&id).send(test_server.address).await;
        let status = answer.status;
        let mut heard = answer.messages().await;
        if let [Value::Array(array)] = heard.as_slice() {
            heard = array.clone();
        }
        if revision == "2025-03-26" {
            let mut ids: Vec<_> =
                heard.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
            ids.sort_unstable();
            assert_eq!((status, ids), (200, vec![1, 2]), "{heard:?}");
        } else {
            assert_eq!(
                (status, &heard[0]["error"]["code"]),
                (400, &json!(-32600)),
                "{revision}: {heard:?}"
            );
        }
    }
    let modern =
        batch().header("MCP-Protocol-Version", "2026-07-28").send(test_server.address).await;
    assert_eq!(modern.status, 400);
}

/// A session opened before a restart goes on after it, if the key is the same.
pub(crate) async fn restart() {
    let keyed = |key: u8| TestOptions {
        doors: ServerSettings { key: Some([key; 32]), ..ServerSettings::default() },
        ..TestOptions::default()
    };
    let test_server = TestServer::with(keyed(1)).await;
    let id = session(&test_server, "2025-06-18").await;
    test_server.close().await;
    let again = TestServer::with(keyed(1)).await;
    let answer = old_call("add").of(&id).ask(again.address).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"sum": 3}), "{answer}");
    let other = TestServer::with(keyed(2)).await;
    assert_eq!(old_call("add").of(&id).send(other.address).await.status, 404);
    assert!(list().ask(again.address).await.get("result").is_some());
}
