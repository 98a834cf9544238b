//! Texts that are no messages, and messages that make no sense, on every door.

use gantry_tests::request::message;
use gantry_tests::test_server::TestServer;
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};

use crate::crowd::{others_are_served, session, tool_call};
use crate::socket::{Socket, post};
use crate::websocket::WebSocket;

/// A text, the code it is answered with, and the id.
type Case = (&'static [u8], i64, Value);

fn cases() -> Vec<Case> {
    let none = Value::Null;
    vec![
        (b"{", -32700, none.clone()),
        (b"not json", -32700, none.clone()),
        (b"{} {}", -32700, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", -32700, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"ping\"}", -32700, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\x00ng\"}", -32700, none.clone()),
        (b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32700, none.clone()),
        (b"null", -32600, none.clone()),
        (b"7", -32600, none.clone()),
        (b"\"ping\"", -32600, none.clone()),
        (b"[]", -32600, none.clone()),
        (b"{}", -32600, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"ping\"}", -32600, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", -32600, none.clone()),
        (b"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", -32600, none.clone()),
        (b"{\"id\":7,\"method\":\"ping\"}", -32600, json!(7)),
        (b"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", -32600, json!("a")),
        (b"{\"jsonrpc\":2.0,\"id\":7,\"method\":\"ping\"}", -32600, json!(7)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":7}", -32600, json!(7)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":[]}", -32600, json!(7)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":\"x\"}", -32600, json!(7)),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"method\":\"tools/list\"}",
            -32600,
            json!(7),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"meth\\u006fd\":\"tools/list\"}",
            -32600,
            json!(7),
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"no/such\"}", -32601, json!(7)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\"}", -32601, json!(7)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}", -32602, json!(7)),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\
              \"params\":{\"name\":\"echo\",\"name\":\"add\"}}",
            -32602,
            json!(7),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\
              \"params\":{\"name\":\"\\ud800\"}}",
            -32602,
            json!(7),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{\"cursor\":7}}",
            -32602,
            json!(7),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"logging/setLevel\",\
              \"params\":{\"level\":\"loud\"}}",
            -32602,
            json!(7),
        ),
    ]
}

fn check(transport: &str, case: &Case, answer: &Value) {
    let (sent, code, id) = case;
    let sent = String::from_utf8_lossy(sent);
    assert_eq!(answer["error"]["code"], *code, "{transport}: {sent} gave {answer}");
    assert_eq!(answer["id"], *id, "{transport}: {sent} gave {answer}");
    assert_eq!(answer["jsonrpc"], "2.0", "{transport}: {sent} gave {answer}");
}

/// Texts too deep or too long for the settings.
fn too_much() -> [Vec<u8>; 2] {
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    let long = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{}"}}"#, "x".repeat(5 << 20));
    [deep, long.into_bytes()]
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bad","version":"0"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":"alive","method":"ping"}"#;

#[tokio::test]
async fn over_a_connection() {
    let test_server = TestServer::open().await;
    let mut link = test_server.link();
    assert!(link.send(HELLO).await);
    link.receive().await.expect("an answer");
    let mut ask = async |text: Vec<u8>| -> Value {
        assert!(link.send(text).await, "the connection goes on");
        let answer = link.receive().await.expect("an answer");
        serde_json::from_slice(&answer).expect("JSON")
    };
    for case in cases() {
        let answer = ask(case.0.to_vec()).await;
        check("a connection", &case, &answer);
        assert_eq!(ask(PING.into()).await["id"], "alive", "the connection goes on");
    }
    for text in too_much() {
        assert_eq!(ask(text).await["error"]["code"], -32700);
        assert_eq!(ask(PING.into()).await["id"], "alive", "the connection goes on");
    }
    others_are_served(&test_server, "bad messages").await;
}

#[tokio::test]
async fn over_websocket() {
    let test_server = TestServer::open().await;
    let mut socket = WebSocket::open(test_server.address).await;
    socket.send(HELLO.as_bytes()).await;
    socket.receive().await.expect("an answer");
    for case in cases() {
        // As binary: a text frame that is not UTF-8 breaks the connection's own rules.
        socket.send(case.0).await;
        let answer = socket.receive().await.expect("the connection goes on");
        check("WebSocket", &case, &answer);
        socket.send(PING.as_bytes()).await;
        assert_eq!(socket.receive().await.expect("the connection goes on")["id"], "alive");
    }
    others_are_served(&test_server, "bad messages").await;
}

#[tokio::test]
async fn over_http_with_sse() {
    let test_server = TestServer::open().await;
    let mut transport = ClientTransport::open(&test_server, "sse").await;
    transport.send(HELLO.to_owned()).await;
    transport.receive().await.expect("an answer");
    for case in cases() {
        let Ok(text) = String::from_utf8(case.0.to_vec()) else { continue };
        transport.send(text).await;
        check("HTTP+SSE", &case, &transport.receive().await.expect("an answer"));
    }
    transport.send(PING.to_owned()).await;
    assert_eq!(transport.receive().await.expect("an answer")["id"], "alive");
}

#[tokio::test]
async fn in_a_session_over_http() {
    let test_server = TestServer::open().await;
    let session = session(&test_server, "2025-11-25").await;
    // One connection for all: a bad message is no reason to close it.
    let mut socket = Socket::open(test_server.address).await;
    let headers = format!("Mcp-Session-Id: {session}\r\n");
    for (text, code, id) in cases() {
        socket.write(&post(&headers, text)).await;
        let shown = String::from_utf8_lossy(text);
        let head = socket.head().await.expect("the connection goes on");
        let answer = body(&mut socket, &head).await;
        assert_eq!(answer["error"]["code"], code, "{shown} gave {answer}");
        assert_eq!(answer["id"], id, "{shown} gave {answer}");
        let status = if (-32700..=-32600).contains(&code) && code != -32601 && code != -32602 {
            " 400 "
        } else {
            " 200 "
        };
        assert!(head.contains(status), "{shown} gave {head}");
    }
    others_are_served(&test_server, "bad bodies").await;
}

async fn body(socket: &mut Socket, head: &str) -> Value {
    let head = head.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|it| it.lines().next());
    let length: usize = length.expect("a length").trim().parse().expect("a number");
    let text =
        socket.until(|bytes| (bytes.len() >= length).then(|| (length, bytes[..length].to_vec())));
    serde_json::from_slice(&text.await.expect("a body")).expect("JSON")
}

#[tokio::test]
async fn of_the_newest_revision_over_http() {
    let test_server = TestServer::open().await;
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";
    for (text, code, id) in cases().into_iter().filter(|(_, code, _)| *code <= -32600) {
        if code == -32601 || code == -32602 {
            continue;
        }
        let mut socket = Socket::open(test_server.address).await;
        socket.write(&post(headers, text)).await;
        let shown = String::from_utf8_lossy(text);
        let head = socket.head().await.expect("an answer");
        assert!(head.contains(" 400 "), "{shown} gave {head}");
        let answer = body(&mut socket, &head).await;
        assert_eq!(answer["error"]["code"], code, "{shown} gave {answer}");
        assert_eq!(answer["id"], id, "{shown} gave {answer}");
        let members = answer.as_object().expect("an object");
        assert_eq!(
            members.contains_key("id"),
            !id.is_null(),
            "an unknown id is left out: {answer}"
        );
    }
    others_are_served(&test_server, "bad bodies").await;
}

#[tokio::test]
async fn batches_with_bad_members() {
    let test_server = TestServer::open().await;
    let mut link = test_server.link();
    assert!(link.send(HELLO.replace("2025-11-25", "2025-03-26")).await);
    link.receive().await.expect("an answer");
    let mut ask = async |text: &str| -> Value {
        assert!(link.send(text.to_owned()).await);
        serde_json::from_slice(&link.receive().await.expect("an answer")).expect("JSON")
    };
    let answers =
        ask(&format!(r#"[1, {{}}, {PING}, [], {{"jsonrpc":"2.0","id":1.5,"method":"x"}}]"#)).await;
    let answers = answers.as_array().expect("a batch is answered with one");
    let count = |code: i64| answers.iter().filter(|it| it["error"]["code"] == code).count();
    assert_eq!((answers.len(), count(-32600)), (5, 4), "{answers:?}");
    let twice = ask(&format!("[{PING},{PING}]")).await;
    assert_eq!(twice.as_array().map(Vec::len), Some(2), "every request has an answer: {twice}");
    let initialize = ask(&format!("[{HELLO}]")).await;
    assert_eq!(initialize[0]["error"]["code"], -32600, "{initialize}");
}

#[tokio::test]
async fn over_http_every_request_of_a_batch_is_answered() {
    let test_server = TestServer::open().await;
    let session = session(&test_server, "2025-03-26").await;
    let call = tool_call(1, "wait", &json!({}));
    let batch = message(json!([call, call])).of(&session);
    let address = test_server.address;
    let sending = tokio::spawn(async move { batch.send(address).await.messages().await });
    test_server.latch.started(1).await;
    test_server.latch.open();
    let mut answers = Vec::new();
    for message in sending.await.expect("an answer") {
        match message {
            Value::Array(messages) => answers.extend(messages),
            message => answers.push(message),
        }
    }
    assert_eq!(answers.len(), 2, "an id in use is an error, not silence: {answers:?}");
}
