//! `gantry/batch` over every door and era.

use gantry_tests::request::{Request, initialize, list, message, request};
use gantry_tests::test_server::TestServer;
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};

const OLDER: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Adds twice, reads, and says what came of it.
fn sums() -> Value {
    let sum = "/structuredContent/sum";
    json!({"calls": [
        {"id": "said", "name": "echo", "arguments": {"text": format!("it is ${{second.{sum}}}")}},
        {"id": "first", "name": "add", "arguments": {"a": 1, "b": 2}},
        {"id": "second", "name": "add",
            "arguments": {"a": {"$from": "first", "path": sum}, "b": 10}},
        {"id": "read", "uri": "test://watched"},
        {"id": "broken", "name": "fail"},
        {"id": "never", "name": "echo", "after": ["broken"]},
    ]})
}

fn batch(plan: Value) -> Request {
    request("gantry/batch", plan)
}

fn in_session(id: u64, plan: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "gantry/batch", "params": plan}).to_string()
}

fn statuses(answer: &Value) -> Vec<&str> {
    let results = answer["result"]["results"].as_array();
    let results = results.unwrap_or_else(|| panic!("results in {answer}"));
    results.iter().filter_map(|entry| entry["status"].as_str()).collect()
}

/// The next message that answers something; others are passed to `hear`.
async fn answer(transport: &mut ClientTransport, mut hear: impl FnMut(&Value)) -> Value {
    loop {
        let message = transport.receive().await.expect("a message");
        if message.get("method").is_none() && message.is_object() {
            return message;
        }
        hear(&message);
    }
}

#[tokio::test]
async fn every_client_can_send_one() {
    let test_server = TestServer::open().await;
    let expected = ["ok", "ok", "ok", "ok", "error", "skipped"];
    let answer_newest = batch(sums()).ask(test_server.address).await;
    assert_eq!(statuses(&answer_newest), expected, "{answer_newest}");
    assert_eq!(answer_newest["result"]["resultType"], "complete");
    let said = "/result/results/0/result/content/0/text";
    assert_eq!(answer_newest.pointer(said), Some(&json!("it is 13")));
    assert_eq!(answer_newest["result"]["results"][2]["result"]["resultType"], "complete");
    for revision in OLDER {
        for name in ["http", "sse", "link"] {
            let mut transport = ClientTransport::open(&test_server, name).await;
            transport.send(initialize(revision).body()).await;
            let greeting = answer(&mut transport, |_| {}).await;
            let experimental = &greeting["result"]["capabilities"]["experimental"];
            assert!(experimental["gantry/batch"].is_object(), "{revision} {name}: {greeting}");
            transport.send(in_session(1, &sums())).await;
            let answer = answer(&mut transport, |_| {}).await;
            assert_eq!(statuses(&answer), expected, "{revision} {name}");
            assert_eq!(answer.pointer(said), Some(&json!("it is 13")), "{revision} {name}");
            let inner = &answer["result"]["results"][2]["result"];
            assert!(inner.get("resultType").is_none(), "{revision} {name}: {inner}");
        }
    }
    let found = request("server/discover", json!({})).ask(test_server.address).await;
    assert!(found["result"]["capabilities"]["extensions"]["gantry/batch"].is_object(), "{found}");
    assert!(list().ask(test_server.address).await["result"]["tools"].is_array());
}

#[tokio::test]
async fn a_bad_plan_is_an_error() {
    let test_server = TestServer::open().await;
    let plan = json!({"calls": [{"id": "a", "name": "echo", "after": ["a"]}]});
    let newest = batch(plan.clone()).ask(test_server.address).await;
    assert_eq!(newest["error"]["code"], -32602, "{newest}");
    let mut transport = ClientTransport::open(&test_server, "link").await;
    transport.send(initialize("2025-06-18").body()).await;
    answer(&mut transport, |_| {}).await;
    transport.send(in_session(1, &plan)).await;
    let older = answer(&mut transport, |_| {}).await;
    assert_eq!(older["error"]["code"], -32602, "{older}");
}

fn asking() -> Value {
    json!({"calls": [
        {"id": "one", "name": "ask_name"},
        {"id": "two", "name": "ask_both"},
        {"id": "said", "name": "echo",
            "arguments": {"text": "${one./content/0/text} and ${two./content/0/text}"}},
    ]})
}

const SAID: &str =
    "accept one.elicitation-1 and accept two.elicitation-1, accept two.elicitation-2";

#[tokio::test]
async fn questions_of_all_calls_go_out_together() {
    let test_server = TestServer::open().await;
    let asking = batch(asking()).can(json!({"elicitation": {}}));
    let asked = asking.ask(test_server.address).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let requests = asked["result"]["inputRequests"].as_object().expect("requests");
    let keys: Vec<_> = requests.keys().cloned().collect();
    assert_eq!(keys, ["one.elicitation-1", "two.elicitation-1", "two.elicitation-2"]);
    let filled =
        |key: &String| (key.clone(), json!({"action": "accept", "content": {"name": key}}));
    let answers: Value = keys.iter().map(filled).collect::<serde_json::Map<_, _>>().into();
    let state = asked["result"]["requestState"].clone();
    let retry = asking.set("/params/requestState", state).set("/params/inputResponses", answers);
    let answer = retry.ask(test_server.address).await;
    let said = answer.pointer("/result/results/2/result/content/0/text");
    assert_eq!(said, Some(&json!(SAID)), "{answer}");
}

#[tokio::test]
async fn questions_reach_a_client_with_a_session() {
    let test_server = TestServer::open().await;
    let mut transport = ClientTransport::open(&test_server, "link").await;
    transport.send(initialize("2025-06-18").body()).await;
    answer(&mut transport, |_| {}).await;
    transport.send(in_session(7, &asking())).await;
    let mut asked = 0;
    let done = loop {
        let message = transport.receive().await.expect("a message");
        if message["method"] != "elicitation/create" {
            break message;
        }
        asked += 1;
        let content = json!({"action": "accept", "content": {"name": "Ada"}});
        let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": content});
        transport.send(reply.to_string()).await;
    };
    assert_eq!(asked, 3);
    let said = done.pointer("/result/results/2/result/content/0/text");
    assert_eq!(said, Some(&json!("accept Ada and accept Ada, accept Ada")), "{done}");
}

#[tokio::test]
async fn progress_and_cancelling_are_those_of_the_batch() {
    let test_server = TestServer::open().await;
    let mut transport = ClientTransport::open(&test_server, "link").await;
    transport.send(initialize("2025-11-25").body()).await;
    answer(&mut transport, |_| {}).await;
    let plan = json!({"_meta": {"progressToken": "t"}, "calls": [
        {"id": "a", "name": "echo", "arguments": {"text": "x"}},
        {"id": "b", "name": "wait"}, {"id": "c", "name": "wait"},
    ]});
    transport.send(in_session(1, &plan)).await;
    let first = transport.receive().await.expect("progress");
    assert_eq!(first["method"], "notifications/progress", "{first}");
    let expected = json!({"progressToken": "t", "progress": 1, "total": 3, "message": "a ok"});
    assert_eq!(first["params"], expected);
    test_server.latch.started(2).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    transport.send(cancel.to_string()).await;
    test_server.latch.cancelled(2).await;
    transport.send(message(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).body()).await;
    assert_eq!(answer(&mut transport, |_| {}).await["id"], 2, "the batch has no answer");
}
