//! Clients that never read while much is said to them: their own call waits or goes on without
//! them, and what is kept for them is bounded.

use std::time::Duration;

use gantry::DoorSettings;
use gantry_tests::door::Door;
use gantry_tests::house::{House, Plan};
use gantry_tests::request::{bodiless, call, message, request};
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

async fn stalls(house: &House, torrent: &Torrent, door: &str) {
    let said = torrent.stalls().await;
    assert!(said < MOST, "{door}: {said} notices were taken");
    others_are_served(house, "a client that never reads").await;
    assert_eq!(torrent.said(), said, "{door}: nothing more is taken");
}

#[tokio::test]
async fn alone_over_http_its_call_waits() {
    let house = House::open().await;
    let torrent = Torrent::add(&house, COUNT);
    let talking = call("torrent", json!({})).meta("logLevel", json!("debug"));
    let answer = talking.send(house.address).await;
    assert!(answer.is_stream());
    stalls(&house, &torrent, "alone").await;
    drop(answer);
    torrent.ends().await;
}

#[tokio::test]
async fn on_a_websocket_its_call_waits() {
    let house = House::open().await;
    let torrent = Torrent::add(&house, COUNT);
    let mut socket = WebSocket::open(house.address).await;
    socket.send(hello("2025-11-25").as_bytes()).await;
    socket.send(tool_call(1, "torrent", &json!({})).to_string().as_bytes()).await;
    stalls(&house, &torrent, "WebSocket").await;
    drop(socket);
    torrent.ends().await;
}

#[tokio::test]
async fn on_http_with_sse_its_call_waits() {
    let house = House::open().await;
    let torrent = Torrent::add(&house, COUNT);
    let mut door = Door::open(&house, "sse").await;
    door.send(hello("2024-11-05")).await;
    door.send(tool_call(1, "torrent", &json!({})).to_string()).await;
    stalls(&house, &torrent, "HTTP+SSE").await;
    drop(door);
    torrent.ends().await;
}

#[tokio::test]
async fn in_a_session_its_call_goes_on_and_the_end_is_kept() {
    let doors = DoorSettings { replay_events: 16, ..DoorSettings::default() };
    let house = House::with(Plan { doors, ..Plan::default() }).await;
    let torrent = Torrent::add(&house, COUNT);
    let session = session(&house, "2025-11-25").await;
    let talking = message(tool_call(1, "torrent", &json!({}))).of(&session);
    let mut answer = talking.send(house.address).await;
    let first = answer.event().await.expect("a place to come back to");
    torrent.ends().await;
    assert_eq!(torrent.said(), COUNT, "the call does not wait");
    others_are_served(&house, "a client that never reads").await;
    drop(answer);

    let place = first.id.expect("a place");
    let back = bodiless("GET").of(&session).header("Last-Event-ID", &place);
    let kept = back.send(house.address).await.messages().await;
    assert!(kept.len() <= 16, "{} events were kept", kept.len());
    assert_eq!(kept.last().expect("the end")["id"], 1, "the answer is among them");
}

#[tokio::test]
async fn updates_for_a_listener_that_never_reads_do_not_pile_up() {
    let house = House::open().await;
    let wanted = json!({"notifications": {"resourceSubscriptions": ["test://watched"]}});
    let silent = request("subscriptions/listen", wanted.clone()).send(house.address).await;
    let mut attentive = request("subscriptions/listen", wanted).send(house.address).await;
    let acknowledged = attentive.message().await.expect("an acknowledgement");
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    for _ in 0..200_000 {
        house.server.handlers().resource_updated("test://watched");
    }
    let update = attentive.message().await.expect("an update");
    assert_eq!(update["method"], "notifications/resources/updated");
    others_are_served(&house, "a listener that never reads").await;
    drop(silent);
    house.close().await;
}

/// A call holds a place among all calls, so a client must not be able to hold it for ever by not
/// reading.
#[tokio::test]
async fn a_client_that_reads_nothing_is_hung_up_on() {
    let doors = DoorSettings { unread: Duration::from_millis(500), ..DoorSettings::default() };
    let house = House::with(Plan { doors, ..Plan::default() }).await;
    let torrent = Torrent::add(&house, COUNT);
    let talking = call("torrent", json!({})).meta("logLevel", json!("debug"));
    let answer = talking.send(house.address).await;
    torrent.ends().await;
    drop(answer);

    let torrent = Torrent::add_as(&house, "second_torrent", COUNT);
    let mut socket = WebSocket::open(house.address).await;
    socket.send(hello("2025-11-25").as_bytes()).await;
    socket.send(tool_call(1, "second_torrent", &json!({})).to_string().as_bytes()).await;
    torrent.ends().await;
}
