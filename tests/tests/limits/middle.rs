//! The limits of the middle, seen from outside.

use std::time::Duration;

use gantry::{Failure, GatewaySettings, InputRequired, RawJson, Reply, Tool};
use gantry_tests::http::Outgoing;
use gantry_tests::request::{call, initialize, list, request};
use gantry_tests::test_server::{TestOptions, TestServer, soon};
use serde_json::{Value, json};

async fn test_server(middle: GatewaySettings) -> TestServer {
    TestServer::with(TestOptions { middle, ..TestOptions::default() }).await
}

#[tokio::test]
pub(crate) async fn deadline() {
    let deadline = Duration::from_millis(50);
    let test_server = test_server(GatewaySettings { deadline, ..GatewaySettings::default() }).await;
    let answer = call("wait", json!({})).ask(test_server.address).await;
    let detail = &answer["result"]["_meta"]["gantry/error"];
    assert_eq!(detail["error_type"], "TimeoutError", "{answer}");
    test_server.latch.cancelled(1).await;
}

#[tokio::test]
pub(crate) async fn calls_in_flight() {
    let test_server =
        test_server(GatewaySettings { calls_in_flight: 1, ..GatewaySettings::default() }).await;
    let address = test_server.address;
    let first = tokio::spawn(async move { call("wait", json!({})).ask(address).await });
    test_server.latch.started(1).await;
    let mut refused = list().send(test_server.address).await;
    assert_eq!(refused.status, 429);
    let error = refused.message().await.expect("an error");
    assert_eq!(error["error"]["code"], -32010, "{error}");
    assert!(error["error"]["data"]["retryAfterMs"].is_u64(), "{error}");
    test_server.latch.open();
    assert!(first.await.expect("it ends")["result"].is_object());
    assert_eq!(list().send(test_server.address).await.status, 200, "there is room again");
}

#[tokio::test]
pub(crate) async fn notifications() {
    let test_server =
        test_server(GatewaySettings { notifications: 2, ..GatewaySettings::default() }).await;
    let burst = Tool::new("burst", "Reports.").input_schema(json!({"type": "object"}));
    let burst = burst.run(|_: Value, context| async move {
        (1..=100).for_each(|step| context.progress(f64::from(step), Some(100.0), None));
        Ok::<_, Failure>("done")
    });
    test_server.server.handlers().add_tool(burst).expect("the name is free");
    let call = call("burst", json!({})).set("/params/_meta/progressToken", json!("t"));
    let messages = call.send(test_server.address).await.messages().await;
    assert_eq!(messages.len(), 3, "two notifications and the answer: {messages:?}");
}

#[tokio::test]
pub(crate) async fn answer_within() {
    let answer_within = Duration::from_millis(50);
    let test_server =
        test_server(GatewaySettings { answer_within, ..GatewaySettings::default() }).await;
    let mut link = test_server.link();
    assert!(link.send(initialize("2025-11-25").body()).await);
    let ask =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_name"}});
    assert!(link.send(ask.to_string()).await);
    let answer = loop {
        let text = soon("a message", link.receive()).await.expect("the connection goes on");
        let message: Value = serde_json::from_slice(&text).expect("JSON");
        if message["id"] == 1 && message["method"].is_null() {
            break message;
        }
    };
    let detail = &answer["result"]["_meta"]["gantry/error"];
    assert_eq!(detail["error_type"], "TimeoutError", "{answer}");
}

#[tokio::test]
pub(crate) async fn input_rounds() {
    let test_server =
        test_server(GatewaySettings { input_rounds: 3, ..GatewaySettings::default() }).await;
    let endless = Tool::new("endless", "Asks.").input_schema(json!({"type": "object"}));
    let endless = endless.run(|_: Value, _| async {
        let requests = RawJson::of(&json!({"roots": {"method": "roots/list"}}))?;
        let state = None;
        Ok::<_, Failure>(Reply::InputRequired(InputRequired { requests: Some(requests), state }))
    });
    test_server.server.handlers().add_tool(endless).expect("the name is free");
    let mut link = test_server.link();
    assert!(link.send(initialize("2025-11-25").body()).await);
    link.receive().await.expect("the handshake");
    let ask = json!({"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": {"name": "endless"}});
    assert!(link.send(ask.to_string()).await);
    let mut questions = 0;
    loop {
        let text = soon("a message", link.receive()).await.expect("the connection goes on");
        let message: Value = serde_json::from_slice(&text).expect("JSON");
        if message["id"] == "call" {
            assert_eq!(message["result"]["isError"], true, "{message}");
            break;
        }
        questions += 1;
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": []}});
        assert!(link.send(answer.to_string()).await);
    }
    assert_eq!(questions, 3);
}

#[tokio::test]
pub(crate) async fn page_size() {
    let test_server =
        test_server(GatewaySettings { page_size: 3, ..GatewaySettings::default() }).await;
    let first = list().ask(test_server.address).await;
    assert_eq!(first["result"]["tools"].as_array().map(Vec::len), Some(3));
    let cursor = first["result"]["nextCursor"].clone();
    let second = request("tools/list", json!({"cursor": cursor})).ask(test_server.address).await;
    assert_ne!(second["result"]["tools"][0], first["result"]["tools"][0]);
}

#[tokio::test]
pub(crate) async fn page_bytes() {
    let test_server =
        test_server(GatewaySettings { page_bytes: 1, ..GatewaySettings::default() }).await;
    let first = list().ask(test_server.address).await;
    assert_eq!(first["result"]["tools"].as_array().map(Vec::len), Some(1));
    assert!(first["result"]["nextCursor"].is_string(), "{first}");
}

#[tokio::test]
pub(crate) async fn list_ttl_ms() {
    let test_server =
        test_server(GatewaySettings { list_ttl_ms: 777, ..GatewaySettings::default() }).await;
    assert_eq!(list().ask(test_server.address).await["result"]["ttlMs"], 777);
}

#[tokio::test]
pub(crate) async fn lists_are_public() {
    for (lists_are_public, scope) in [(true, "public"), (false, "private")] {
        let settings = GatewaySettings { lists_are_public, ..GatewaySettings::default() };
        let answer = list().ask(test_server(settings).await.address).await;
        assert_eq!(answer["result"]["cacheScope"], scope);
    }
}

#[tokio::test]
pub(crate) async fn settle() {
    let settle = Duration::from_millis(300);
    let test_server = test_server(GatewaySettings { settle, ..GatewaySettings::default() }).await;
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut listening = request("subscriptions/listen", wanted).send(test_server.address).await;
    listening.message().await.expect("an acknowledgement");
    for number in 0..20 {
        let tool =
            Tool::new(format!("new_{number}"), "New.").input_schema(json!({"type": "object"}));
        let tool = tool.run(|_: Value, _| async { Ok::<_, Failure>("new") });
        test_server.server.handlers().add_tool(tool).expect("the name is free");
        tokio::task::yield_now().await;
    }
    let told = listening.message().await.expect("a notification");
    assert_eq!(told["method"], "notifications/tools/list_changed");
    test_server.server.stop();
    let rest = listening.messages().await;
    let again = rest.iter().filter(|it| it["method"] == "notifications/tools/list_changed");
    assert_eq!(again.count(), 0, "twenty changes are one piece of news");
}

/// A house in which two tools were called, each once.
async fn busy_server(middle: GatewaySettings) -> TestServer {
    let test_server = test_server(middle).await;
    for name in ["one", "two"] {
        let tool = Tool::new(name, "Answers.").input_schema(json!({"type": "object"}));
        let tool = tool.run(|_: Value, _| async { Ok::<_, Failure>("done") });
        test_server.server.handlers().add_tool(tool).expect("the name is free");
        call(name, json!({})).ask(test_server.address).await;
    }
    test_server
}

#[tokio::test]
pub(crate) async fn tools_labelled() {
    let test_server =
        busy_server(GatewaySettings { tools_labelled: 1, ..GatewaySettings::default() }).await;
    let host = ("Host".to_owned(), test_server.address.to_string());
    let (method, path) = ("GET".to_owned(), "/metrics".to_owned());
    let metrics = Outgoing { method, path, headers: vec![host], body: Vec::new() };
    let text = metrics.send(test_server.address).await.text().await;
    let rows: Vec<_> =
        text.lines().filter_map(|line| line.strip_prefix("gantry_tool_calls_total")).collect();
    assert_eq!(rows, ["{tool=\"one\"} 1", "{tool=\"other\"} 1"]);
}

#[tokio::test]
pub(crate) async fn tools_counted() {
    let test_server =
        busy_server(GatewaySettings { tools_counted: 1, ..GatewaySettings::default() }).await;
    let known = test_server.server.statistics();
    let known: Vec<_> = known.iter().map(|tool| (tool.name.as_str(), tool.calls)).collect();
    assert_eq!(known, [("(other)", 1), ("one", 1)]);
}
