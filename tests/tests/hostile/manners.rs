//! Clients that write HTTP in ways that are seldom seen, and right.

use gantry_tests::test_server::TestServer;

use crate::crowd::{others_are_served, session};
use crate::socket::{Socket, post};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A ping in a session, with the body as these headers and this text have it.
fn ping(session: &str, headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Mcp-Session-Id: {session}\r\n{headers}\r\n\r\n{body}"
    )
}

/// A body in chunks of one sign.
fn crumbs(body: &str) -> String {
    let chunks: String = body.chars().map(|sign| format!("1;x=y\r\n{sign}\r\n")).collect();
    format!("{chunks}0\r\nTrailer: z\r\n\r\n")
}

#[tokio::test]
async fn the_same_request_in_many_forms() {
    let test_server = TestServer::open().await;
    let session = session(&test_server, "2025-11-25").await;
    let length = format!("content-length: {}", PING.len());
    let good = ping(&session, &length, PING);
    let forms = [
        ("plain", good.clone()),
        ("in chunks", ping(&session, "Transfer-Encoding: chunked", &crumbs(PING))),
        ("a line before it", format!("\r\n{good}")),
        ("the host in its first line", good.replace("POST /mcp", "POST http://127.0.0.1/mcp")),
        ("a query", good.replace("/mcp", "/mcp?from=here")),
        ("HTTP/1.0", good.replace("HTTP/1.1", "HTTP/1.0")),
    ];
    for (what, text) in forms {
        for size in [1, 7, text.len()] {
            let mut socket = Socket::open(test_server.address).await;
            for part in text.as_bytes().chunks(size) {
                assert!(socket.write(part).await, "{what}");
            }
            assert_eq!(socket.status().await, Some(200), "{what} by {size}");
        }
    }
    others_are_served(&test_server, "odd requests").await;
}

#[tokio::test]
async fn a_client_that_waits_to_be_asked_for_the_body() {
    let test_server = TestServer::open().await;
    let session = session(&test_server, "2025-11-25").await;
    let headers = format!("Expect: 100-continue\r\nContent-Length: {}", PING.len());
    let mut socket = Socket::open(test_server.address).await;
    for round in 0..2 {
        socket.write(ping(&session, &headers, "").as_bytes()).await;
        let asked = socket.head().await.expect("it is asked");
        assert!(asked.starts_with("HTTP/1.1 100 "), "{round}: {asked}");
        socket.write(PING.as_bytes()).await;
        assert_eq!(socket.status().await, Some(200), "{round}");
    }
    // Who is not let in is told so instead.
    let foreign = ping(&session, &headers, "").replace("127.0.0.1", "evil.example");
    socket.write(foreign.as_bytes()).await;
    let refused = socket.head().await.expect("an answer");
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("connection: close"));
}

/// Whoever has much to say hears why it is not wanted, instead of a connection that breaks.
#[tokio::test]
async fn who_is_refused_in_the_middle_of_a_body_sees_why() {
    let test_server = TestServer::open().await;
    let body = vec![b' '; 3 * 1024 * 1024];
    let headers = format!("Content-Length: {}", body.len());
    let foreign = ping("none", &headers, "").replace("127.0.0.1", "evil.example");
    let mut socket = Socket::open(test_server.address).await;
    socket.write(foreign.as_bytes()).await;
    let refused = socket.head().await.expect("an answer");
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    assert!(socket.write(&body).await, "all of it is taken");
}

#[tokio::test]
async fn whether_the_connection_goes_on() {
    let test_server = TestServer::open().await;
    let get = |version: &str, headers: &str| {
        format!("GET /healthz HTTP/1.{version}\r\nHost: localhost\r\n{headers}\r\n")
    };
    for (request, said, goes_on) in [
        (get("1", ""), None, true),
        (get("1", "Connection: close\r\n"), Some("connection: close"), false),
        (get("0", ""), Some("connection: close"), false),
        (get("0", "Connection: keep-alive\r\n"), Some("connection: keep-alive"), true),
        (get("1", "").replace("GET", "HEAD").replace("/healthz", "/nothing"), None, true),
        (get("1", "").replace("GET", "OPTIONS"), None, true),
    ] {
        let mut socket = Socket::open(test_server.address).await;
        socket.write(request.as_bytes()).await;
        let head = socket.head().await.expect("an answer");
        let found = head.lines().find(|line| line.starts_with("connection: "));
        assert_eq!(found, said, "{request}");
        assert!(head.contains("\r\ndate: "), "{head}");
        if request.starts_with("GET") {
            socket.until(|bytes| bytes.starts_with(b"ok\n").then_some((3, ()))).await;
        }
        socket.write(get("1", "").as_bytes()).await;
        assert_eq!(socket.status().await.is_some(), goes_on, "{request}");
    }
}

#[tokio::test]
async fn a_refused_request_does_not_disturb_the_next_one() {
    let test_server = TestServer::open().await;
    let session = session(&test_server, "2025-11-25").await;
    let of = format!("Mcp-Session-Id: {session}\r\n");
    let good = String::from_utf8(post(&of, PING.as_bytes())).expect("text");
    let mut socket = Socket::open(test_server.address).await;
    let foreign = good.replace("127.0.0.1", "evil.example");
    socket.write(format!("{foreign}{good}").as_bytes()).await;
    assert_eq!(socket.status().await, Some(403));
    assert_eq!(socket.status().await, Some(200), "what follows its body is the next request");
}
