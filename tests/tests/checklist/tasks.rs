//! Checks 119 to 123: calls that run by themselves, as an extension. `tests/tasks` says more.

use gantry_tests::checks::{Check, story};
use gantry_tests::request::{call, request};
use gantry_tests::tasks::{self, able, about, begin, begun, settled, update};
use gantry_tests::test_server::TestServer;
use serde_json::{Value, json};

#[rustfmt::skip] // One case a line.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        story(119, "only who takes tasks gets one", || Box::pin(only_who_takes())),
        story(120, "a task is there at once, with what its status says", || Box::pin(at_once())),
        story(121, "answers and cancellation are acknowledged and no more", || Box::pin(acknowledged())),
        story(122, "the methods of the extension are for who declares it", || Box::pin(declared())),
        story(123, "keys are used once, failures of tools are results", || Box::pin(keys_and_ends())),
    ]
}

async fn test_server() -> TestServer {
    let test_server = TestServer::open().await;
    tasks::add(&test_server);
    test_server
}

async fn only_who_takes() {
    let test_server = test_server().await;
    test_server.latch.open();
    let plain = call("long_wait", json!({})).ask(test_server.address).await;
    assert_eq!(plain["result"]["resultType"], "complete", "{plain}");
    let task = begin("long_wait", json!({})).ask(test_server.address).await;
    assert_eq!(task["result"]["resultType"], "task", "{task}");
    let refused = call("long_only", json!({})).ask(test_server.address).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

async fn at_once() {
    let test_server = test_server().await;
    for (tool, status, member) in [
        ("long_ask", "input_required", "inputRequests"),
        ("long_fail", "completed", "result"),
        ("long_error", "failed", "error"),
    ] {
        let task = begun(&test_server, tool, json!({})).await;
        let found = about("tasks/get", task.clone()).ask(test_server.address).await;
        assert_eq!(found["result"]["taskId"], task, "{found}");
        assert_eq!(found["result"]["resultType"], "complete", "{found}");
        let settled = settled(&test_server, &task, status).await;
        assert!(settled[member].is_object(), "{settled}");
    }
}

async fn acknowledged() {
    let test_server = test_server().await;
    let task = begun(&test_server, "long_ask", json!({})).await;
    let requests = [update(task.clone(), json!({})), about("tasks/cancel", task)];
    for request in requests {
        let answer = request.ask(test_server.address).await;
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
        assert_eq!(answer["result"].as_object().unwrap().len(), 2, "{answer}");
    }
    let unknown = json!("unknown");
    for request in [update(unknown.clone(), json!({})), about("tasks/cancel", unknown)] {
        assert_eq!(request.ask(test_server.address).await["error"]["code"], -32602);
    }
}

async fn declared() {
    let test_server = test_server().await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = about(method, json!("x")).can(json!({})).ask(test_server.address).await;
        assert_eq!(answer["error"]["code"], -32021, "{method}: {answer}");
    }
    let removed = request("tasks/result", json!({"taskId": "x"})).can(able());
    assert_eq!(removed.ask(test_server.address).await["error"]["code"], -32601);
    let ignored = begin("echo", json!({"text": "hi"})).set("/params/task", json!({}));
    assert_eq!(ignored.ask(test_server.address).await["result"]["resultType"], "complete");
    let found = request("server/discover", json!({})).ask(test_server.address).await;
    assert!(found["result"]["capabilities"].get("tasks").is_none(), "{found}");
}

async fn keys_and_ends() {
    let test_server = test_server().await;
    let task = begun(&test_server, "long_twice", json!({})).await;
    let mut last = Value::Null;
    for _ in 0..2 {
        let asking = settled(&test_server, &task, "input_required").await;
        let key = asking["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        assert_ne!(last, json!(key));
        update(task.clone(), json!({(key.clone()): {"action": "decline"}}))
            .ask(test_server.address)
            .await;
        last = json!(key);
    }
    settled(&test_server, &task, "completed").await;
    let task = begun(&test_server, "long_fail", json!({})).await;
    assert_eq!(settled(&test_server, &task, "completed").await["result"]["isError"], true);
}
