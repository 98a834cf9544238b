//! Clients that send more than they may.

use gantry::{Link, ServerSettings};
use gantry_tests::request::meta;
use gantry_tests::test_server::{TestOptions, TestServer, soon};
use serde_json::{Value, json};

use crate::crowd::{others_are_served, tool_call};
use crate::websocket::WebSocket;

const LIMIT: usize = 4;

async fn test_server() -> TestServer {
    let doors = ServerSettings { calls_of_connection: LIMIT, ..ServerSettings::default() };
    TestServer::with(TestOptions { doors, ..TestOptions::default() }).await
}

async fn connect(test_server: &TestServer, revision: &str) -> Link {
    let mut link = test_server.link();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": revision, "capabilities": {},
        "clientInfo": {"name": "flood", "version": "0"},
    }});
    assert!(link.send(hello.to_string()).await);
    link.receive().await.expect("an answer");
    link
}

async fn receive(link: &mut Link) -> Value {
    let text = soon("an answer", link.receive()).await.expect("the connection goes on");
    serde_json::from_slice(&text).expect("JSON")
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_and_hold_up_nobody() {
    for alone in [false, true] {
        let test_server = test_server().await;
        let mut link = connect(&test_server, "2025-11-25").await;
        for id in 1..=LIMIT as u64 + 3 {
            let mut call = tool_call(id, "wait", &json!({}));
            if alone {
                call["params"]["_meta"] = meta();
            }
            assert!(link.send(call.to_string()).await);
        }
        test_server.latch.started(LIMIT).await;
        assert_eq!(test_server.latch.starts(), LIMIT);
        others_are_served(&test_server, "a flood of calls").await;
        test_server.latch.open();
        for _ in 0..LIMIT + 3 {
            let answer = receive(&mut link).await;
            assert!(answer["result"].is_object(), "it has its turn: {answer}");
        }
        assert!(link.send(tool_call(99, "wait", &json!({})).to_string()).await);
        assert!(receive(&mut link).await["result"].is_object(), "there is room again");
    }
}

#[tokio::test]
async fn a_batch_is_no_way_around_the_limit() {
    let test_server = test_server().await;
    let mut link = connect(&test_server, "2025-03-26").await;
    let calls: Vec<_> = (1..=20).map(|id| tool_call(id, "wait", &json!({}))).collect();
    assert!(link.send(Value::from(calls).to_string()).await);
    assert!(link.send(tool_call(99, "wait", &json!({})).to_string()).await);
    test_server.latch.started(LIMIT).await;
    others_are_served(&test_server, "a large batch").await;
    assert!(
        test_server.latch.starts() <= LIMIT,
        "{} calls run at once",
        test_server.latch.starts()
    );
    test_server.latch.open();
    let answers = loop {
        let answer = receive(&mut link).await;
        if answer.is_array() {
            break answer;
        }
    };
    assert_eq!(answers.as_array().map(Vec::len), Some(20), "each has its answer");
}

#[tokio::test]
async fn an_id_in_use_is_not_taken_twice() {
    for alone in [false, true] {
        let test_server = test_server().await;
        let mut link = connect(&test_server, "2025-11-25").await;
        let mut call = tool_call(7, "wait", &json!({}));
        if alone {
            call["params"]["_meta"] = meta();
        }
        assert!(link.send(call.to_string()).await && link.send(call.to_string()).await);
        assert_eq!(receive(&mut link).await["error"]["code"], -32600);
        test_server.latch.open();
        assert!(receive(&mut link).await["result"].is_object(), "the first is answered");
        assert_eq!(test_server.latch.starts(), 1);
    }
}

#[tokio::test]
async fn thousands_of_requests_without_a_pause() {
    const COUNT: u64 = 5000;
    let test_server = test_server().await;
    let mut socket = WebSocket::open(test_server.address).await;
    let pings = (1..=COUNT).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    socket.send_all(pings.map(|ping| ping.to_string())).await;
    for id in 1..=COUNT {
        assert_eq!(socket.receive().await.expect("the connection goes on")["id"], id);
    }
    others_are_served(&test_server, "thousands of requests").await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_read_no_further() {
    let test_server = test_server().await;
    let link = connect(&test_server, "2025-11-25").await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let mut taken = 0;
    let patience = std::time::Duration::from_millis(300);
    while tokio::time::timeout(patience, link.send(ping.clone())).await.is_ok() {
        taken += 1;
        assert!(taken < 10_000, "its answers must not pile up");
    }
    others_are_served(&test_server, "a client that never reads").await;
    drop(link);
    test_server.close().await;
}

#[tokio::test]
async fn listeners_of_one_connection_do_not_take_every_stream() {
    let doors = ServerSettings { streams: 100, streams_of_session: 4, ..ServerSettings::default() };
    let test_server = TestServer::with(TestOptions { doors, ..TestOptions::default() }).await;
    let mut link = test_server.link();
    let mut refused = 0;
    for id in 0..50 {
        let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta()});
        let listen =
            json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params});
        assert!(link.send(listen.to_string()).await);
        refused += usize::from(receive(&mut link).await["error"]["code"] == -32010);
    }
    assert_eq!(refused, 46, "one client has the streams of one client");
}
