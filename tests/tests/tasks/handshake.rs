//! Clients of 2025-11-25, who ask for a task and fetch what it came to.

use std::time::Duration;

use gantry::ServerSettings;
use serde_json::{Value, json};

use crate::client::{Client, RELATED};
use crate::test_server;

#[tokio::test]
async fn a_task_shows_when_its_call_says_that_it_runs_long() {
    let test_server = test_server(ServerSettings::default()).await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    let task = client.begin("long_wait").await;
    client.until_long(&task).await;
}

#[tokio::test]
async fn what_each_call_comes_to() {
    let test_server = test_server(ServerSettings::default()).await;
    test_server.latch.open();
    let cases = [
        ("long_wait", "completed", "/result/content/0/text", json!("done")),
        ("long_fail", "failed", "/result/isError", json!(true)),
        ("long_error", "failed", "/error/code", json!(4001)),
    ];
    for transport in ["link", "http"] {
        let mut client = Client::open(&test_server, transport, "2025-11-25").await;
        for (tool, status, pointer, expected) in &cases {
            let task = client.begin(tool).await;
            // Once while it may be under way, and once when it has surely ended.
            for _ in 0..2 {
                let result = client.ask("tasks/result", json!({"taskId": task})).await;
                assert_eq!(result.pointer(pointer), Some(expected), "{tool}: {result}");
                if result.get("result").is_some() {
                    assert_eq!(result["result"].pointer(RELATED), Some(&task), "{result}");
                    assert!(result["result"].get("resultType").is_none(), "{result}");
                }
            }
            let found = client.ask("tasks/get", json!({"taskId": task})).await;
            assert_eq!(found["result"]["status"], *status, "{found}");
            assert!(found["result"]["ttl"].is_u64(), "{found}");
            assert!(found["result"]["pollInterval"].is_u64(), "{found}");
            assert!(found["result"].get("result").is_none(), "{found}");
        }
    }
}

#[tokio::test]
async fn questions_come_on_the_stream_of_the_result() {
    let test_server = test_server(ServerSettings::default()).await;
    for transport in ["link", "http"] {
        let mut client = Client::open(&test_server, transport, "2025-11-25").await;
        let task = client.begin("long_ask").await;
        let text = client.fetch(&task, &["Ann", "Bob"]).await;
        assert!(["Ann and Bob", "Bob and Ann"].contains(&text.as_str()), "{text}");
    }
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    let test_server = test_server(ServerSettings::default()).await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    let task = client.begin("long_wait").await;
    test_server.latch.started(1).await;
    let answer = client.ask("tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(answer["result"]["status"], "cancelled", "{answer}");
    test_server.latch.cancelled(1).await;
    for (method, code) in
        [("tasks/cancel", -32602), ("tasks/result", -32014), ("tasks/update", -32601)]
    {
        let answer = client.ask(method, json!({"taskId": task})).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
}

#[tokio::test]
async fn only_tools_that_say_so_run_as_tasks() {
    let test_server = test_server(ServerSettings::default()).await;
    test_server.latch.open();
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    let cases = [
        ("fail", json!({}), -32601),
        ("no_such_tool", json!({}), -32602),
        ("long_wait", json!(7), -32602),
        ("long_wait", json!({"ttl": "long"}), -32602),
    ];
    for (tool, task, code) in cases {
        let answer = client.call(tool, task).await;
        assert_eq!(answer["error"]["code"], code, "{tool}: {answer}");
    }
    let plain = client.ask("tools/call", json!({"name": "long_wait", "arguments": {}})).await;
    assert_eq!(plain["result"]["content"][0]["text"], "done", "{plain}");
    let list = client.ask("tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let support = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool.pointer("/execution/taskSupport").cloned()
    };
    assert_eq!(support("long_wait"), Some(json!("optional")));
    assert_eq!(support("long_only"), Some(json!("required")));
    assert_eq!(support("fail"), None);
}

#[tokio::test]
async fn older_clients_have_no_tasks() {
    let test_server = test_server(ServerSettings::default()).await;
    test_server.latch.open();
    for revision in ["2025-03-26", "2025-06-18"] {
        let mut client = Client::open(&test_server, "link", revision).await;
        let answer = client.call("long_wait", json!({})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{revision}: {answer}");
        let answer = client.ask("tasks/get", json!({"taskId": "x"})).await;
        assert_eq!(answer["error"]["code"], -32601, "{revision}: {answer}");
    }
}

#[tokio::test]
async fn a_session_lists_its_own_tasks_and_hears_of_them() {
    let test_server = test_server(ServerSettings::default()).await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    client
        .transport
        .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())
        .await;
    let mut other = Client::open(&test_server, "link", "2025-11-25").await;
    let task = client.begin("long_wait").await;
    let names = |list: Value| -> Vec<Value> {
        let tasks = list["result"]["tasks"].as_array().unwrap();
        tasks.iter().map(|task| task["taskId"].clone()).collect()
    };
    assert_eq!(names(client.ask("tasks/list", json!({})).await), std::slice::from_ref(&task));
    assert!(names(other.ask("tasks/list", json!({})).await).is_empty());
    let wrong = client.ask("tasks/list", json!({"cursor": "x"})).await;
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let found = other.ask("tasks/get", json!({"taskId": task})).await;
    assert_eq!(found["result"]["taskId"], task, "of the same principal: {found}");
    test_server.latch.open();
    let ended = loop {
        let message = client.transport.receive().await.unwrap();
        assert_eq!(message["method"], "notifications/tasks/status", "{message}");
        assert_eq!(message["params"]["taskId"], task, "{message}");
        if message["params"]["status"] == "completed" {
            break message;
        }
    };
    assert!(ended["params"].get("result").is_none(), "{ended}");
    assert_eq!(names(client.ask("tasks/list", json!({})).await), [task]);
}

#[tokio::test]
async fn a_wish_for_time_is_granted_up_to_the_limit() {
    let task_ttl_limit = Duration::from_millis(7_000_000);
    let test_server =
        test_server(ServerSettings { task_ttl_limit, ..ServerSettings::default() }).await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    let cases = [(json!({}), 3_600_000), (json!({"ttl": null}), 3_600_000)];
    let cases = cases
        .into_iter()
        .chain([(json!({"ttl": 5_000_000}), 5_000_000), (json!({"ttl": 9_000_000}), 7_000_000)]);
    for (wish, granted) in cases {
        let created = client.call("long_wait", wish).await;
        assert_eq!(created["result"]["task"]["ttl"], granted, "{created}");
    }
}
