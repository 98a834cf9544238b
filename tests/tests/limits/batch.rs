//! The limits of `gantry/batch`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gantry::{Failure, GatewaySettings, Tool};
use gantry_tests::request::request;
use gantry_tests::test_server::{TestOptions, TestServer};
use serde_json::{Value, json};

async fn test_server(middle: GatewaySettings) -> TestServer {
    TestServer::with(TestOptions { middle, ..TestOptions::default() }).await
}

async fn run(test_server: &TestServer, calls: Value) -> Value {
    request("gantry/batch", json!({"calls": calls})).ask(test_server.address).await
}

/// So many calls of a tool, each with these arguments.
fn calls(count: usize, tool: &str, arguments: &Value) -> Value {
    let call = |it| json!({"id": format!("c{it}"), "name": tool, "arguments": arguments});
    (0..count).map(call).collect()
}

fn refused(answer: &Value, text: &str) {
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains(text), "{answer}");
}

#[tokio::test]
pub(crate) async fn batch_calls() {
    let test_server =
        test_server(GatewaySettings { batch_calls: 2, ..GatewaySettings::default() }).await;
    let echo = |count| calls(count, "echo", &json!({"text": "x"}));
    assert!(run(&test_server, echo(2)).await["result"]["results"][1]["result"].is_object());
    refused(&run(&test_server, echo(3)).await, "may hold 2 calls");
}

#[tokio::test]
pub(crate) async fn batch_parallel() {
    for limit in [1, 3] {
        let settings = GatewaySettings { batch_parallel: limit, ..GatewaySettings::default() };
        let test_server = test_server(settings).await;
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = most.clone();
        let meet = Tool::new("meet", "Counts.").input_schema(json!({"type": "object"}));
        let meet = meet.run(move |_: Value, _| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Failure>("met")
            }
        });
        test_server.server.handlers().add_tool(meet).expect("the name is free");
        run(&test_server, calls(10, "meet", &json!({}))).await;
        assert_eq!(seen.load(Ordering::SeqCst), limit);
    }
}

#[tokio::test]
pub(crate) async fn batch_references() {
    let test_server =
        test_server(GatewaySettings { batch_references: 2, ..GatewaySettings::default() }).await;
    let echo = |text: &str| {
        json!([{"id": "a", "name": "echo", "arguments": {"text": "x"}},
            {"id": "b", "name": "echo", "arguments": {"text": text}}])
    };
    let place = "${a./content/0/text}";
    let answer = run(&test_server, echo(&place.repeat(2))).await;
    let text = answer.pointer("/result/results/1/result/content/0/text");
    assert_eq!(text, Some(&json!("xx")), "{answer}");
    refused(&run(&test_server, echo(&place.repeat(3))).await, "refers too often");
}

#[tokio::test]
pub(crate) async fn batch_filled() {
    let test_server =
        test_server(GatewaySettings { batch_filled: 100, ..GatewaySettings::default() }).await;
    for (size, status) in [(98, "ok"), (99, "error")] {
        let reference = json!({"$from": "a", "path": "/content/0/text"});
        let answer = run(
            &test_server,
            json!([{"id": "a", "name": "echo", "arguments": {"text": "x".repeat(size)}},
                {"id": "b", "name": "echo", "arguments": {"text": reference}}]),
        );
        let answer = answer.await;
        assert_eq!(answer["result"]["results"][1]["status"], status, "{answer}");
    }
}

#[tokio::test]
pub(crate) async fn batch_searched() {
    let settings = GatewaySettings { batch_searched: 1000, ..GatewaySettings::default() };
    let test_server = test_server(settings).await;
    let echo =
        |id: &str, text: Value| json!({"id": id, "name": "echo", "arguments": {"text": text}});
    let place = json!({"$from": "a", "path": "/content/0/text"});
    let calls = [echo("a", json!("x".repeat(200))), echo("b", place.clone()), echo("c", place)];
    let answer = run(&test_server, json!(calls)).await;
    let mut status: Vec<_> =
        (0..3).map(|it| answer["result"]["results"][it]["status"].to_string()).collect();
    status.sort();
    assert_eq!(status, [r#""error""#, r#""ok""#, r#""ok""#], "{answer}");
    assert!(answer.to_string().contains("look through more than 1000 bytes"), "{answer}");
}

#[tokio::test]
pub(crate) async fn batch_results() {
    let test_server =
        test_server(GatewaySettings { batch_results: 500, ..GatewaySettings::default() }).await;
    let echo = |id: &str, after: Value| {
        let arguments = json!({"text": "x".repeat(180)});
        json!({"id": id, "name": "echo", "arguments": arguments, "after": after})
    };
    let calls = [echo("a", json!([])), echo("b", json!(["a"])), echo("c", json!(["b"]))];
    let answer = run(&test_server, json!(calls)).await;
    let status: Vec<_> = (0..3).map(|it| &answer["result"]["results"][it]["status"]).collect();
    assert_eq!(status, ["ok", "ok", "error"], "{answer}");
    let told = answer["result"]["results"][2]["error"].to_string();
    assert!(told.contains("larger than 500 bytes"), "{told}");
}
