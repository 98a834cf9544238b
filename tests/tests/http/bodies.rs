//! Bodies of requests that nobody has authenticated: none is kept.

use std::net::SocketAddr;
use std::time::Duration;

use gantry_tests::processes::memory;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::gateway::Gateway;

const CONNECTIONS: usize = 400;
const BODY: usize = 4 << 20;
/// How long to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Kilobytes by which the gateway may grow meanwhile.
const GROWTH: u64 = 64 << 10;

/// A line of a request, and the status that a body without a token gets there.
const REQUESTS: [(&str, u16); 14] = [
    ("POST /mcp", 401),
    ("POST /mcp/files", 401),
    ("GET /mcp", 401),
    ("POST /call", 401),
    ("POST /message?session=x", 401),
    ("GET /metrics", 401),
    ("GET /healthz", 413),
    ("POST /healthz", 405),
    ("GET /readyz", 413),
    ("POST /api/tools", 401),
    ("DELETE /api/tools/x", 401),
    ("GET /ui/approvals", 413),
    ("POST /ui", 413),
    ("POST /unknown", 404),
];

/// Sends all of a body but its last byte, and gives the connection and the status of the answer.
async fn send(address: SocketAddr, line: &str, chunked: bool) -> (TcpStream, Option<u16>) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let framing = match chunked {
        true => format!("Transfer-Encoding: chunked\r\n\r\n{BODY:x}\r\n"),
        false => format!("Content-Length: {BODY}\r\n\r\n"),
    };
    let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n{framing}");
    stream.write_all(head.as_bytes()).await.expect("a head is read");
    let piece = vec![b' '; 64 << 10];
    let mut left = BODY - 1;
    while left > 0 {
        // The gateway may hang up on who goes on after the answer.
        let Ok(written) = stream.write(&piece[..left.min(piece.len())]).await else { break };
        left -= written;
    }
    let mut answer = [0; 12];
    // Who waits for the rest of the body says nothing yet.
    let status = timeout(TIMEOUT, stream.read_exact(&mut answer)).await.ok();
    let status = status.and_then(Result::ok);
    let status = status.and_then(|_| std::str::from_utf8(&answer[9..]).ok()?.parse().ok());
    (stream, status)
}

#[tokio::test]
async fn bodies_without_a_token_take_no_memory() {
    let gateway = Gateway::start("bodies", json!({}), ":").await;
    let address = gateway.address;
    gateway.soft_limit_of_a_child().await;
    let before = memory(gateway.id(), "VmHWM");
    let sending: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let (line, expected) = REQUESTS[number % REQUESTS.len()];
            let chunked = number / REQUESTS.len() % 2 == 1;
            tokio::spawn(async move { (line, expected, send(address, line, chunked).await) })
        })
        .collect();
    let mut open = Vec::new();
    for sent in sending {
        open.push(sent.await.expect("it does not panic"));
    }
    assert_eq!(gateway.get("/healthz").await.status, 200);
    gateway.soft_limit_of_a_child().await;
    let grown = memory(gateway.id(), "VmHWM") - before;
    assert!(grown < GROWTH, "the gateway grew by {grown} kB");
    for (line, expected, (_stream, status)) in open {
        // A reset may overtake the answer, since the client goes on writing; what is told is right.
        assert!(status.is_none_or(|it| it == expected), "{line}: {status:?}");
    }
}

/// One at a time and with a body that is not sent at all, the answer is always seen.
#[tokio::test]
async fn who_announces_a_body_is_answered_before_it_comes() {
    let gateway = Gateway::start("announced", json!({}), ":").await;
    for (line, expected) in REQUESTS {
        let mut stream = TcpStream::connect(gateway.address).await.expect("it listens");
        let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {BODY}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer, and the end");
        let (status, rest) = answer.split_at(12);
        assert_eq!(status, format!("HTTP/1.1 {expected}"), "{line}: {rest}");
        assert!(rest.contains("\r\nconnection: close\r\n"), "{line}: {rest}");
    }
}
