//! Heads, bodies, connections, and who may come in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gantry::{AuthError, Authenticator, Failure, Identity, ServerSettings, Tool};
use gantry_tests::request::{call, list};
use gantry_tests::test_server::{TestOptions, TestServer, soon};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::test_server;

const BRIEF: Duration = Duration::from_millis(100);
/// Longer than the server takes to close a connection that makes room.
const TIMEOUT: Duration = Duration::from_secs(20);

#[tokio::test]
pub(crate) async fn head() {
    let test_server =
        test_server(ServerSettings { head: 10_000, ..ServerSettings::default() }).await;
    for (length, status) in [(5_000, 200), (20_000, 431)] {
        let request = list().header("X-Long", &"x".repeat(length));
        assert_eq!(request.send(test_server.address).await.status, status, "{length} bytes");
    }
}

/// A connection that has sent a GET without waiting for the answer.
async fn get(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("the system takes it");
    let get = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    stream.write_all(get.as_bytes()).await.expect("the system takes it");
    stream
}

/// The status of the next answer; none if the server hangs up instead.
async fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut answer = [0; 12];
    soon("an answer, or the end", stream.read_exact(&mut answer)).await.ok()?;
    std::str::from_utf8(&answer[9..]).ok()?.parse().ok()
}

async fn is_closed(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    // Whoever is hung up on in the middle may see a reset.
    let read = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut rest)).await;
    read.is_ok()
}

/// A connection with a call that waits at the gate, the `number`th of its server.
async fn busy(test_server: &TestServer, number: usize) -> tokio::task::JoinHandle<u16> {
    let address = test_server.address;
    let call = tokio::spawn(async move { call("wait", json!({})).send(address).await.status });
    test_server.latch.started(number).await;
    call
}

#[tokio::test]
pub(crate) async fn connections() {
    let test_server =
        test_server(ServerSettings { connections: 2, ..ServerSettings::default() }).await;
    // A connection with a request in flight keeps its place.
    let calls = [busy(&test_server, 1).await, busy(&test_server, 2).await];
    let mut third = get(test_server.address, "/healthz").await;
    let waiting = tokio::time::timeout(BRIEF, third.readable()).await;
    assert!(waiting.is_err(), "the third waits");
    test_server.latch.open();
    assert_eq!(status(&mut third).await, Some(200), "its turn");
    for call in calls {
        assert_eq!(soon("the answer", call).await.expect("no panic"), 200);
    }
    // One that is idle makes room: first those that have not authenticated, then the oldest.
    let mut fourth = get(test_server.address, "/metrics").await;
    assert_eq!(status(&mut fourth).await, Some(200));
    let mut fifth = get(test_server.address, "/metrics").await;
    assert_eq!(status(&mut fifth).await, Some(200));
    assert!(is_closed(third).await, "the one that has not authenticated");
    let mut sixth = get(test_server.address, "/healthz").await;
    assert_eq!(status(&mut sixth).await, Some(200));
    assert!(is_closed(fourth).await, "the oldest that is idle");
}

#[tokio::test]
pub(crate) async fn connections_unauthenticated() {
    let doors = ServerSettings { connections_unauthenticated: 1, ..ServerSettings::default() };
    let test_server = test_server(doors).await;
    let mut known = get(test_server.address, "/metrics").await;
    assert_eq!(status(&mut known).await, Some(200));
    let mut first = get(test_server.address, "/healthz").await;
    assert_eq!(status(&mut first).await, Some(200));
    let mut second = get(test_server.address, "/healthz").await;
    assert_eq!(status(&mut second).await, Some(200));
    assert!(is_closed(first).await, "the oldest makes room");
    known.write_all(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.expect("open");
}

#[tokio::test]
pub(crate) async fn connections_of_peer() {
    let test_server =
        test_server(ServerSettings { connections_of_peer: 2, ..ServerSettings::default() }).await;
    let (mut first, mut second) =
        (get(test_server.address, "/metrics").await, get(test_server.address, "/healthz").await);
    assert_eq!((status(&mut first).await, status(&mut second).await), (Some(200), Some(200)));
    let call = busy(&test_server, 1).await;
    assert!(is_closed(second).await, "the oldest that is not authenticated makes room");
    let other = busy(&test_server, 2).await;
    assert!(is_closed(first).await, "then the oldest that is idle");
    assert!(is_closed(get(test_server.address, "/healthz").await).await, "both are busy");
    test_server.latch.open();
    for call in [call, other] {
        assert_eq!(soon("the answer", call).await.expect("no panic"), 200);
    }
    let again = async {
        while status(&mut get(test_server.address, "/healthz").await).await != Some(200) {}
    };
    soon("a place", again).await;
}

/// Sends all of a body of 100,000 bytes but the last one, and gives the connection.
async fn large(test_server: &TestServer, chunked: bool) -> TcpStream {
    let mut stream = TcpStream::connect(test_server.address).await.expect("it listens");
    let framing = match chunked {
        true => "Transfer-Encoding: chunked\r\n\r\n186a0\r\n",
        false => "Content-Length: 100000\r\n\r\n",
    };
    let json = "Content-Type: application/json\r\n";
    let head = format!("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{json}{framing}");
    let bytes = [head.into_bytes(), vec![b' '; 99_999]].concat();
    stream.write_all(&bytes).await.expect("it reads");
    stream
}

/// The second of two large bodies is refused, and can be sent when the first is done.
async fn one_large_body_at_a_time(doors: ServerSettings) {
    let test_server = test_server(doors).await;
    for chunked in [false, true] {
        let mut first = large(&test_server, chunked).await;
        // Both may be on their way at once; of two one is refused, and told when to come back.
        let mut second = large(&test_server, chunked).await;
        let (mut one, mut other) = (vec![0; 4096], vec![0; 4096]);
        let refused = tokio::select! {
            read = first.read(&mut one) => { one.truncate(read.expect("an answer")); one }
            read = second.read(&mut other) => { other.truncate(read.expect("an answer")); other }
        };
        let refused = String::from_utf8_lossy(&refused).into_owned();
        assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
        assert!(refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
        assert_eq!(
            list().send(test_server.address).await.status,
            200,
            "small ones are not counted"
        );
    }
    test_server.close().await;
}

#[tokio::test]
pub(crate) async fn receiving() {
    one_large_body_at_a_time(ServerSettings { receiving: 150_000, ..ServerSettings::default() })
        .await;
}

#[tokio::test]
pub(crate) async fn receiving_of_principal() {
    let doors = ServerSettings { receiving_of_principal: 150_000, ..ServerSettings::default() };
    one_large_body_at_a_time(doors).await;
}

#[tokio::test]
pub(crate) async fn receiving_heads() {
    let test_server =
        test_server(ServerSettings { receiving_heads: 30_000, ..ServerSettings::default() }).await;
    let long = format!("GET /healthz HTTP/1.1\r\nX: {}", "x".repeat(60_000));
    let rest = half(test_server.address, &long).await;
    assert!(rest.starts_with("HTTP/1.1 503 "), "{rest}");
    assert!(rest.contains("\r\nretry-after: 1\r\n"), "{rest}");
    let short = list().header("X-Long", &"x".repeat(20_000));
    assert_eq!(short.send(test_server.address).await.status, 200);
}

#[tokio::test]
pub(crate) async fn threads() {
    for (threads, has_own) in [(0, false), (2, true)] {
        let test_server =
            test_server(ServerSettings { threads, ..ServerSettings::default() }).await;
        let tool = Tool::new("thread", "Which thread a call runs on.")
            .input_schema(json!({"type": "object"}))
            .run(async |_: Value, _| {
                let name = std::thread::current().name().unwrap_or_default().to_owned();
                Ok::<_, Failure>(name)
            });
        test_server.server.handlers().add_tool(tool).expect("the name is free");
        // The first connection is assigned to the main runtime.
        let _first = TcpStream::connect(test_server.address).await.expect("it listens");
        let answer = call("thread", json!({})).ask(test_server.address).await;
        let name = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert_eq!(name.starts_with("gantry-worker-"), has_own, "{threads} threads: {name}");
        test_server.close().await;
    }
}

/// What the server says before it hangs up on a client that stops in the middle.
async fn half(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(text.as_bytes()).await.expect("it reads");
    let mut rest = String::new();
    let _ = soon("the end of the connection", stream.read_to_string(&mut rest)).await;
    rest
}

#[tokio::test]
pub(crate) async fn head_timeout() {
    let test_server =
        test_server(ServerSettings { head_timeout: BRIEF, ..ServerSettings::default() }).await;
    for text in ["", "GET /hea", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"] {
        let rest = half(test_server.address, text).await;
        assert!(rest.is_empty() || rest.contains(" 408 "), "{rest}");
    }
}

#[tokio::test]
pub(crate) async fn body_timeout() {
    let test_server =
        test_server(ServerSettings { body_timeout: BRIEF, ..ServerSettings::default() }).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    let rest = half(test_server.address, &format!("{head}Content-Length: 100\r\n\r\n{{")).await;
    assert!(rest.starts_with("HTTP/1.1 408 "), "{rest}");
}

/// Doors at which bytes must come at some rate, with no other bound in time.
fn slow(head_rate: usize, body_rate: usize) -> ServerSettings {
    let long = Duration::from_secs(3600);
    ServerSettings {
        head_timeout: long,
        body_timeout: long,
        rate_grace: BRIEF,
        head_rate,
        body_rate,
        ..ServerSettings::default()
    }
}

#[tokio::test]
pub(crate) async fn head_rate() {
    let test_server = test_server(slow(100, 0)).await;
    let rest = half(test_server.address, "GET /healthz HTTP/1.1\r\nHost: ").await;
    assert!(rest.is_empty(), "{rest}");
}

#[tokio::test]
pub(crate) async fn body_rate() {
    let test_server = test_server(slow(0, 100)).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    let rest = half(test_server.address, &format!("{head}Content-Length: 100\r\n\r\n{{")).await;
    assert!(rest.starts_with("HTTP/1.1 408 "), "{rest}");
}

#[tokio::test]
pub(crate) async fn rate_grace() {
    let doors = ServerSettings { rate_grace: Duration::from_secs(3600), ..slow(usize::MAX, 0) };
    let test_server = test_server(ServerSettings { head_timeout: BRIEF, ..doors }).await;
    let begun = Instant::now();
    half(test_server.address, "GET /hea").await;
    assert!(begun.elapsed() >= BRIEF, "the rate does not count yet");
}

#[tokio::test]
pub(crate) async fn metrics_open() {
    #[derive(Debug)]
    struct Nobody;
    impl Authenticator for Nobody {
        fn authenticate(&self, _: Option<&str>) -> Result<Identity, AuthError> {
            Err(AuthError { shown: false, message: "nobody is let in".to_owned() })
        }
        fn requires_credentials(&self) -> bool {
            true
        }
    }
    for (metrics_open, expected) in [(false, 401), (true, 200)] {
        let doors = ServerSettings { metrics_open, ..ServerSettings::default() };
        let authenticator: Option<Arc<dyn Authenticator>> = Some(Arc::new(Nobody));
        let test_server =
            TestServer::with(TestOptions { doors, authenticator, ..TestOptions::default() }).await;
        let mut metrics = get(test_server.address, "/metrics").await;
        assert_eq!(status(&mut metrics).await, Some(expected), "{metrics_open}");
    }
}

#[tokio::test]
pub(crate) async fn allowed_hosts() {
    let allowed_hosts = vec!["tools.example".to_owned(), "one.example:8080".to_owned()];
    let test_server =
        test_server(ServerSettings { allowed_hosts, ..ServerSettings::default() }).await;
    let cases = [
        ("tools.example", 200),
        ("tools.example:99", 200),
        ("one.example:8080", 200),
        ("one.example", 403),
        ("two.example", 403),
        ("localhost", 200),
        ("[::1]:80", 200),
    ];
    for (host, status) in cases {
        let request = list().replace("Host", host);
        assert_eq!(request.send(test_server.address).await.status, status, "{host}");
    }
}

#[tokio::test]
pub(crate) async fn allowed_origins() {
    let allowed_origins = vec!["https://app.example".to_owned()];
    let test_server =
        test_server(ServerSettings { allowed_origins, ..ServerSettings::default() }).await;
    let cases = [
        ("https://app.example", 200),
        ("http://app.example", 403),
        ("https://app.example:444", 403),
        ("https://app.example.evil.example", 403),
        ("http://localhost:5173", 200),
        ("null", 403),
    ];
    for (origin, status) in cases {
        let answer = list().header("Origin", origin).send(test_server.address).await;
        assert_eq!(answer.status, status, "{origin}");
        let named = answer.header("access-control-allow-origin");
        assert_eq!(named, (status == 200).then_some(origin));
    }
}
