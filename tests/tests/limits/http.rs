//! Heads, bodies, connections, and who may come in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gantry::{DoorSettings, Doorman, Failure, Refusal, Tool, Visitor};
use gantry_tests::house::{House, Plan, soon};
use gantry_tests::request::{call, list};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::house;

const BRIEF: Duration = Duration::from_millis(100);
/// Longer than the server takes to close a connection that makes room.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
pub(crate) async fn head() {
    let house = house(DoorSettings { head: 10_000, ..DoorSettings::default() }).await;
    for (length, status) in [(5_000, 200), (20_000, 431)] {
        let request = list().header("X-Long", &"x".repeat(length));
        assert_eq!(request.send(house.address).await.status, status, "{length} bytes");
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
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    read.is_ok()
}

/// A connection with a call that waits at the gate, the `number`th of its server.
async fn busy(house: &House, number: usize) -> tokio::task::JoinHandle<u16> {
    let address = house.address;
    let call = tokio::spawn(async move { call("wait", json!({})).send(address).await.status });
    house.gate.started(number).await;
    call
}

#[tokio::test]
pub(crate) async fn connections() {
    let house = house(DoorSettings { connections: 2, ..DoorSettings::default() }).await;
    // A connection with a request in flight keeps its place.
    let calls = [busy(&house, 1).await, busy(&house, 2).await];
    let mut third = get(house.address, "/healthz").await;
    let waiting = tokio::time::timeout(BRIEF, third.readable()).await;
    assert!(waiting.is_err(), "the third waits");
    house.gate.open();
    assert_eq!(status(&mut third).await, Some(200), "its turn");
    for call in calls {
        assert_eq!(soon("the answer", call).await.expect("no panic"), 200);
    }
    // One that is idle makes room: first those that have not authenticated, then the oldest.
    let mut fourth = get(house.address, "/metrics").await;
    assert_eq!(status(&mut fourth).await, Some(200));
    let mut fifth = get(house.address, "/metrics").await;
    assert_eq!(status(&mut fifth).await, Some(200));
    assert!(is_closed(third).await, "the one that has not authenticated");
    let mut sixth = get(house.address, "/healthz").await;
    assert_eq!(status(&mut sixth).await, Some(200));
    assert!(is_closed(fourth).await, "the oldest that is idle");
}

#[tokio::test]
pub(crate) async fn connections_unauthenticated() {
    let doors = DoorSettings { connections_unauthenticated: 1, ..DoorSettings::default() };
    let house = house(doors).await;
    let mut known = get(house.address, "/metrics").await;
    assert_eq!(status(&mut known).await, Some(200));
    let mut first = get(house.address, "/healthz").await;
    assert_eq!(status(&mut first).await, Some(200));
    let mut second = get(house.address, "/healthz").await;
    assert_eq!(status(&mut second).await, Some(200));
    assert!(is_closed(first).await, "the oldest makes room");
    known.write_all(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.expect("open");
}

#[tokio::test]
pub(crate) async fn connections_of_peer() {
    let house = house(DoorSettings { connections_of_peer: 2, ..DoorSettings::default() }).await;
    let (mut first, mut second) =
        (get(house.address, "/metrics").await, get(house.address, "/healthz").await);
    assert_eq!((status(&mut first).await, status(&mut second).await), (Some(200), Some(200)));
    let call = busy(&house, 1).await;
    assert!(is_closed(second).await, "the oldest that is not authenticated makes room");
    let other = busy(&house, 2).await;
    assert!(is_closed(first).await, "then the oldest that is idle");
    assert!(is_closed(get(house.address, "/healthz").await).await, "both are busy");
    house.gate.open();
    for call in [call, other] {
        assert_eq!(soon("the answer", call).await.expect("no panic"), 200);
    }
    let again =
        async { while status(&mut get(house.address, "/healthz").await).await != Some(200) {} };
    soon("a place", again).await;
}

/// Sends all of a body of 100,000 bytes but the last one, and gives the connection.
async fn large(house: &House, chunked: bool) -> TcpStream {
    let mut stream = TcpStream::connect(house.address).await.expect("it listens");
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
async fn one_large_body_at_a_time(doors: DoorSettings) {
    let house = house(doors).await;
    for chunked in [false, true] {
        let mut first = large(&house, chunked).await;
        // Both may be on their way at once; of two one is refused, and told when to come back.
        let mut second = large(&house, chunked).await;
        let (mut one, mut other) = (vec![0; 4096], vec![0; 4096]);
        let refused = tokio::select! {
            read = first.read(&mut one) => { one.truncate(read.expect("an answer")); one }
            read = second.read(&mut other) => { other.truncate(read.expect("an answer")); other }
        };
        let refused = String::from_utf8_lossy(&refused).into_owned();
        assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
        assert!(refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
        assert_eq!(list().send(house.address).await.status, 200, "small ones are not counted");
    }
    house.close().await;
}

#[tokio::test]
pub(crate) async fn receiving() {
    one_large_body_at_a_time(DoorSettings { receiving: 150_000, ..DoorSettings::default() }).await;
}

#[tokio::test]
pub(crate) async fn receiving_of_principal() {
    let doors = DoorSettings { receiving_of_principal: 150_000, ..DoorSettings::default() };
    one_large_body_at_a_time(doors).await;
}

#[tokio::test]
pub(crate) async fn receiving_heads() {
    let house = house(DoorSettings { receiving_heads: 30_000, ..DoorSettings::default() }).await;
    let long = format!("GET /healthz HTTP/1.1\r\nX: {}", "x".repeat(60_000));
    let rest = half(house.address, &long).await;
    assert!(rest.starts_with("HTTP/1.1 503 "), "{rest}");
    assert!(rest.contains("\r\nretry-after: 1\r\n"), "{rest}");
    let short = list().header("X-Long", &"x".repeat(20_000));
    assert_eq!(short.send(house.address).await.status, 200);
}

#[tokio::test]
pub(crate) async fn threads() {
    for (threads, has_own) in [(0, false), (2, true)] {
        let house = house(DoorSettings { threads, ..DoorSettings::default() }).await;
        let tool = Tool::new("thread", "Which thread a call runs on.")
            .input_schema(json!({"type": "object"}))
            .run(async |_: Value, _| {
                let name = std::thread::current().name().unwrap_or_default().to_owned();
                Ok::<_, Failure>(name)
            });
        house.server.handlers().add_tool(tool).expect("the name is free");
        // The first place is the runtime itself.
        let _first = TcpStream::connect(house.address).await.expect("it listens");
        let answer = call("thread", json!({})).ask(house.address).await;
        let name = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert_eq!(name.starts_with("gantry-desk-"), has_own, "{threads} threads: {name}");
        house.close().await;
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
    let house = house(DoorSettings { head_timeout: BRIEF, ..DoorSettings::default() }).await;
    for text in ["", "GET /hea", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"] {
        let rest = half(house.address, text).await;
        assert!(rest.is_empty() || rest.contains(" 408 "), "{rest}");
    }
}

#[tokio::test]
pub(crate) async fn body_timeout() {
    let house = house(DoorSettings { body_timeout: BRIEF, ..DoorSettings::default() }).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    let rest = half(house.address, &format!("{head}Content-Length: 100\r\n\r\n{{")).await;
    assert!(rest.starts_with("HTTP/1.1 408 "), "{rest}");
}

/// Doors at which bytes must come at some rate, with no other bound in time.
fn slow(head_rate: usize, body_rate: usize) -> DoorSettings {
    let long = Duration::from_secs(3600);
    DoorSettings {
        head_timeout: long,
        body_timeout: long,
        rate_grace: BRIEF,
        head_rate,
        body_rate,
        ..DoorSettings::default()
    }
}

#[tokio::test]
pub(crate) async fn head_rate() {
    let house = house(slow(100, 0)).await;
    let rest = half(house.address, "GET /healthz HTTP/1.1\r\nHost: ").await;
    assert!(rest.is_empty(), "{rest}");
}

#[tokio::test]
pub(crate) async fn body_rate() {
    let house = house(slow(0, 100)).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    let rest = half(house.address, &format!("{head}Content-Length: 100\r\n\r\n{{")).await;
    assert!(rest.starts_with("HTTP/1.1 408 "), "{rest}");
}

#[tokio::test]
pub(crate) async fn rate_grace() {
    let doors = DoorSettings { rate_grace: Duration::from_secs(3600), ..slow(usize::MAX, 0) };
    let house = house(DoorSettings { head_timeout: BRIEF, ..doors }).await;
    let begun = Instant::now();
    half(house.address, "GET /hea").await;
    assert!(begun.elapsed() >= BRIEF, "the rate does not count yet");
}

#[tokio::test]
pub(crate) async fn metrics_open() {
    #[derive(Debug)]
    struct Nobody;
    impl Doorman for Nobody {
        fn admit(&self, _: Option<&str>) -> Result<Visitor, Refusal> {
            Err(Refusal { shown: false, message: "nobody is let in".to_owned() })
        }
        fn asks(&self) -> bool {
            true
        }
    }
    for (metrics_open, expected) in [(false, 401), (true, 200)] {
        let doors = DoorSettings { metrics_open, ..DoorSettings::default() };
        let doorman: Option<Arc<dyn Doorman>> = Some(Arc::new(Nobody));
        let house = House::with(Plan { doors, doorman, ..Plan::default() }).await;
        let mut metrics = get(house.address, "/metrics").await;
        assert_eq!(status(&mut metrics).await, Some(expected), "{metrics_open}");
    }
}

#[tokio::test]
pub(crate) async fn allowed_hosts() {
    let allowed_hosts = vec!["tools.example".to_owned(), "one.example:8080".to_owned()];
    let house = house(DoorSettings { allowed_hosts, ..DoorSettings::default() }).await;
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
        assert_eq!(request.send(house.address).await.status, status, "{host}");
    }
}

#[tokio::test]
pub(crate) async fn allowed_origins() {
    let allowed_origins = vec!["https://app.example".to_owned()];
    let house = house(DoorSettings { allowed_origins, ..DoorSettings::default() }).await;
    let cases = [
        ("https://app.example", 200),
        ("http://app.example", 403),
        ("https://app.example:444", 403),
        ("https://app.example.evil.example", 403),
        ("http://localhost:5173", 200),
        ("null", 403),
    ];
    for (origin, status) in cases {
        let answer = list().header("Origin", origin).send(house.address).await;
        assert_eq!(answer.status, status, "{origin}");
        let named = answer.header("access-control-allow-origin");
        assert_eq!(named, (status == 200).then_some(origin));
    }
}
