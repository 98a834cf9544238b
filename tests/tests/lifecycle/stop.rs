//! Signals: calls under way may finish, idle clients do not hold up the end, and asking twice is
//! an order.

use std::net::SocketAddr;

use gantry_tests::http::Answer;
use gantry_tests::request::{bodiless, call, initialize, message, request};
use gantry_tests::test_server::{TestServer, soon};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::program::{Program, state};

/// A call of `countdown` that has begun, in the newest revision or in a session.
async fn counting(address: SocketAddr, alone: bool, from: u32) -> Answer {
    let arguments = json!({"from": from});
    let mut answer = if alone {
        let request = call("countdown", arguments);
        request.set("/params/_meta/progressToken", json!("t")).send(address).await
    } else {
        let opened = initialize("2025-11-25").send(address).await;
        let session = opened.header("mcp-session-id").expect("an id").to_owned();
        let params = json!({
            "name": "countdown", "arguments": arguments, "_meta": {"progressToken": "t"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        message(body).of(&session).send(address).await
    };
    let progress = answer.message().await.expect("progress");
    assert_eq!(progress["method"], "notifications/progress");
    answer
}

#[tokio::test]
async fn calls_under_way_finish() {
    for signal in [Signal::TERM, Signal::INT] {
        let (program, address) = Program::serve(&state("drain")).await;
        let mut calls = [counting(address, true, 5).await, counting(address, false, 5).await];
        program.signal(signal);
        for answer in &mut calls {
            let messages = answer.messages().await;
            let last = messages.last().expect("an answer");
            assert_eq!(last["result"]["content"][0]["text"], "liftoff", "{last}");
        }
        assert!(TcpStream::connect(address).await.is_err(), "nobody new is let in");
        let end = program.end().await;
        assert_eq!(end.code, Some(0), "{}", end.log);
    }
}

#[tokio::test]
async fn a_log_that_nobody_reads_does_not_hold_up_the_end() {
    let (mut program, _) = Program::serve(&state("unread")).await;
    program.end_log();
    program.signal(Signal::TERM);
    assert_eq!(program.end().await.code, Some(0));
}

#[tokio::test]
async fn who_is_still_sending_is_told_so() {
    let (program, address) = Program::serve(&state("sending")).await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: 10\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("it is read");
    let mut asked = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    soon("to be asked for the body", stream.read_exact(&mut asked)).await.expect("it is asked");
    program.signal(Signal::TERM);
    let mut answer = String::new();
    soon("an answer", stream.read_to_string(&mut answer)).await.expect("text");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    drop(stream);
    assert_eq!(program.end().await.code, Some(0));
}

#[tokio::test]
async fn idle_clients_do_not_hold_up_the_end() {
    let (program, address) = Program::serve(&state("idle")).await;
    let opened = initialize("2025-11-25").send(address).await;
    let session = opened.header("mcp-session-id").expect("an id").to_owned();
    let mut stream = bodiless("GET").of(&session).send(address).await;
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut listening = request("subscriptions/listen", wanted).send(address).await;
    listening.message().await.expect("an acknowledgement");
    let mut sse = sse(address).await;
    sse.event().await.expect("the endpoint");
    let idle = TcpStream::connect(address).await.expect("it listens");
    let started = tokio::time::Instant::now();
    program.stop().await;
    let took = started.elapsed();
    assert!(took.as_secs() < 5, "nothing was under way, but the end took {took:?}");
    let ended = listening.messages().await;
    assert_eq!(ended.last().expect("the answer")["result"]["resultType"], "complete");
    assert!(stream.messages().await.is_empty() && sse.event().await.is_none());
    drop(idle);
}

async fn sse(address: SocketAddr) -> Answer {
    let get = gantry_tests::http::Outgoing {
        method: "GET".to_owned(),
        path: "/sse".to_owned(),
        headers: vec![("Host".to_owned(), "127.0.0.1".to_owned())],
        body: Vec::new(),
    };
    get.send(address).await
}

#[tokio::test]
async fn a_second_signal_does_not_wait() {
    let (program, address) = Program::serve(&state("twice")).await;
    let mut answer = counting(address, true, 20).await;
    program.signal(Signal::TERM);
    // The door is closed once the first signal was heard.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    program.signal(Signal::TERM);
    assert_eq!(program.end().await.code, Some(130));
    let rest = answer.messages().await;
    assert!(rest.iter().all(|message| message["result"].is_null()), "{rest:?}");
}

#[tokio::test]
async fn a_question_that_is_open_can_still_be_answered() {
    let test_server = TestServer::open().await;
    let mut link = test_server.link();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "late", "version": "0"},
    }});
    let ask =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_name"}});
    assert!(link.send(hello.to_string()).await && link.send(ask.to_string()).await);
    let mut receive = async || -> Option<Value> {
        let text = soon("a message", link.receive()).await?;
        Some(serde_json::from_slice(&text).expect("JSON"))
    };
    receive().await.expect("the handshake");
    let question = receive().await.expect("a question");
    test_server.server.stop();
    // On this one thread the connection hears of it before the answer comes.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    let _ = link.send(answer.to_string()).await;
    let last = soon("the answer", link.receive()).await.expect("the call ends");
    let last: Value = serde_json::from_slice(&last).expect("JSON");
    assert_eq!(last["result"]["content"][0]["text"], "accept Ada", "{last}");
    test_server.close().await;
}
