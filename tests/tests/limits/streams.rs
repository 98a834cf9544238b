//! Sessions, and streams that clients leave and come back to.

use std::time::Duration;

use gantry::{Failure, Level, ServerSettings, Tool, ToolResult};
use gantry_tests::http::Answer;
use gantry_tests::request::{bodiless, call, initialize, message, request};
use gantry_tests::test_server::TestServer;
use serde_json::{Value, json};

use crate::test_server;

async fn session(test_server: &TestServer) -> String {
    let opened = initialize("2025-11-25").send(test_server.address).await;
    opened.header("mcp-session-id").expect("an id").to_owned()
}

/// A call that has begun to answer with a stream.
async fn talking(test_server: &TestServer, session: &str, id: u64, tool: &str) -> Answer {
    let meta = json!({"progressToken": "t"});
    let params = json!({"name": tool, "arguments": {}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    message(body).of(session).send(test_server.address).await
}

#[tokio::test]
pub(crate) async fn sessions() {
    let test_server =
        test_server(ServerSettings { sessions: 1, ..ServerSettings::default() }).await;
    let (busy, other) = (session(&test_server).await, session(&test_server).await);
    let call = talking(&test_server, &busy, 1, "wait").await;
    test_server.latch.started(1).await;
    let ping = || message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(ping().of(&other).send(test_server.address).await.status, 503, "no room beside it");
    assert_eq!(ping().of(&busy).send(test_server.address).await.status, 200);
    drop(call);
}

#[tokio::test]
pub(crate) async fn streams() {
    let test_server = test_server(ServerSettings { streams: 2, ..ServerSettings::default() }).await;
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let listen =
        async || request("subscriptions/listen", wanted.clone()).send(test_server.address).await;
    let (first, _second) = (listen().await, listen().await);
    assert_eq!(listen().await.status, 429);
    let session = session(&test_server).await;
    assert_eq!(bodiless("GET").of(&session).send(test_server.address).await.status, 429);
    drop(first);
    // The server hears of it in its own time.
    let again = async {
        while listen().await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    gantry_tests::test_server::soon("a free place", again).await;
}

#[tokio::test]
pub(crate) async fn streams_of_session() {
    let test_server =
        test_server(ServerSettings { streams_of_session: 2, ..ServerSettings::default() }).await;
    let session_id = session(&test_server).await;
    let _one = talking(&test_server, &session_id, 1, "wait").await;
    let _two = talking(&test_server, &session_id, 2, "wait").await;
    test_server.latch.started(2).await;
    let other = session(&test_server).await;
    assert!(talking(&test_server, &other, 1, "wait").await.is_stream(), "others have their own");
    let mut third = talking(&test_server, &session_id, 3, "steps").await;
    assert!(!third.is_stream(), "without a stream there is the answer alone");
    assert_eq!(third.message().await.expect("the answer")["id"], 3);
}

#[tokio::test]
async fn a_call_that_has_begun_is_not_refused_for_want_of_a_stream() {
    let test_server = test_server(ServerSettings { streams: 1, ..ServerSettings::default() }).await;
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let _only = request("subscriptions/listen", wanted).send(test_server.address).await;
    let session = session(&test_server).await;
    let alone = call("steps", json!({})).set("/params/_meta/progressToken", json!("t"));
    let answers = [
        ("in a session", talking(&test_server, &session, 1, "steps").await),
        ("alone", alone.send(test_server.address).await),
    ];
    for (what, mut answer) in answers {
        let message = answer.message().await.expect("an answer");
        assert_eq!(answer.status, 200, "{what}: its work is done or half done: {message}");
        assert_eq!(message["result"]["content"][0]["text"], "arrived", "{what}: {message}");
    }
}

/// A stream of ten events of a hundred bytes and the answer, left after its first event and taken
/// up when all was said. Gives how many events were kept.
async fn kept(doors: ServerSettings) -> usize {
    let test_server = test_server(doors).await;
    let latch = test_server.latch.clone();
    let talk = Tool::new("talk", "Talks.").input_schema(json!({"type": "object"}));
    let talk = talk.run(move |_: Value, context| {
        let latch = latch.clone();
        async move {
            context.log(Level::Info, "first").await;
            latch.pass().await;
            for _ in 0..10 {
                context.log(Level::Info, "x".repeat(100)).await;
            }
            Ok::<_, Failure>(ToolResult::text("done"))
        }
    });
    test_server.server.handlers().add_tool(talk).expect("the name is free");
    let session = session(&test_server).await;
    let mut answer = talking(&test_server, &session, 1, "talk").await;
    let first = answer.event().await.expect("a place to come back to");
    drop(answer);
    test_server.latch.open();
    test_server.latch.finished(1).await;
    let back = bodiless("GET").of(&session).header("Last-Event-ID", &first.id.expect("a place"));
    let messages = back.send(test_server.address).await.messages().await;
    assert_eq!(messages.last().expect("the answer")["id"], 1, "the answer is kept");
    messages.len()
}

#[tokio::test]
pub(crate) async fn replay_events() {
    assert_eq!(kept(ServerSettings { replay_events: 4, ..ServerSettings::default() }).await, 4);
    assert_eq!(kept(ServerSettings::default()).await, 12, "all of it when there is room");
}

#[tokio::test]
pub(crate) async fn replay_bytes() {
    let kept = kept(ServerSettings { replay_bytes: 700, ..ServerSettings::default() }).await;
    assert!((2..6).contains(&kept), "{kept} events were kept");
}

#[tokio::test]
pub(crate) async fn replay_total() {
    let kept = kept(ServerSettings { replay_total: 700, ..ServerSettings::default() }).await;
    assert!((2..6).contains(&kept), "{kept} events were kept");
}

#[tokio::test]
pub(crate) async fn retry() {
    let retry = Duration::from_millis(1234);
    let test_server = test_server(ServerSettings { retry, ..ServerSettings::default() }).await;
    let session = session(&test_server).await;
    let mut stream = bodiless("GET").of(&session).send(test_server.address).await;
    let first = stream.event().await.expect("a priming event");
    assert_eq!(first.retry.as_deref(), Some("1234"));
}

#[tokio::test]
pub(crate) async fn keep_alive() {
    let keep_alive = Duration::from_millis(50);
    let test_server = test_server(ServerSettings { keep_alive, ..ServerSettings::default() }).await;
    let session = session(&test_server).await;
    let mut stream = bodiless("GET").of(&session).send(test_server.address).await;
    stream.event().await.expect("a priming event");
    let silence = stream.event().await.expect("a sign of life");
    assert!(silence.comment.is_some(), "{silence:?}");
    // A call that is silent for so long is answered with a stream.
    let params = json!({"name": "wait", "arguments": {}});
    let quiet = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut answer = message(quiet).of(&session).send(test_server.address).await;
    assert!(answer.is_stream());
    test_server.latch.open();
    assert_eq!(answer.message().await.expect("the answer")["id"], 1);
}
