//! Requests whose HTTP is wrong, slow or endless.

use std::time::Duration;

use gantry::ServerSettings;
use gantry_tests::request::{bodiless, call};
use gantry_tests::test_server::{TestOptions, TestServer, soon};
use serde_json::json;

use crate::crowd::{others_are_served, session};
use crate::socket::{Socket, post};

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The status of the answer to these bytes; none when the server hangs up without one.
async fn status(test_server: &TestServer, bytes: &[u8]) -> Option<u16> {
    let mut socket = Socket::open(test_server.address).await;
    socket.write(bytes).await;
    socket.finish().await;
    socket.status().await
}

#[tokio::test]
async fn heads_that_are_not_http() {
    let test_server = TestServer::open().await;
    let cases: [(&str, &[u8]); 9] = [
        ("nothing", b""),
        ("words", b"good morning\r\n\r\n"),
        ("HTTP/0.9", b"GET /mcp\r\n\r\n"),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        ("a bad length", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n"),
        (
            "two lengths",
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        ),
        ("a bad header", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nbad header\x01: x\r\n\r\n"),
        ("half a head", b"POST /mcp HTTP/1.1\r\nHost: 127.0"),
    ];
    for (what, bytes) in cases {
        let status = status(&test_server, bytes).await;
        assert!(status.is_none_or(|it| (400..500).contains(&it)), "{what} gave {status:?}");
    }
    others_are_served(&test_server, "heads that are not HTTP").await;
}

#[tokio::test]
async fn bodies_that_break_off_or_lie() {
    let test_server = TestServer::open().await;
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    let cases = [
        ("half a body", format!("{head}Content-Length: 1000\r\n\r\n{{\"jsonrpc\"")),
        ("half a chunk", format!("{head}Transfer-Encoding: chunked\r\n\r\n100\r\n{{")),
        ("a bad chunk", format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n")),
        (
            "an endless chunk",
            format!("{head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
        ),
    ];
    for (what, text) in cases {
        let status = status(&test_server, text.as_bytes()).await;
        assert!(status.is_none_or(|it| it == 400), "{what} gave {status:?}");
    }
    others_are_served(&test_server, "bodies that break off").await;
}

#[tokio::test]
async fn requests_that_are_refused() {
    let test_server = TestServer::open().await;
    let session = session(&test_server, "2025-11-25").await;
    let of = format!("Mcp-Session-Id: {session}\r\n");
    let good = String::from_utf8(post(&of, PING)).expect("text");
    let many: String = (0..200).map(|number| format!("X-{number}: x\r\n")).collect();
    let wide = format!("X-Wide: {}\r\n", "x".repeat(200_000));
    let cases = [
        ("as it should be", good.clone(), 200),
        ("no such path", good.replace("/mcp", "/mpc"), 404),
        ("a path that climbs", good.replace("/mcp", "/../mcp"), 404),
        ("no such method", good.replace("POST", "PATCH"), 405),
        ("no host", good.replace("Host: 127.0.0.1\r\n", ""), 403),
        ("a foreign host", good.replace("127.0.0.1", "evil.example"), 403),
        ("a host that looks like ours", good.replace("127.0.0.1", "127.0.0.1.evil.example"), 403),
        ("a host with a user", good.replace("127.0.0.1", "localhost:80@evil.example"), 403),
        ("two hosts", good.replace("Host:", "Host: evil.example\r\nHost:"), 400),
        ("two hosts", good.replace("127.0.0.1", "127.0.0.1\r\nHost: evil.example"), 400),
        (
            "two origins",
            good.replace(
                "Host:",
                "Origin: http://localhost:9\r\nOrigin: https://evil.example\r\nHost:",
            ),
            400,
        ),
        ("lines that end with a line feed alone", good.replace("\r\n", "\n"), 400),
        ("two sessions", good.replace("Host:", &format!("{of}Host:")), 400),
        ("a foreign origin", good.replace("Host:", "Origin: https://evil.example\r\nHost:"), 403),
        ("no origin at all", good.replace("Host:", "Origin: null\r\nHost:"), 403),
        (
            "an origin that looks like ours",
            good.replace("Host:", "Origin: http://localhost.evil.example\r\nHost:"),
            403,
        ),
        (
            "an origin with a user",
            good.replace("Host:", "Origin: http://localhost:80@evil.example\r\nHost:"),
            403,
        ),
        ("our own origin", good.replace("Host:", "Origin: http://localhost:9\r\nHost:"), 200),
        (
            "not JSON",
            good.replace("Content-Type: application/json", "Content-Type: text/plain"),
            415,
        ),
        ("no type", good.replace("Content-Type: application/json\r\n", ""), 415),
        ("takes nothing", good.replace("application/json, text/event-stream", "image/png"), 406),
        ("too many headers", good.replace("Host:", &format!("{many}Host:")), 431),
        ("a wide header", good.replace("Host:", &format!("{wide}Host:")), 431),
        (
            "an unknown revision",
            good.replace("Host:", "MCP-Protocol-Version: 1999-01-01\r\nHost:"),
            400,
        ),
    ];
    let mut wrong = Vec::new();
    for (what, text, expected) in cases {
        let status = status(&test_server, text.as_bytes()).await;
        if status != Some(expected) {
            wrong.push(format!("{what} gave {status:?}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    others_are_served(&test_server, "refused requests").await;
}

#[tokio::test]
async fn bodies_that_are_too_large() {
    let test_server = TestServer::open().await;
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    let announced = format!("{head}Content-Length: 999999999999\r\n\r\n");
    assert_eq!(status(&test_server, announced.as_bytes()).await, Some(413), "before it is read");
    let mut socket = Socket::open(test_server.address).await;
    socket.write(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).await;
    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();
    let mut sent = 0;
    while sent < 64 && socket.write(&chunk).await {
        sent += 1;
    }
    assert!(sent < 64, "a body that was not announced is cut off too");
    others_are_served(&test_server, "bodies that are too large").await;
}

#[tokio::test]
async fn clients_that_send_byte_by_byte_and_never_end() {
    let doors = ServerSettings {
        head_timeout: Duration::from_millis(200),
        body_timeout: Duration::from_millis(200),
        connections: 4,
        ..ServerSettings::default()
    };
    let test_server = TestServer::with(TestOptions { doors, ..TestOptions::default() }).await;
    let mut slow = Vec::new();
    for head in ["", "P", "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "] {
        let mut socket = Socket::open(test_server.address).await;
        socket.write(head.as_bytes()).await;
        slow.push(socket);
    }
    let mut body = Socket::open(test_server.address).await;
    let half = post("", PING);
    body.write(&half[..half.len() - 1]).await;
    assert_eq!(body.status().await, Some(408), "half a body in time is no body");
    slow.push(body);
    for socket in slow {
        let rest = socket.rest().await;
        assert!(rest.is_empty() || rest.contains(" 408 "), "{rest}");
    }
    // All four places were taken: this waits until they are free again.
    soon("a place", others_are_served(&test_server, "slow clients")).await;
}

#[tokio::test]
async fn many_requests_at_once_on_one_connection() {
    const COUNT: usize = 2000;
    let test_server = TestServer::open().await;
    let session = session(&test_server, "2025-11-25").await;
    let one = post(&format!("Mcp-Session-Id: {session}\r\n"), PING);
    let mut socket = Socket::open(test_server.address).await;
    for _ in 0..COUNT / 100 {
        assert!(socket.write(&one.repeat(100)).await);
        for _ in 0..100 {
            assert_eq!(socket.status().await, Some(200));
        }
    }
    others_are_served(&test_server, "pipelined requests").await;
}

#[tokio::test]
async fn places_to_come_back_to_that_never_were() {
    let test_server = TestServer::open().await;
    let session = session(&test_server, "2025-11-25").await;
    let places = ["", "-", "1", "1-", "-1", "0-0", "x-y", "18446744073709551616-1", "1-1-1", "é"];
    for place in places {
        let get = bodiless("GET").of(&session).header("Last-Event-ID", place);
        let answer = get.send(test_server.address).await;
        assert_eq!(answer.status, 200, "`{place}` opens the general stream");
    }
    let answer = call("echo", json!({"text": "x"})).header("Last-Event-ID", "1-1");
    assert_eq!(answer.send(test_server.address).await.status, 200, "it means nothing here");
    others_are_served(&test_server, "wrong places").await;
}
