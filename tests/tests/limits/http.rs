//! Heads, bodies, connections, and who may come in.

use std::time::Duration;

use gantry::{DoorSettings, Failure, Tool};
use gantry_tests::house::soon;
use gantry_tests::request::{call, list};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::house;

const BRIEF: Duration = Duration::from_millis(100);

#[tokio::test]
pub(crate) async fn head() {
    let house = house(DoorSettings { head: 10_000, ..DoorSettings::default() }).await;
    for (length, status) in [(5_000, 200), (20_000, 431)] {
        let request = list().header("X-Long", &"x".repeat(length));
        assert_eq!(request.send(house.address).await.status, status, "{length} bytes");
    }
}

#[tokio::test]
pub(crate) async fn connections() {
    let house = house(DoorSettings { connections: 2, ..DoorSettings::default() }).await;
    let open = async || {
        let mut stream = TcpStream::connect(house.address).await.expect("the system takes it");
        let get = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
        stream.write_all(get).await.expect("the system takes it");
        stream
    };
    let served = async |stream: &mut TcpStream| {
        let mut answer = [0; 12];
        let read = stream.read_exact(&mut answer);
        tokio::time::timeout(BRIEF, read).await.is_ok_and(|read| read.is_ok())
    };
    let (mut first, mut second) = (open().await, open().await);
    assert!(served(&mut first).await && served(&mut second).await);
    let mut third = open().await;
    assert!(!served(&mut third).await, "the third waits");
    drop(first);
    let answer = async {
        let mut answer = [0; 12];
        third.read_exact(&mut answer).await.map(|_| answer)
    };
    assert_eq!(&soon("an answer", answer).await.expect("its turn"), b"HTTP/1.1 200");
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
async fn half(address: std::net::SocketAddr, text: &str) -> String {
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
