//! Calls that run by themselves.

use std::time::Duration;

use gantry::{DoorSettings, GatewaySettings};
use gantry_tests::house::{House, Plan};
use gantry_tests::request::{initialize, message};
use gantry_tests::tasks::{self, about, begin, begun, settled};
use serde_json::{Value, json};

async fn house(doors: DoorSettings) -> House {
    with(Plan { doors, ..Plan::default() }).await
}

async fn with(plan: Plan) -> House {
    let house = House::with(plan).await;
    tasks::add(&house);
    house
}

/// A task that a client of 2025-11-25 asks for.
async fn asked_for(house: &House, session: &str) -> Value {
    let params = json!({"name": "long_wait", "arguments": {}, "task": {}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    message(call).of(session).ask(house.address).await
}

async fn session(house: &House) -> String {
    let answer = initialize("2025-11-25").send(house.address).await;
    answer.header("mcp-session-id").expect("an id").to_owned()
}

#[tokio::test]
pub(crate) async fn tasks() {
    full_after_two(DoorSettings { tasks: 2, ..DoorSettings::default() }).await;
}

#[tokio::test]
pub(crate) async fn tasks_of_principal() {
    full_after_two(DoorSettings { tasks_of_principal: 2, ..DoorSettings::default() }).await;
}

/// Who asks for a task beyond the limit is refused; who is given one gets the result instead.
async fn full_after_two(doors: DoorSettings) {
    let house = house(doors).await;
    let first = begun(&house, "long_wait", json!({})).await;
    begun(&house, "long_wait", json!({})).await;
    let session = session(&house).await;
    let refused = asked_for(&house, &session).await;
    assert_eq!(refused["error"]["code"], -32010, "{refused}");
    let plain = begin("long_fail", json!({})).ask(house.address).await;
    assert_eq!(plain["result"]["isError"], true, "{plain}");
    about("tasks/cancel", first.clone()).ask(house.address).await;
    house.gate.cancelled(1).await;
    settled(&house, &first, "cancelled").await;
    let created = asked_for(&house, &session).await;
    assert_eq!(created["result"]["task"]["status"], "working", "there is room: {created}");
}

#[tokio::test]
pub(crate) async fn tasks_listed() {
    let house = house(DoorSettings { tasks_listed: 2, ..DoorSettings::default() }).await;
    let session = session(&house).await;
    let mut begun = Vec::new();
    for _ in 0..3 {
        begun.push(asked_for(&house, &session).await["result"]["task"]["taskId"].clone());
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/list"});
    let list = message(list).of(&session).ask(house.address).await;
    let listed: Vec<_> = list["result"]["tasks"].as_array().expect("a list").iter().collect();
    let names: Vec<_> = listed.iter().map(|task| task["taskId"].clone()).collect();
    assert_eq!(names, begun[1..], "the oldest is no longer listed");
}

#[tokio::test]
pub(crate) async fn task_ttl() {
    let task_ttl = Duration::from_millis(1234);
    let house = house(DoorSettings { task_ttl, ..DoorSettings::default() }).await;
    let created = begin("long_wait", json!({})).ask(house.address).await;
    assert_eq!(created["result"]["ttlMs"], 1234, "{created}");
    // It is given up, and so is its call.
    house.gate.cancelled(1).await;
}

#[tokio::test]
pub(crate) async fn task_ttl_limit() {
    let task_ttl_limit = Duration::from_millis(55);
    let house = house(DoorSettings { task_ttl_limit, ..DoorSettings::default() }).await;
    let created = begin("long_wait", json!({})).ask(house.address).await;
    assert_eq!(created["result"]["ttlMs"], 55, "{created}");
    house.gate.cancelled(1).await;
}

#[tokio::test]
pub(crate) async fn task_poll() {
    let task_poll = Duration::from_millis(77);
    let house = house(DoorSettings { task_poll, ..DoorSettings::default() }).await;
    let created = begin("long_wait", json!({})).ask(house.address).await;
    assert_eq!(created["result"]["pollIntervalMs"], 77, "{created}");
}

#[tokio::test]
pub(crate) async fn task_result() {
    let house = house(DoorSettings { task_result: 1000, ..DoorSettings::default() }).await;
    let small = begun(&house, "long_large", json!({"size": 500})).await;
    settled(&house, &small, "completed").await;
    let large = begun(&house, "long_large", json!({"size": 1000})).await;
    let failed = settled(&house, &large, "failed").await;
    let text = failed["error"]["message"].as_str().expect("a text");
    assert!(text.contains("a task may keep 1000"), "{failed}");
}

#[tokio::test]
pub(crate) async fn task_deadline() {
    let (deadline, task_deadline) = (Duration::from_millis(20), Duration::from_millis(60));
    let middle = GatewaySettings { deadline, task_deadline, ..GatewaySettings::default() };
    let house = with(Plan { middle, ..Plan::default() }).await;
    let task = begun(&house, "long_wait", json!({})).await;
    let ended = settled(&house, &task, "completed").await;
    let text = ended["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("60ms"), "{ended}");
}
