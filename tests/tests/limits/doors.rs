//! Messages, calls and questions.

use std::time::Duration;

use gantry::{Eras, Link, Revision, ServerSettings};
use gantry_tests::request::{Request, call, initialize, list};
use gantry_tests::test_server::{TestServer, soon};
use serde_json::{Value, json};

use crate::test_server;

/// A connection on which a client of that revision has introduced itself.
async fn connect(test_server: &TestServer, revision: &str) -> Link {
    let mut link = test_server.link();
    ask(&mut link, &initialize(revision).body()).await;
    link
}

async fn ask(link: &mut Link, text: &str) -> Value {
    assert!(link.send(text.to_owned()).await, "the connection goes on");
    let answer = soon("an answer", link.receive()).await.expect("an answer");
    serde_json::from_slice(&answer).expect("JSON")
}

fn wait(id: u64) -> String {
    let params = json!({"name": "wait", "arguments": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn asking() -> Request {
    call("ask_name", json!({})).can(json!({"elicitation": {}}))
}

async fn asked(test_server: &TestServer) -> Value {
    asking().ask(test_server.address).await
}

#[tokio::test]
pub(crate) async fn eras() {
    let legacy =
        test_server(ServerSettings { eras: Eras::Legacy, ..ServerSettings::default() }).await;
    assert_eq!(list().send(legacy.address).await.status, 400);
    assert_eq!(initialize("2025-11-25").send(legacy.address).await.status, 200);
    let modern =
        test_server(ServerSettings { eras: Eras::Modern, ..ServerSettings::default() }).await;
    assert_eq!(list().send(modern.address).await.status, 200);
    let refused = initialize("2025-11-25").ask(modern.address).await;
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
}

#[tokio::test]
pub(crate) async fn handshake_revision() {
    let handshake_revision = Some(Revision::V2025_03_26);
    let test_server =
        test_server(ServerSettings { handshake_revision, ..ServerSettings::default() }).await;
    for offered in ["2024-11-05", "2025-11-25", "1999-12-31"] {
        let agreed = initialize(offered).ask(test_server.address).await;
        assert_eq!(agreed["result"]["protocolVersion"], "2025-03-26", "{offered}");
    }
}

#[tokio::test]
pub(crate) async fn message() {
    let mut doors = ServerSettings::default();
    doors.message.size = 1000;
    doors.message.depth = 10;
    let test_server = test_server(doors).await;
    let mut link = connect(&test_server, "2025-11-25").await;
    let ping = |inside: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{inside}}}}}"#)
    };
    let deep = |depth: usize| ping(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    let long = |length: usize| {
        let empty = ping("\"\"").len();
        ping(&format!("{:?}", "x".repeat(length - empty)))
    };
    let cases = [(long(1000), 0), (long(1001), -32700), (deep(8), 0), (deep(9), -32700)];
    for (text, code) in cases {
        let answer = ask(&mut link, &text).await;
        assert_eq!(answer["error"]["code"].as_i64().unwrap_or(0), code, "{answer}");
        let session = initialize("2025-11-25").send(test_server.address).await;
        let session = session.header("mcp-session-id").expect("an id").to_owned();
        let posted =
            gantry_tests::request::text(&text).of(&session).send(test_server.address).await;
        let expected = match (code, text.len() > 1000) {
            (0, _) => 200,
            (_, true) => 413,
            (_, false) => 400,
        };
        assert_eq!(posted.status, expected, "{} bytes over HTTP", text.len());
    }
}

#[tokio::test]
pub(crate) async fn batch() {
    let test_server = test_server(ServerSettings { batch: 3, ..ServerSettings::default() }).await;
    let mut link = connect(&test_server, "2025-03-26").await;
    let pings = |count: usize| {
        let ping = |id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        Value::from((0..count).map(ping).collect::<Vec<_>>()).to_string()
    };
    assert_eq!(ask(&mut link, &pings(3)).await.as_array().map(Vec::len), Some(3));
    assert_eq!(ask(&mut link, &pings(4)).await["error"]["code"], -32600);
    let session = initialize("2025-03-26").send(test_server.address).await;
    let session = session.header("mcp-session-id").expect("an id").to_owned();
    for (count, status) in [(3, 200), (4, 400)] {
        let posted = gantry_tests::request::text(&pings(count)).of(&session);
        assert_eq!(posted.send(test_server.address).await.status, status, "{count} over HTTP");
    }
}

#[tokio::test]
pub(crate) async fn watched() {
    let test_server = test_server(ServerSettings { watched: 2, ..ServerSettings::default() }).await;
    let mut link = connect(&test_server, "2025-11-25").await;
    let uris = ["test://items/1", "test://items/2", "test://items/1"];
    for uri in uris {
        assert_eq!(subscribe(&mut link, uri).await, None);
    }
    assert_eq!(subscribe(&mut link, "test://items/3").await, Some(-32602));
    let listen = |count: usize| {
        let uris: Vec<_> = (0..count).map(|id| format!("test://items/{id}")).collect();
        let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
        gantry_tests::request::request("subscriptions/listen", wanted)
    };
    let opened = listen(2).send(test_server.address).await.message().await.expect("a message");
    assert!(opened["error"].is_null(), "{opened}");
    let refused = listen(3).send(test_server.address).await.message().await.expect("a message");
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

/// The code of the error, if a client may not subscribe to a resource.
async fn subscribe(link: &mut Link, uri: &str) -> Option<i64> {
    let params = json!({"uri": uri});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": params});
    ask(link, &body.to_string()).await["error"]["code"].as_i64()
}

#[tokio::test]
pub(crate) async fn watched_total() {
    let test_server =
        test_server(ServerSettings { watched_total: 2, ..ServerSettings::default() }).await;
    let mut one = connect(&test_server, "2025-11-25").await;
    let mut other = connect(&test_server, "2025-11-25").await;
    assert_eq!(subscribe(&mut one, "test://items/1").await, None);
    assert_eq!(subscribe(&mut one, "test://items/1").await, None, "it counts once");
    assert_eq!(subscribe(&mut other, "test://items/1").await, None);
    assert_eq!(subscribe(&mut one, "test://items/2").await, Some(-32010));
    let params = json!({"uri": "test://items/1"});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/unsubscribe", "params": params});
    ask(&mut other, &body.to_string()).await;
    assert_eq!(subscribe(&mut one, "test://items/2").await, None, "there is room");
}

#[tokio::test]
pub(crate) async fn held() {
    let test_server = test_server(ServerSettings { held: 200, ..ServerSettings::default() }).await;
    let refused = asking().send(test_server.address).await;
    assert_eq!(refused.status, 429, "a request of more bytes does not wait for answers");
    let mut link = connect(&test_server, "2025-11-25").await;
    assert_eq!(subscribe(&mut link, "test://items/1").await, None);
    let long = format!("test://items/{}", "x".repeat(200));
    assert_eq!(subscribe(&mut link, &long).await, Some(-32010));
}

#[tokio::test]
pub(crate) async fn parked() {
    let test_server = test_server(ServerSettings { parked: 2, ..ServerSettings::default() }).await;
    full_after(&test_server, 2).await;
}

#[tokio::test]
pub(crate) async fn parked_of_principal() {
    let test_server =
        test_server(ServerSettings { parked_of_principal: 2, ..ServerSettings::default() }).await;
    full_after(&test_server, 2).await;
}

async fn full_after(test_server: &TestServer, places: usize) {
    let mut states = Vec::new();
    for _ in 0..places {
        states.push(asked(test_server).await["result"]["requestState"].clone());
    }
    let refused = asking().send(test_server.address).await;
    assert_eq!(refused.status, 429);
    assert_eq!(asked(test_server).await["error"]["code"], -32010);
    let answers = json!({"elicitation-1": {"action": "decline"}});
    let retry = asking().set("/params/requestState", states.remove(0));
    let answer = retry.set("/params/inputResponses", answers).ask(test_server.address).await;
    assert_eq!(answer["result"]["content"][0]["text"], "decline nobody", "{answer}");
    assert_eq!(asked(test_server).await["result"]["resultType"], "input_required", "there is room");
}

#[tokio::test]
pub(crate) async fn parked_for() {
    let test_server =
        test_server(ServerSettings { parked_for: Duration::ZERO, ..ServerSettings::default() })
            .await;
    let state = asked(&test_server).await["result"]["requestState"].clone();
    let answers = json!({"elicitation-1": {"action": "decline"}});
    let retry = asking().set("/params/requestState", state).set("/params/inputResponses", answers);
    let lost = retry.ask(test_server.address).await;
    assert_eq!(lost["error"]["code"], -32602, "{lost}");
}

#[tokio::test]
pub(crate) async fn unread() {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let brief = Duration::from_millis(50);
    let test_server =
        test_server(ServerSettings { unread: brief, ..ServerSettings::default() }).await;
    let link = connect(&test_server, "2025-11-25").await;
    // Nothing is received, so the answers pile up until there is no place for the next.
    while link.send(ping.clone()).await {}
}

#[tokio::test]
pub(crate) async fn linger() {
    let closed = json!({"jsonrpc": "2.0", "method": "notifications/closed"}).to_string();
    let brief = Duration::from_millis(50);
    let test_server =
        test_server(ServerSettings { linger: brief, ..ServerSettings::default() }).await;
    let mut link = connect(&test_server, "2025-11-25").await;
    assert!(link.send(wait(1)).await);
    test_server.latch.started(1).await;
    assert!(link.send(closed).await);
    test_server.latch.cancelled(1).await;
    assert_eq!(soon("the end", link.receive()).await, None);
}

#[tokio::test]
pub(crate) async fn drain() {
    let brief = Duration::from_millis(50);
    let test_server =
        test_server(ServerSettings { drain: brief, ..ServerSettings::default() }).await;
    let link = connect(&test_server, "2025-11-25").await;
    assert!(link.send(wait(1)).await);
    let request = call("wait", json!({}));
    let address = test_server.address;
    let waiting = tokio::spawn(async move { request.send(address).await.status });
    test_server.latch.started(2).await;
    test_server.close().await;
    waiting.abort();
}

#[tokio::test]
pub(crate) async fn key() {
    let doors = |key: u8| ServerSettings { key: Some([key; 32]), ..ServerSettings::default() };
    let opened = initialize("2025-11-25").send(test_server(doors(1)).await.address).await;
    let session = opened.header("mcp-session-id").expect("an id").to_owned();
    for (key, status) in [(1, 200), (2, 404)] {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let ping = gantry_tests::request::message(ping).of(&session);
        assert_eq!(ping.send(test_server(doors(key)).await.address).await.status, status);
    }
}

#[tokio::test]
pub(crate) async fn json_content() {
    let open =
        |json_content| test_server(ServerSettings { json_content, ..ServerSettings::default() });
    let block = json!({"type": "json", "json": {"sum": 3}});
    let sum = call("add", json!({"a": 1, "b": 2}));
    let answer = sum.ask(open(true).await.address).await;
    assert_eq!(answer["result"]["content"], json!([block]), "{answer}");
    let answer = sum.ask(open(false).await.address).await;
    assert_eq!(answer["result"]["content"][0]["type"], "text", "{answer}");
}
