//! What an authenticated caller can make the gateway hold: bytes of calls in flight, of messages
//! that never end, and connections.

use std::time::Duration;

use gantry_tests::processes::memory;
use gantry_tests::request::call;
use gantry_tests::upstream_fixture::scripted;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::gateway::Gateway;

const CALLERS: usize = 40;
const SIZE: usize = 3 << 20;
/// Kilobytes by which the gateway may grow while a caller that may have 16 MiB sends 120.
const GROWTH: u64 = 96 << 10;
/// How long to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A connection on which these bytes were sent, with the token of the first start.
async fn opened(gateway: &Gateway, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).await.expect("it listens");
    let token = gateway.token();
    let head = format!("{head}Host: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("it reads");
    stream
}

/// The first bytes of the next answer; none if there is none.
async fn status(stream: &mut TcpStream) -> Option<String> {
    let mut answer = [0; 12];
    let read = timeout(TIMEOUT, stream.read_exact(&mut answer)).await.ok()?;
    read.ok().map(|_| String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test]
async fn arguments_of_calls_in_flight_are_counted() {
    let hanging = scripted(&["silent"], json!({}));
    let config = json!({
        "mcpServers": {"slow": hanging}, "http": {"receivingPerCaller": "16MiB"},
        "policy": {"approve": []}
    });
    let gateway = Gateway::start("in-flight", config, ":").await;
    gateway.until_listed("slow_odd").await;
    let before = memory(gateway.id(), "VmRSS");
    let mut calls = JoinSet::new();
    for _ in 0..CALLERS {
        let request = gateway.authorized(call("slow_odd", json!({"text": "x".repeat(SIZE)})));
        let address = gateway.address;
        calls.spawn(async move { request.send(address).await });
    }
    // Those that are accepted wait for the server; the others are refused at once.
    let mut refused = 0;
    while refused < CALLERS - 5 {
        let status = timeout(TIMEOUT, calls.join_next()).await.expect("a refusal is prompt");
        let answer = status.expect("some are left").expect("no panic");
        assert_eq!(answer.status, 503, "{answer:?}");
        refused += 1;
    }
    let grown = memory(gateway.id(), "VmRSS").saturating_sub(before);
    assert!(grown < GROWTH, "the gateway grew by {grown} kB");
    calls.shutdown().await;
    // What ended gives back what it held.
    let small = gateway.authorized(call("slow_odd", json!({"text": "x".repeat(SIZE)})));
    let asked = timeout(Duration::from_millis(500), small.send(gateway.address)).await;
    assert!(asked.is_err(), "it is accepted, and the server does not answer");
}

#[tokio::test]
async fn messages_of_a_websocket_that_never_end_are_counted_and_timed() {
    let config = json!({"http": {
        "receivingPerCaller": "16MiB", "bodyTimeout": "2s", "rateGrace": "1s"
    }});
    let gateway = Gateway::start("frames", config, ":").await;
    let before = memory(gateway.id(), "VmRSS");
    let upgrade = "GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut frame = vec![0x01, 0x80 | 127];
    frame.extend((SIZE as u64).to_be_bytes());
    frame.extend(vec![0; 4 + SIZE]);
    let mut open = Vec::new();
    for _ in 0..CALLERS {
        let mut stream = opened(&gateway, upgrade).await;
        assert_eq!(status(&mut stream).await.as_deref(), Some("HTTP/1.1 101"));
        // Beyond the budget the gateway hangs up in the middle.
        let _ = stream.write_all(&frame).await;
        open.push(stream);
    }
    let grown = memory(gateway.id(), "VmRSS").saturating_sub(before);
    assert!(grown < GROWTH, "the gateway grew by {grown} kB");
    // None is complete, so each is closed when its time is over.
    for stream in &mut open {
        let mut rest = Vec::new();
        let end = timeout(TIMEOUT, stream.read_to_end(&mut rest)).await;
        end.expect("the gateway closes it").ok();
    }
    gateway.soft_limit_of_a_child().await;
}

#[tokio::test]
async fn idle_connections_of_one_caller_keep_nobody_out() {
    let config = json!({"http": {"connectionsPerPeer": 60, "connections": 100}});
    let gateway = Gateway::start("keep-alive", config, ":").await;
    let mut open = Vec::new();
    for _ in 0..80 {
        let mut stream = opened(&gateway, "GET /metrics HTTP/1.1\r\n").await;
        // Until the first bytes are there it is in use, and makes room for nobody.
        assert_eq!(status(&mut stream).await.as_deref(), Some("HTTP/1.1 200"));
        open.push(stream);
    }
    for _ in 0..3 {
        assert_eq!(gateway.get("/healthz").await.status, 200);
        gateway.soft_limit_of_a_child().await;
    }
}
