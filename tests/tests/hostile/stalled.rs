//! Clients that never read while much is said to them: their own call waits or goes on without
//! them, and what is kept for them is bounded.

use std::time::Duration;

use gantry::ServerSettings;
use gantry_tests::request::{bodiless, call, message, request};
use gantry_tests::test_server::{TestOptions, TestServer};
use gantry_tests::transport::ClientTransport;
use serde_json::json;

use crate::crowd::{NOTICE, Torrent, others_are_served, session, tool_call};
use crate::websocket::WebSocket;

/// More than any system keeps in a socket.
const COUNT: usize = 4000;
/// What a queue of ours and the system's buffers may hold at the very most.
const MOST: usize = 32 * 1024 * 1024 / NOTICE;

fn hello(revision: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": revision, "capabilities": {},
        "clientInfo": {"name": "stalled", "version": "0"},
    }})
    .to_string()
}

async fn stalls(test_server: &TestServer, torrent: &Torrent, transport: &str) {
    let said = torrent.stalls().await;
    assert!(said < MOST, "{transport}: {said} notices were taken");
    others_are_served(test_server, "a client that never reads").await;
    assert_eq!(torrent.said(), said, "{transport}: nothing more is taken");
}

#[tokio::test]
async fn alone_over_http_its_call_waits() {
    let test_server = TestServer::open().await;
    let torrent = Torrent::add(&test_server, COUNT);
    let talking = call("torrent", json!({})).meta("logLevel", json!("debug"));
    let answer = talking.send(test_server.address).await;
    assert!(answer.is_stream());
    stalls(&test_server, &torrent, "alone").await;
    drop(answer);
    torrent.ends().await;
}

#[tokio::test]
async fn on_a_websocket_its_call_waits() {
    let test_server = TestServer::open().await;
    let torrent = Torrent::add(&test_server, COUNT);
    let mut socket = WebSocket::open(test_server.address).await;
    socket.send(hello("2025-11-25").as_bytes()).await;
    socket.send(tool_call(1, "torrent", &json!({})).to_string().as_bytes()).await;
    stalls(&test_server, &torrent, "WebSocket").await;
    drop(socket);
    torrent.ends().await;
}

#[tokio::test]
async fn on_http_with_sse_its_call_waits() {
    let test_server = TestServer::open().await;
    let torrent = Torrent::add(&test_server, COUNT);
    let mut transport = ClientTransport::open(&test_server, "sse").await;
    transport.send(hello("2024-11-05")).await;
    transport.send(tool_call(1, "torrent", &json!({})).to_string()).await;
    stalls(&test_server, &torrent, "HTTP+SSE").await;
    drop(transport);
    torrent.ends().await;
}

#[tokio::test]
async fn in_a_session_its_call_goes_on_and_the_end_is_kept() {
    let doors = ServerSettings { replay_events: 16, ..ServerSettings::default() };
    let test_server = TestServer::with(TestOptions { doors, ..TestOptions::default() }).await;
    let torrent = Torrent::add(&test_server, COUNT);
    let session = session(&test_server, "2025-11-25").await;
    let talking = message(tool_call(1, "torrent", &json!({}))).of(&session);
    let mut answer = talking.send(test_server.address).await;
    let first = answer.event().await.expect("a place to come back to");
    torrent.ends().await;
    assert_eq!(torrent.said(), COUNT, "the call does not wait");
    others_are_served(&test_server, "a client that never reads").await;
    drop(answer);

    let place = first.id.expect("a place");
    let back = bodiless("GET").of(&session).header("Last-Event-ID", &place);
    let kept = back.send(test_server.address).await.messages().await;
    assert!(kept.len() <= 16, "{} events were kept", kept.len());
    assert_eq!(kept.last().expect("the end")["id"], 1, "the answer is among them");
}

#[tokio::test]
async fn updates_for_a_listener_that_never_reads_do_not_pile_up() {
    let test_server = TestServer::open().await;
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://watched"]}});
    let silent = request("subscriptions/listen", wanted.clone()).send(test_server.address).await;
    let mut attentive = request("subscriptions/listen", wanted).send(test_server.address).await;
    let acknowledged = attentive.message().await.expect("an acknowledgement");
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    for _ in 0..200_000 {
        test_server.server.handlers().resource_updated("test://watched");
    }
    let update = attentive.message().await.expect("an update");
    assert_eq!(update["method"], "notifications/resources/updated");
    others_are_served(&test_server, "a listener that never reads").await;
    drop(silent);
    test_server.close().await;
}

/// A call holds a place among all calls, so a client must not be able to hold it for ever by not
/// reading.
#[tokio::test]
async fn a_client_that_reads_nothing_is_hung_up_on() {
    let doors = ServerSettings { unread: Duration::from_millis(500), ..ServerSettings::default() };
    let test_server = TestServer::with(TestOptions { doors, ..TestOptions::default() }).await;
    let torrent = Torrent::add(&test_server, COUNT);
    let talking = call("torrent", json!({})).meta("logLevel", json!("debug"));
    let answer = talking.send(test_server.address).await;
    torrent.ends().await;
    drop(answer);

    let torrent = Torrent::add_as(&test_server, "second_torrent", COUNT);
    let mut socket = WebSocket::open(test_server.address).await;
    socket.send(hello("2025-11-25").as_bytes()).await;
    socket.send(tool_call(1, "second_torrent", &json!({})).to_string().as_bytes()).await;
    torrent.ends().await;
}
