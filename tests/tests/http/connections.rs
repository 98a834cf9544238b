//! Connections that hold descriptors and say nothing: callers with a token are served meanwhile.

use std::fs;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::gateway::Gateway;

/// What half-open connections have said so far.
const BEGINNINGS: [&str; 3] = ["", "GET /heal", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"];

async fn half_open(gateway: &Gateway, count: usize) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for number in 0..count {
        let mut stream = TcpStream::connect(gateway.address).await.expect("the system takes it");
        let said = BEGINNINGS[number % BEGINNINGS.len()];
        // It may have been closed already to make room.
        let _ = stream.write_all(said.as_bytes()).await;
        open.push(stream);
    }
    open
}

#[tokio::test]
async fn half_open_connections_shut_nobody_out() {
    let gateway = Gateway::start("half-open", json!({}), "ulimit -n 160").await;
    assert_eq!(gateway.soft_limit_of_a_child().await, 160);
    let mut open = half_open(&gateway, 500).await;
    for _ in 0..5 {
        assert_eq!(gateway.soft_limit_of_a_child().await, 160, "served in the midst of it");
        assert_eq!(gateway.get("/healthz").await.status, 200);
        open.extend(half_open(&gateway, 50).await);
    }
    assert!(!gateway.log().contains("Too many open files"), "{}", gateway.log());
}

/// Programs that use `select` break above 1,024 descriptors, so children keep the limit that the
/// gateway was started with.
#[tokio::test]
async fn the_soft_limit_is_raised_for_the_gateway_alone() {
    let gateway = Gateway::start("raised", json!({}), "ulimit -S -n 200; ulimit -H -n 700").await;
    let limits = fs::read_to_string(format!("/proc/{}/limits", gateway.id())).expect("it runs");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    let numbers: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers, ["700", "700"]);
    assert_eq!(gateway.soft_limit_of_a_child().await, 200);
}
