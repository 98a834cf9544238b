//! Clients that are gone before their call is done.

use gantry_tests::http::Outgoing;
use gantry_tests::request::{Request, call, message};
use gantry_tests::test_server::{TestServer, soon};
use gantry_tests::transport::ClientTransport;
use serde_json::json;

use crate::crowd::{others_are_served, session, tool_call};
use crate::websocket::WebSocket;

#[tokio::test]
async fn alone_over_http_the_call_is_cancelled() {
    let test_server = TestServer::open().await;
    // With progress the answer is a stream that has begun, without it nothing was sent yet.
    let quiet = call("wait", json!({}));
    let address = test_server.address;
    let sending = tokio::spawn(async move { quiet.send(address).await });
    test_server.latch.started(1).await;
    sending.abort();
    test_server.latch.cancelled(1).await;
    let talking = call("wait", json!({})).set("/params/_meta/progressToken", json!("t"));
    let answer = talking.send(test_server.address).await;
    assert!(answer.is_stream());
    test_server.latch.started(2).await;
    drop(answer);
    test_server.latch.cancelled(2).await;
    others_are_served(&test_server, "clients that left").await;
}

#[tokio::test]
async fn in_a_session_over_http_the_call_goes_on() {
    for progress in [false, true] {
        let test_server = TestServer::open().await;
        let session = session(&test_server, "2025-11-25").await;
        let mut body = tool_call(1, "wait", &json!({}));
        if progress {
            body["params"]["_meta"]["progressToken"] = json!("t");
        }
        leave(&test_server, message(body).of(&session)).await;
    }
}

/// Hangs up while a call waits, which goes on to its end.
async fn leave(test_server: &TestServer, request: Request) {
    let address = test_server.address;
    let sending = tokio::spawn(async move { request.send(address).await.text().await });
    test_server.latch.started(1).await;
    sending.abort();
    let _ = sending.await;
    others_are_served(test_server, "a client that left").await;
    test_server.latch.open();
    test_server.latch.finished(1).await;
    assert_eq!(test_server.latch.cancels(), 0, "only the client's word ends it");
}

/// In a batch too, and its id is free again afterwards.
#[tokio::test]
async fn in_a_batch_the_call_goes_on() {
    for takes in ["application/json", "application/json, text/event-stream"] {
        let test_server = TestServer::open().await;
        let session = session(&test_server, "2025-03-26").await;
        let batch = json!([tool_call(1, "wait", &json!({}))]);
        leave(&test_server, message(batch).of(&session).replace("accept", takes)).await;
        let again = message(tool_call(1, "add", &json!({"a": 1, "b": 2}))).of(&session);
        let free =
            async { while !again.clone().ask(test_server.address).await["error"].is_null() {} };
        soon("the id to be free", free).await;
    }
}

#[tokio::test]
async fn on_a_connection_of_its_own_the_call_is_cancelled() {
    let test_server = TestServer::open().await;
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "gone", "version": "0"},
    }});
    let wait = tool_call(1, "wait", &json!({}));

    let mut socket = WebSocket::open(test_server.address).await;
    socket.send(hello.to_string().as_bytes()).await;
    socket.send(wait.to_string().as_bytes()).await;
    test_server.latch.started(1).await;
    drop(socket);
    test_server.latch.cancelled(1).await;

    let mut transport = ClientTransport::open(&test_server, "sse").await;
    transport.send(hello.to_string()).await;
    transport.send(wait.to_string()).await;
    test_server.latch.started(2).await;
    drop(transport);
    test_server.latch.cancelled(2).await;

    let link = test_server.link();
    assert!(link.send(hello.to_string()).await && link.send(wait.to_string()).await);
    test_server.latch.started(3).await;
    drop(link);
    test_server.latch.cancelled(3).await;
    others_are_served(&test_server, "connections that broke").await;
}

#[tokio::test]
async fn with_a_question_open_the_call_ends() {
    let test_server = TestServer::open().await;
    let in_flight = async || {
        let get = Outgoing {
            method: "GET".to_owned(),
            path: "/metrics".to_owned(),
            headers: vec![("Host".to_owned(), "127.0.0.1".to_owned())],
            body: Vec::new(),
        };
        let text = get.send(test_server.address).await.text().await;
        text.contains("\ngantry_calls_in_flight 1\n")
    };
    let mut socket = WebSocket::open(test_server.address).await;
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "gone", "version": "0"},
    }});
    socket.send(hello.to_string().as_bytes()).await;
    socket.receive().await.expect("an answer");
    socket.send(tool_call(1, "ask_name", &json!({})).to_string().as_bytes()).await;
    let question = socket.receive().await.expect("a question");
    assert_eq!(question["method"], "elicitation/create");
    // Answers that nobody asked for, or that are no answers.
    for answer in [
        json!({"jsonrpc": "2.0", "id": 999, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "1", "result": {}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "?"}}),
    ] {
        socket.send(answer.to_string().as_bytes()).await;
    }
    assert!(in_flight().await);
    drop(socket);
    let ended = async {
        while in_flight().await {
            tokio::task::yield_now().await;
        }
    };
    soon("the end of the call", ended).await;
}
