//! Calls that run by themselves.

use std::time::Duration;

use gantry::{GatewaySettings, ServerSettings};
use gantry_tests::request::{initialize, message};
use gantry_tests::tasks::{self, about, begin, begun, settled};
use gantry_tests::test_server::{TestOptions, TestServer};
use serde_json::{Value, json};

async fn test_server(doors: ServerSettings) -> TestServer {
    with(TestOptions { doors, ..TestOptions::default() }).await
}

async fn with(plan: TestOptions) -> TestServer {
    let test_server = TestServer::with(plan).await;
    tasks::add(&test_server);
    test_server
}

/// A task that a client of 2025-11-25 asks for.
async fn asked_for(test_server: &TestServer, session: &str) -> Value {
    let params = json!({"name": "long_wait", "arguments": {}, "task": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    message(call).of(session).ask(test_server.address).await
}

async fn session(test_server: &TestServer) -> String {
    let answer = initialize("2025-11-25").send(test_server.address).await;
    answer.header("mcp-session-id").expect("an id").to_owned()
}

#[tokio::test]
pub(crate) async fn tasks() {
    full_after_two(ServerSettings { tasks: 2, ..ServerSettings::default() }).await;
}

#[tokio::test]
pub(crate) async fn tasks_of_principal() {
    full_after_two(ServerSettings { tasks_of_principal: 2, ..ServerSettings::default() }).await;
}

/// Who asks for a task beyond the limit is refused; who is given one gets the result instead.
async fn full_after_two(doors: ServerSettings) {
    let test_server = test_server(doors).await;
    let first = begun(&test_server, "long_wait", json!({})).await;
    begun(&test_server, "long_wait", json!({})).await;
    let session = session(&test_server).await;
    let refused = asked_for(&test_server, &session).await;
    assert_eq!(refused["error"]["code"], -32010, "{refused}");
    let plain = begin("long_fail", json!({})).ask(test_server.address).await;
    assert_eq!(plain["result"]["isError"], true, "{plain}");
    about("tasks/cancel", first.clone()).ask(test_server.address).await;
    test_server.latch.cancelled(1).await;
    settled(&test_server, &first, "cancelled").await;
    let created = asked_for(&test_server, &session).await;
    assert_eq!(created["result"]["task"]["status"], "working", "there is room: {created}");
}

#[tokio::test]
pub(crate) async fn tasks_listed() {
    let test_server =
        test_server(ServerSettings { tasks_listed: 2, ..ServerSettings::default() }).await;
    let session = session(&test_server).await;
    let mut begun = Vec::new();
    for _ in 0..3 {
        begun.push(asked_for(&test_server, &session).await["result"]["task"]["taskId"].clone());
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/list"});
    let list = message(list).of(&session).ask(test_server.address).await;
    let listed: Vec<_> = list["result"]["tasks"].as_array().expect("a list").iter().collect();
    let names: Vec<_> = listed.iter().map(|task| task["taskId"].clone()).collect();
    assert_eq!(names, begun[1..], "the oldest is no longer listed");
}

#[tokio::test]
pub(crate) async fn task_ttl() {
    let task_ttl = Duration::from_millis(1234);
    let test_server = test_server(ServerSettings { task_ttl, ..ServerSettings::default() }).await;
    let created = begin("long_wait", json!({})).ask(test_server.address).await;
    assert_eq!(created["result"]["ttlMs"], 1234, "{created}");
    // It is given up, and so is its call.
    test_server.latch.cancelled(1).await;
}

#[tokio::test]
pub(crate) async fn task_ttl_limit() {
    let task_ttl_limit = Duration::from_millis(55);
    let test_server =
        test_server(ServerSettings { task_ttl_limit, ..ServerSettings::default() }).await;
    let created = begin("long_wait", json!({})).ask(test_server.address).await;
    assert_eq!(created["result"]["ttlMs"], 55, "{created}");
    test_server.latch.cancelled(1).await;
}

#[tokio::test]
pub(crate) async fn task_poll() {
    let task_poll = Duration::from_millis(77);
    let test_server = test_server(ServerSettings { task_poll, ..ServerSettings::default() }).await;
    let created = begin("long_wait", json!({})).ask(test_server.address).await;
    assert_eq!(created["result"]["pollIntervalMs"], 77, "{created}");
}

#[tokio::test]
pub(crate) async fn task_result() {
    let test_server =
        test_server(ServerSettings { task_result: 1000, ..ServerSettings::default() }).await;
    let small = begun(&test_server, "long_large", json!({"size": 500})).await;
    settled(&test_server, &small, "completed").await;
    let large = begun(&test_server, "long_large", json!({"size": 1000})).await;
    let failed = settled(&test_server, &large, "failed").await;
    let text = failed["error"]["message"].as_str().expect("a text");
    assert!(text.contains("a task may keep 1000"), "{failed}");
}

#[tokio::test]
pub(crate) async fn task_deadline() {
    let (deadline, task_deadline) = (Duration::from_millis(20), Duration::from_millis(60));
    let middle = GatewaySettings { deadline, task_deadline, ..GatewaySettings::default() };
    let test_server = with(TestOptions { middle, ..TestOptions::default() }).await;
    let task = begun(&test_server, "long_wait", json!({})).await;
    let ended = settled(&test_server, &task, "completed").await;
    let text = ended["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("60ms"), "{ended}");
}
