//! Clients whose every request stands alone.

use gantry::ServerSettings;
use gantry_tests::request::{call, request};
use gantry_tests::tasks::{able, about, begin, begun, settled, update};
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};

use crate::test_server;

fn named(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

fn keys(task: &Value) -> Vec<&String> {
    task["inputRequests"].as_object().unwrap().keys().collect()
}

#[tokio::test]
async fn what_each_call_comes_to() {
    let test_server = test_server(ServerSettings::default()).await;
    test_server.latch.open();
    let cases = [
        ("long_wait", "completed", "/result/content/0/text", json!("done")),
        ("long_wait", "completed", "/result/resultType", json!("complete")),
        ("long_fail", "completed", "/result/isError", json!(true)),
        ("long_error", "failed", "/error/code", json!(4001)),
        ("long_error", "failed", "/error/message", json!("not on a Sunday")),
    ];
    for (tool, status, pointer, expected) in cases {
        let task = begun(&test_server, tool, json!({})).await;
        let ended = settled(&test_server, &task, status).await;
        assert_eq!(ended.pointer(pointer), Some(&expected), "{tool}: {ended}");
        assert_eq!(ended["resultType"], "complete", "{ended}");
        let both = ended.get("result").is_some() && ended.get("error").is_some();
        assert!(!both && ended.get("inputRequests").is_none(), "{ended}");
    }
}

#[tokio::test]
async fn a_task_shows_how_far_it_is_and_can_be_cancelled() {
    let test_server = test_server(ServerSettings::default()).await;
    let task = begun(&test_server, "long_wait", json!({})).await;
    test_server.latch.started(1).await;
    let working = settled(&test_server, &task, "working").await;
    assert_eq!(working["statusMessage"], "at the gate", "{working}");
    assert!(working["ttlMs"].is_u64() && working["pollIntervalMs"].is_u64(), "{working}");
    for round in 1..=2 {
        let answer = about("tasks/cancel", task.clone()).ask(test_server.address).await;
        let members: Vec<_> = answer["result"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["_meta", "resultType"], "round {round}: {answer}");
        assert_eq!(answer["result"]["resultType"], "complete");
        let ended = settled(&test_server, &task, "cancelled").await;
        assert!(ended.get("result").is_none() && ended.get("error").is_none(), "{ended}");
    }
    test_server.latch.cancelled(1).await;
}

#[tokio::test]
async fn questions_are_answered_in_parts_and_their_keys_are_never_used_again() {
    let test_server = test_server(ServerSettings::default()).await;
    let task = begun(&test_server, "long_ask", json!({})).await;
    let asking = settled(&test_server, &task, "input_required").await;
    let both = keys(&asking);
    assert_eq!(both.len(), 2, "{asking}");
    assert_eq!(asking["inputRequests"][both[0]]["method"], "elicitation/create", "{asking}");
    let cases = [
        (json!({"unknown": 1}), 0, 2),
        (json!({(both[0]): {"action": "perhaps"}}), -32602, 2),
        (json!({(both[0]): named("Ann"), "unknown": 1}), 0, 1),
        (json!({(both[0]): named("Eve")}), 0, 1),
    ];
    for (responses, code, left) in cases {
        let answer = update(task.clone(), responses).ask(test_server.address).await;
        assert_eq!(answer["error"]["code"].as_i64().unwrap_or(0), code, "{answer}");
        let asking = settled(&test_server, &task, "input_required").await;
        assert_eq!(keys(&asking).len(), left, "{asking}");
    }
    update(task.clone(), json!({(both[1]): named("Bob")})).ask(test_server.address).await;
    let ended = settled(&test_server, &task, "completed").await;
    assert_eq!(ended["result"]["content"][0]["text"], "Ann and Bob", "{ended}");

    let task = begun(&test_server, "long_twice", json!({})).await;
    let mut used = Vec::new();
    for name in ["Ann", "Bob"] {
        let asking = settled(&test_server, &task, "input_required").await;
        let key = keys(&asking)[0].clone();
        assert!(!used.contains(&key), "{key} again");
        update(task.clone(), json!({(key.clone()): named(name)})).ask(test_server.address).await;
        used.push(key);
    }
    let ended = settled(&test_server, &task, "completed").await;
    assert_eq!(ended["result"]["content"][0]["text"], "Ann, Bob", "{ended}");
}

#[tokio::test]
async fn what_is_asked_before_is_asked_in_rounds() {
    let test_server = test_server(ServerSettings::default()).await;
    let first = begin("long_only", json!({})).ask(test_server.address).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let key = keys(&first["result"])[0].clone();
    let retry = begin("long_only", json!({}))
        .set("/params/requestState", first["result"]["requestState"].clone())
        .set("/params/inputResponses", json!({(key): named("Ann")}));
    let created = retry.ask(test_server.address).await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    assert!(created["result"].get("requestState").is_none(), "{created}");
    let ended = settled(&test_server, &created["result"]["taskId"], "completed").await;
    assert_eq!(ended["result"]["content"][0]["text"], "Ann", "{ended}");
}

#[tokio::test]
async fn who_takes_no_tasks_waits_or_is_refused() {
    let test_server = test_server(ServerSettings::default()).await;
    test_server.latch.open();
    let plain = call("long_wait", json!({})).ask(test_server.address).await;
    assert_eq!(plain["result"]["content"][0]["text"], "done", "{plain}");
    // What 2025-11-25 calls tasks is not what is meant here.
    let old = call("long_wait", json!({})).can(json!({"tasks": {}})).ask(test_server.address).await;
    assert_eq!(old["result"]["resultType"], "complete", "{old}");
    let listen = request("subscriptions/listen", json!({"notifications": {"taskIds": []}}));
    let refused = [
        call("long_only", json!({})),
        about("tasks/get", json!("x")).can(json!({})),
        update(json!("x"), json!({})).can(json!({})),
        about("tasks/cancel", json!("x")).can(json!({})),
        listen,
    ];
    for request in refused {
        let mut answer = request.send(test_server.address).await;
        let error = answer.message().await.unwrap()["error"].clone();
        assert_eq!((answer.status, &error["code"]), (400, &json!(-32021)), "{request:?} {error}");
        let required = &error["data"]["requiredCapabilities"]["extensions"];
        assert!(required["io.modelcontextprotocol/tasks"].is_object(), "{error}");
    }
}

#[tokio::test]
async fn requests_that_are_wrong() {
    let test_server = test_server(ServerSettings::default()).await;
    let unknown = json!("AAAAAAAAAAAAAAAAAAAAAA");
    let cases = [
        (about("tasks/get", unknown.clone()), -32602),
        (about("tasks/cancel", unknown.clone()), -32602),
        (update(unknown.clone(), json!({})), -32602),
        (about("tasks/get", json!("short")), -32602),
        (update(unknown.clone(), json!([])), -32602),
        (about("tasks/update", unknown.clone()), -32602),
        (about("tasks/get", unknown.clone()).without("Mcp-Name"), -32020),
        (about("tasks/get", unknown.clone()).replace("Mcp-Name", "other"), -32020),
        (about("tasks/get", json!(7)).header("Mcp-Name", "7"), -32602),
        (about("tasks/result", unknown.clone()), -32601),
        (request("tasks/list", json!({})).can(able()), -32601),
    ];
    for (request, code) in cases {
        let answer = request.ask(test_server.address).await;
        assert_eq!(answer["error"]["code"], code, "{request:?} {answer}");
    }
    let ignored = begin("echo", json!({"text": "hi"})).set("/params/task", json!({"ttl": 1}));
    let answer = ignored.ask(test_server.address).await;
    assert_eq!(answer["result"]["content"][0]["text"], "hi", "{answer}");
}

#[tokio::test]
async fn tasks_are_declared_and_tools_say_nothing_of_them() {
    let test_server = test_server(ServerSettings::default()).await;
    let found = request("server/discover", json!({})).ask(test_server.address).await;
    let capabilities = &found["result"]["capabilities"];
    let extensions = &capabilities["extensions"];
    assert_eq!(extensions["io.modelcontextprotocol/tasks"], json!({}), "{extensions}");
    assert!(capabilities.get("tasks").is_none(), "{capabilities}");
    let list = request("tools/list", json!({})).ask(test_server.address).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool.get("execution").is_none()), "{list}");
}

#[tokio::test]
async fn a_task_outlives_the_connection_that_began_it() {
    let test_server = test_server(ServerSettings::default()).await;
    let mut link = ClientTransport::open(&test_server, "link").await;
    link.send(begin("long_wait", json!({})).body()).await;
    let created = link.receive().await.unwrap();
    let task = created["result"]["taskId"].clone();
    test_server.latch.started(1).await;
    drop(link);
    test_server.latch.open();
    let ended = settled(&test_server, &task, "completed").await;
    assert_eq!(ended["result"]["content"][0]["text"], "done", "{ended}");
}
