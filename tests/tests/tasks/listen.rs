//! Changes of tasks on a stream of changes.

use gantry::ServerSettings;
use gantry_tests::request::request;
use gantry_tests::tasks::{able, begun};
use serde_json::json;

use crate::test_server;

#[tokio::test]
async fn a_stream_tells_of_the_tasks_it_was_asked_for() {
    let test_server = test_server(ServerSettings::default()).await;
    let task = begun(&test_server, "long_wait", json!({})).await;
    begun(&test_server, "long_wait", json!({})).await;
    test_server.latch.started(2).await;
    let wanted = json!({"taskIds": [task, "AAAAAAAAAAAAAAAAAAAAAA"]});
    let listen = request("subscriptions/listen", json!({"notifications": wanted})).can(able());
    let mut stream = listen.send(test_server.address).await;
    let granted = stream.message().await.unwrap();
    assert_eq!(granted["params"]["notifications"], json!({"taskIds": [task]}), "{granted}");
    test_server.latch.open();
    let changed = stream.message().await.unwrap();
    assert_eq!(changed["method"], "notifications/tasks", "{changed}");
    let params = &changed["params"];
    assert_eq!((&params["taskId"], &params["status"]), (&task, &json!("completed")), "{params}");
    assert_eq!(params["result"]["content"][0]["text"], "done", "{params}");
    let tag = params.pointer("/_meta/io.modelcontextprotocol~1subscriptionId");
    assert_eq!(tag, Some(&json!(1)), "{params}");
}

#[tokio::test]
async fn wrong_names_are_refused() {
    let test_server = test_server(ServerSettings::default()).await;
    let wanted = json!({"notifications": {"taskIds": [7]}});
    let answer = request("subscriptions/listen", wanted).can(able()).ask(test_server.address).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}
