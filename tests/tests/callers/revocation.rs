//! What ends when a token is taken away, or its time is over.

use std::time::{Duration, SystemTime};

use gantry::{Failure, Tool};
use gantry_tests::http::Answer;
use gantry_tests::request::{Request, bodiless, call, initialize, message, request};
use serde_json::{Value, json};

use crate::{Guarded, by};

/// Opens everything that stays open, as the holder of a token.
async fn open(guarded: &Guarded, token: &str) -> (String, Vec<(&'static str, Answer)>) {
    let address = guarded.test_server.address;
    let opened = by(token, initialize("2025-11-25")).send(address).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let socket = bodiless("GET").to("/ws").header("Connection", "Upgrade");
    let socket = socket.header("Upgrade", "websocket").header("Sec-WebSocket-Version", "13");
    let ways = [
        ("the stream of a session", bodiless("GET").of(&session)),
        ("a listener", request("subscriptions/listen", listen)),
        ("HTTP+SSE", bodiless("GET").to("/sse")),
        ("a WebSocket", socket.header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")),
    ];
    let mut streams = Vec::new();
    for (way, request) in ways {
        let answer = by(token, request).send(address).await;
        let expected = if way == "a WebSocket" { 101 } else { 200 };
        assert_eq!(answer.status, expected, "{way}");
        streams.push((way, answer));
    }
    (session, streams)
}

/// Reads each stream to its end, which must come.
async fn all_end(streams: Vec<(&'static str, Answer)>) {
    for (_, mut stream) in streams {
        while stream.event().await.is_some() {}
    }
}

fn echo() -> Request {
    call("echo", json!({"text": "hi"}))
}

#[tokio::test]
async fn a_revoked_token_ends_what_it_has_opened() {
    let guarded = Guarded::open().await;
    let address = guarded.test_server.address;
    let (ada, bob) = (guarded.token("ada").await, guarded.token("bob").await);
    let (session, streams) = open(&guarded, &ada).await;
    let asking = call("ask_name", json!({})).can(json!({"elicitation": {}}));
    let asked = by(&ada, asking.clone()).ask(address).await;
    let others = by(&bob, bodiless("GET").to("/sse"));
    let mut others = others.send(address).await;
    let endpoint = others.event().await.and_then(|event| event.data).expect("an endpoint");
    guarded.tokens.revoke("ada").await.expect("it is there");
    all_end(streams).await;
    let ping = message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let retry = asking.set("/params/requestState", asked["result"]["requestState"].clone());
    for request in [echo(), ping.of(&session), bodiless("GET").of(&session), retry] {
        let mut answer = by(&ada, request).send(address).await;
        assert_eq!(answer.status, 401);
        let told = answer.text().await;
        assert!(told.contains("was revoked"), "{told}");
    }
    let posted = by(&bob, initialize("2024-11-05").to(&endpoint)).send(address).await;
    assert_eq!(posted.status, 202, "nobody else notices");
    assert!(others.message().await.is_some(), "nobody else notices");
}

#[tokio::test]
async fn a_token_whose_time_is_over_ends_what_it_has_opened() {
    let guarded = Guarded::open().await;
    let soon = SystemTime::now() + Duration::from_secs(3);
    let ada = guarded.token_until("ada", Some(soon)).await;
    let (_, streams) = open(&guarded, &ada).await;
    all_end(streams).await;
    let mut answer = by(&ada, echo()).send(guarded.test_server.address).await;
    assert_eq!(answer.status, 401);
    assert!(answer.text().await.contains("has expired"));
}

#[tokio::test]
async fn who_gets_a_name_again_does_not_get_more_than_the_token_gives() {
    let guarded = Guarded::open().await;
    let address = guarded.test_server.address;
    let wide = guarded.token("ada").await;
    let opened = by(&wide, initialize("2025-11-25")).send(address).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let ping = message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).of(&session);
    assert_eq!(by(&wide, ping.clone()).send(address).await.status, 200);
    guarded.tokens.revoke("ada").await.expect("it is there");
    let narrow = guarded.tokens.create("ada", Some(vec!["echo".to_owned()]), None).await;
    let narrow = narrow.expect("the name is free").0;
    assert_eq!(by(narrow.expose(), ping).send(address).await.status, 404);
}

/// Calls without a session that are neither streams nor set aside: their connection waits for them.
#[tokio::test]
async fn calls_that_wait_end_with_their_token() {
    let guarded = Guarded::open().await;
    let (address, latch) = (guarded.test_server.address, guarded.test_server.latch.clone());
    let at_gate = latch.clone();
    let wait = Tool::new("test.wait", "Waits.").input_schema(json!({"type": "object"}));
    let wait = wait.run(move |_: Value, _| {
        let latch = at_gate.clone();
        async move {
            latch.pass().await;
            Ok::<_, Failure>("done")
        }
    });
    guarded.test_server.server.handlers().add_tool(wait).expect("the name is free");
    let (ada, bob) = (guarded.token("ada").await, guarded.token("bob").await);
    let alone = call("test.wait", json!({}));
    let plan = json!({"calls": [{"id": "a", "name": "test.wait"}]});
    let contract = message(json!({"tool_name": "test.wait", "arguments": {}})).to("/call");
    let requests = [
        by(&bob, alone.clone()),
        by(&ada, alone.clone()),
        by(&ada, alone.replace("Accept", "application/json")),
        by(&ada, request("gantry/batch", plan)),
        by(&ada, contract),
    ];
    let answers = requests.map(|request| {
        tokio::spawn(async move {
            let mut answer = request.send(address).await;
            (answer.status, answer.text().await)
        })
    });
    latch.started(5).await;
    guarded.tokens.revoke("ada").await.expect("it is there");
    latch.cancelled(4).await;
    latch.open();
    for (number, answer) in answers.into_iter().enumerate() {
        let (status, told) = answer.await.expect("no panic");
        let expected = if number == 0 { 200 } else { 401 };
        assert_eq!(status, expected, "request {number}: {told}");
    }
    assert_eq!(latch.cancels(), 4, "nobody else notices");
}
