//! Which type of error each trigger has, the same over `/call` and over MCP.

use gantry_tests::http::Outgoing;
use gantry_tests::request::call;
use gantry_tests::tool_fixture::Folder;
use gantry_tests::upstream_fixture::{Scripted, UpstreamFixture};
use serde_json::{Value, json};

/// What sets off an error, and what the error is.
struct Trigger {
    tool: &'static str,
    arguments: Value,
    /// The HTTP status of `/call`.
    status: u16,
    error_type: &'static str,
    /// Members of `error_details`.
    details: Value,
    /// Whether MCP has a JSON-RPC error for it, and not a result.
    is_request: bool,
}

fn trigger(
    tool: &'static str,
    arguments: Value,
    status: u16,
    error_type: &'static str,
    details: Value,
) -> Trigger {
    Trigger { tool, arguments, status, error_type, details, is_request: false }
}

/// Tools that do one thing wrong, each a shell script.
fn folder() -> Folder {
    let folder = Folder::new();
    let number = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let schemas = json!({"inputSchema": number, "outputSchema": number});
    let scripts = [
        ("case.good", "echo '{\"n\": 1}'"),
        ("case.text", "echo hello"),
        ("case.nothing", "true"),
        ("case.unfit", "echo '{\"n\": \"x\"}'"),
        ("case.content", "echo '{\"content\": [{\"type\": \"text\", \"text\": \"hi\"}]}'"),
        ("case.contract", "echo '{\"status\": \"failure\", \"data\": {}}'"),
        ("case.status", "echo no space left >&2; exit 7"),
        (
            "case.own",
            "echo '{\"status\":\"failure\",\"error\":{\"error_type\":\"DiskError\",\"error_message\":\"m\"}}'",
        ),
    ];
    for (name, script) in scripts {
        folder.shell_with(name, script, schemas.clone());
    }
    folder.shell_with("case.slow", "exec sleep 1000", json!({"timeout": "200ms"}));
    folder
}

fn triggers() -> Vec<Trigger> {
    let kind = |kind: &str| json!({"kind": kind});
    let answer = |status: &str| json!({"status": status});
    let server = "srv_http.answer";
    vec![
        trigger("case.good", json!({"n": "x"}), 400, "ValidationError", kind("SchemaError")),
        trigger("case.text", json!({}), 502, "SerializationError", json!({})),
        trigger("case.nothing", json!({}), 502, "SerializationError", json!({})),
        trigger("case.unfit", json!({}), 502, "ValidationError", kind("OutputSchemaError")),
        trigger("case.content", json!({}), 502, "ValidationError", kind("OutputSchemaError")),
        trigger("case.contract", json!({}), 502, "ValidationError", kind("ResultContractError")),
        trigger("case.status", json!({}), 500, "ToolExecutionError", json!({"exit_status": 7})),
        trigger("case.own", json!({}), 500, "DiskError", json!({})),
        trigger("case.slow", json!({}), 504, "TimeoutError", json!({})),
        Trigger {
            is_request: true,
            ..trigger("case.absent", json!({}), 404, "ToolNotFoundError", json!({}))
        },
        trigger(server, answer("401 Unauthorized"), 403, "AuthenticationError", json!({})),
        trigger(server, answer("403 Forbidden"), 403, "AuthenticationError", json!({})),
        trigger(
            server,
            answer("429 Too Many Requests"),
            429,
            "ApiLimitExceeded",
            json!({"retryAfterMs": 7000}),
        ),
        trigger(server, answer("500 Internal Server Error"), 502, "TransportError", json!({})),
        // It takes the request and never answers it.
        trigger(server, answer("202 Accepted"), 502, "TransportError", json!({})),
        trigger(server, json!({}), 502, "TransportError", json!({})),
    ]
}

/// The answer of `/call`: its status, its `Retry-After`, and the tool result.
async fn contract(fixture: &UpstreamFixture, trigger: &Trigger) -> (u16, Option<String>, Value) {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let body = json!({"tool_name": trigger.tool, "arguments": trigger.arguments});
    let outgoing = Outgoing {
        method: "POST".to_owned(),
        path: "/call".to_owned(),
        headers: vec![header("Host", "127.0.0.1"), header("Content-Type", "application/json")],
        body: body.to_string().into_bytes(),
    };
    let mut answer = outgoing.send(fixture.address).await;
    let wait = answer.header("retry-after").map(str::to_owned);
    let text = answer.text().await;
    (answer.status, wait, serde_json::from_str(&text).expect("a tool result"))
}

#[tokio::test]
async fn every_trigger_has_its_type_of_error() {
    let (server, folder) = (Scripted::start(&["statuses"]).await, folder());
    let more = json!({"tools": [folder.tools("")]});
    let fixture =
        UpstreamFixture::open_with("errors", more, json!({"srv": server.entry(json!({}))})).await;
    fixture.until_offered("srv").await;
    for trigger in triggers() {
        let case = format!("{} {}", trigger.tool, trigger.arguments);
        let (status, wait, result) = contract(&fixture, &trigger).await;
        let error = &result["error"];
        assert_eq!(status, trigger.status, "{case}: {result}");
        assert_eq!(result["status"], "failure", "{case}: {result}");
        assert_eq!(error["error_type"], trigger.error_type, "{case}: {result}");
        assert_eq!(wait.is_some(), status == 429, "{case}: {wait:?}");
        for (key, value) in trigger.details.as_object().expect("members") {
            assert_eq!(&error["error_details"][key], value, "{case}: {result}");
        }
        let answer = call(trigger.tool, trigger.arguments.clone()).ask(fixture.address).await;
        let carried = match trigger.is_request {
            true => &answer["error"]["data"],
            false => &answer["result"]["_meta"]["gantry/error"],
        };
        assert_eq!(carried["error_type"], error["error_type"], "{case}: {answer}");
        assert_eq!(carried["error_message"], error["error_message"], "{case}: {answer}");
        assert_eq!(answer["result"]["isError"] == true, !trigger.is_request, "{case}: {answer}");
    }
    fixture.close().await;
}
