//! A WebSocket client that can send any frame, and the frames it should not send.

use std::net::SocketAddr;

use gantry_tests::test_server::TestServer;
use serde_json::Value;

use crate::crowd::others_are_served;
use crate::socket::Socket;

/// A WebSocket.
pub(crate) struct WebSocket(Socket);

const HANDSHAKE: &str = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n\r\n";
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;

impl WebSocket {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let mut socket = Socket::open(address).await;
        socket.write(HANDSHAKE.as_bytes()).await;
        let head = socket.head().await.expect("an answer");
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        Self(socket)
    }

    /// Sends a message, as binary if it is not UTF-8.
    pub(crate) async fn send(&mut self, message: &[u8]) {
        let kind = if std::str::from_utf8(message).is_ok() { TEXT } else { BINARY };
        assert!(self.0.write(&frame(0x80 | kind, message)).await, "the connection goes on");
    }

    /// Sends many messages without a pause.
    pub(crate) async fn send_all(&mut self, messages: impl Iterator<Item = String>) {
        let frames = messages.map(|message| frame(0x80 | TEXT, message.as_bytes()));
        assert!(self.0.write(&frames.collect::<Vec<_>>().concat()).await);
    }

    /// The next message; none when the server has closed.
    pub(crate) async fn receive(&mut self) -> Option<Value> {
        loop {
            let (kind, payload) = self.0.until(parse).await?;
            match kind {
                TEXT => return Some(serde_json::from_slice(&payload).expect("JSON")),
                CLOSE => return None,
                _ => {}
            }
        }
    }
}

/// A frame as a client must send it: masked, here with zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..65536 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

fn parse(bytes: &[u8]) -> Option<(usize, (u8, Vec<u8>))> {
    let [first, second, rest @ ..] = bytes else { return None };
    let (start, length) = match second & 0x7f {
        126 => (4, usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?))),
        127 => (10, u64::from_be_bytes(rest.get(..8)?.try_into().ok()?) as usize),
        length => (2, usize::from(length)),
    };
    let payload = bytes.get(start..start + length)?.to_vec();
    Some((start + length, (first & 0x0f, payload)))
}

#[tokio::test]
async fn frames_that_break_the_rules_end_their_connection_only() {
    let test_server = TestServer::open().await;
    let huge = [&[0x82, 0x80 | 127], &u64::MAX.to_be_bytes()[..], &[0; 4]].concat();
    let large = [&[0x82, 0x80 | 127], &(5_u64 << 20).to_be_bytes()[..], &[0; 4]].concat();
    let cases: [(&str, Vec<u8>); 10] = [
        ("no mask", vec![0x81, 2, b'{', b'}']),
        ("a reserved kind", frame(0x83, b"x")),
        ("a reserved bit", frame(0xc1, b"{}")),
        ("a ping in pieces", frame(0x09, b"x")),
        ("a long ping", frame(0x89, &[b'x'; 126])),
        ("text that is not UTF-8", frame(0x81, b"\xff\xfe")),
        ("a piece of nothing", frame(0x80, b"x")),
        ("a bad close", frame(0x88, &[0, 1])),
        ("a frame of all memory", huge),
        ("a frame beyond the limit", large),
    ];
    for (what, bytes) in cases {
        let mut socket = WebSocket::open(test_server.address).await;
        socket.0.write(&bytes).await;
        let mut complaints = 0;
        while socket.receive().await.is_some() {
            complaints += 1;
            assert!(complaints < 2, "{what}: one complaint is enough");
        }
    }
    others_are_served(&test_server, "bad frames").await;
}

#[tokio::test]
async fn handshakes_that_are_none() {
    let test_server = TestServer::open().await;
    let cases = [
        ("no upgrade", HANDSHAKE.replace("Upgrade: websocket\r\n", ""), "426"),
        ("an old version", HANDSHAKE.replace("Version: 13", "Version: 8"), "426"),
        ("no key", HANDSHAKE.replace("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""), "426"),
        (
            "a foreign page",
            HANDSHAKE.replace("Host:", "Origin: https://evil.example\r\nHost:"),
            "403",
        ),
        ("a POST", HANDSHAKE.replace("GET", "POST"), "405"),
    ];
    for (what, text, expected) in cases {
        let mut socket = Socket::open(test_server.address).await;
        socket.write(text.as_bytes()).await;
        let head = socket.head().await.expect("an answer");
        assert!(head.starts_with(&format!("HTTP/1.1 {expected} ")), "{what}: {head}");
    }
    others_are_served(&test_server, "bad handshakes").await;
}

#[tokio::test]
async fn a_message_in_many_pieces_is_one_message() {
    let test_server = TestServer::open().await;
    let mut socket = WebSocket::open(test_server.address).await;
    let ping = br#"{"jsonrpc":"2.0","id":"pieces","method":"ping"}"#;
    socket.0.write(&frame(TEXT, &ping[..1])).await;
    for byte in &ping[1..ping.len() - 1] {
        socket.0.write(&frame(0, &[*byte])).await;
        socket.0.write(&frame(0x89, b"between")).await;
    }
    socket.0.write(&frame(0x80, &ping[ping.len() - 1..])).await;
    assert_eq!(socket.receive().await.expect("an answer")["id"], "pieces");
}

#[tokio::test]
async fn what_is_no_handshake() {
    let test_server = TestServer::open().await;
    let big = "Content-Length: 5000000\r\n\r\n";
    for (what, handshake, status) in [
        ("as it should be", HANDSHAKE.to_owned(), 101),
        ("in a list", HANDSHAKE.replace(": Upgrade", ": keep-alive, upgrade"), 101),
        ("not meant", HANDSHAKE.replace("Connection: Upgrade", "Connection: keep-alive"), 426),
        ("too old", HANDSHAKE.replace("HTTP/1.1", "HTTP/1.0"), 426),
        ("another version", HANDSHAKE.replace(": 13", ": 8"), 426),
        ("a body", HANDSHAKE.replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\n{}"), 413),
        ("a body that is too large", HANDSHAKE.replace("\r\n\r\n", &format!("\r\n{big}")), 413),
    ] {
        let mut socket = Socket::open(test_server.address).await;
        socket.write(handshake.as_bytes()).await;
        assert_eq!(socket.status().await, Some(status), "{what}");
    }
    others_are_served(&test_server, "handshakes that are none").await;
}
