//! Checks 119 to 123: calls that run by themselves, as an extension. `tests/tasks` says more.

use gantry_tests::checks::{Check, story};
use gantry_tests::house::House;
use gantry_tests::request::{call, request};
use gantry_tests::tasks::{self, able, about, begin, begun, settled, update};
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

async fn house() -> House {
    let house = House::open().await;
    tasks::add(&house);
    house
}

async fn only_who_takes() {
    let house = house().await;
    house.gate.open();
    let plain = call("long_wait", json!({})).ask(house.address).await;
    assert_eq!(plain["result"]["resultType"], "complete", "{plain}");
    let task = begin("long_wait", json!({})).ask(house.address).await;
    assert_eq!(task["result"]["resultType"], "task", "{task}");
    let refused = call("long_only", json!({})).ask(house.address).await;
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

async fn at_once() {
    let house = house().await;
    for (tool, status, member) in [
        ("long_ask", "input_required", "inputRequests"),
        ("long_fail", "completed", "result"),
        ("long_error", "failed", "error"),
    ] {
        let task = begun(&house, tool, json!({})).await;
        let found = about("tasks/get", task.clone()).ask(house.address).await;
        assert_eq!(found["result"]["taskId"], task, "{found}");
        assert_eq!(found["result"]["resultType"], "complete", "{found}");
        let settled = settled(&house, &task, status).await;
        assert!(settled[member].is_object(), "{settled}");
    }
}

async fn acknowledged() {
    let house = house().await;
    let task = begun(&house, "long_ask", json!({})).await;
    let requests = [update(task.clone(), json!({})), about("tasks/cancel", task)];
    for request in requests {
        let answer = request.ask(house.address).await;
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
        assert_eq!(answer["result"].as_object().unwrap().len(), 2, "{answer}");
    }
    let unknown = json!("unknown");
    for request in [update(unknown.clone(), json!({})), about("tasks/cancel", unknown)] {
        assert_eq!(request.ask(house.address).await["error"]["code"], -32602);
    }
}

async fn declared() {
    let house = house().await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = about(method, json!("x")).can(json!({})).ask(house.address).await;
        assert_eq!(answer["error"]["code"], -32021, "{method}: {answer}");
    }
    let removed = request("tasks/result", json!({"taskId": "x"})).can(able());
    assert_eq!(removed.ask(house.address).await["error"]["code"], -32601);
    let ignored = begin("echo", json!({"text": "hi"})).set("/params/task", json!({}));
    assert_eq!(ignored.ask(house.address).await["result"]["resultType"], "complete");
    let found = request("server/discover", json!({})).ask(house.address).await;
    assert!(found["result"]["capabilities"].get("tasks").is_none(), "{found}");
}

async fn keys_and_ends() {
    let house = house().await;
    let task = begun(&house, "long_twice", json!({})).await;
    let mut last = Value::Null;
    for _ in 0..2 {
        let asking = settled(&house, &task, "input_required").await;
        let key = asking["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        assert_ne!(last, json!(key));
        update(task.clone(), json!({(key.clone()): {"action": "decline"}}))
            .ask(house.address)
            .await;
        last = json!(key);
    }
    settled(&house, &task, "completed").await;
    let task = begun(&house, "long_fail", json!({})).await;
    assert_eq!(settled(&house, &task, "completed").await["result"]["isError"], true);
}
