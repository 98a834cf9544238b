//! Content blocks of type `json`, for clients that ask for them, in both eras.

use gantry::{Failure, RawJson, Reply, Tool};
use gantry_tests::request::{call, initialize};
use gantry_tests::test_server::{TestServer, soon};
use serde_json::{Value, json};

/// The content of a result, for a client that stands alone.
async fn alone(test_server: &TestServer, tool: &str, capabilities: Value) -> Value {
    let answer =
        call(tool, json!({"a": 1, "b": 2})).can(capabilities).ask(test_server.address).await;
    answer["result"].clone()
}

/// The same for a client with a session.
async fn in_session(
    test_server: &TestServer,
    revision: &str,
    tool: &str,
    capabilities: Value,
) -> Value {
    let mut link = test_server.link();
    let hello = initialize(revision).set("/params/capabilities", capabilities).body();
    let params = json!({"name": tool, "arguments": {"a": 1, "b": 2}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut answer = Value::Null;
    for message in [hello, call.to_string()] {
        assert!(link.send(message).await, "the connection goes on");
        let text = soon("an answer", link.receive()).await.expect("an answer");
        answer = serde_json::from_slice(&text).expect("JSON");
    }
    answer["result"].clone()
}

fn wish() -> Value {
    json!({"experimental": {"jsonContent": {}}})
}

#[tokio::test]
async fn who_asks_for_values_gets_values() {
    let test_server = TestServer::open().await;
    let value = |value: Value| json!([{"type": "json", "json": value}]);
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let old = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    let cases = [
        ("add", wish(), value(json!({"sum": 3}))),
        ("primes", wish(), value(json!([2, 3, 5]))),
        ("add", json!({}), text(r#"{"sum":3}"#)),
        ("add", json!({"experimental": {"jsonContent": null}}), text(r#"{"sum":3}"#)),
        // A failure is no value, and has none.
        ("fail", wish(), text("it broke")),
    ];
    for (tool, capabilities, content) in cases {
        let result = alone(&test_server, tool, capabilities.clone()).await;
        assert_eq!(result["content"], content, "{tool} {capabilities}");
        for revision in old {
            let result = in_session(&test_server, revision, tool, capabilities.clone()).await;
            assert_eq!(result["content"], content, "{tool} {capabilities} {revision}");
        }
    }
    let result = alone(&test_server, "add", wish()).await;
    assert_eq!(result["structuredContent"], json!({"sum": 3}), "it stays beside it");
}

/// A tool may give such a block itself; it passes as it is, to everyone.
#[tokio::test]
async fn a_block_of_a_tool_passes() {
    let test_server = TestServer::open().await;
    let content = json!([{"type": "json", "json": {"a": 1.5}}, {"type": "text", "text": "more"}]);
    let given = json!({"content": content, "structuredContent": {"b": 2}});
    let tool = Tool::new("values", "Gives values.").input_schema(json!({"type": "object"}));
    let tool = tool.run(move |_: Value, _| {
        let given = RawJson::from(given.clone());
        async move { Ok::<_, Failure>(Reply::result(given)) }
    });
    test_server.server.handlers().add_tool(tool).expect("the name is free");
    for capabilities in [json!({}), wish()] {
        assert_eq!(alone(&test_server, "values", capabilities.clone()).await["content"], content);
        let old = in_session(&test_server, "2025-06-18", "values", capabilities).await;
        assert_eq!(old["content"], content);
    }
}
