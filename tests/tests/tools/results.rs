//! What programs print and what it becomes: tool results of the contract, MCP content, plain JSON.

use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::{Value, json};

/// What a tool prints, its exit status, and its output schema.
struct Case {
    printed: &'static str,
    exit: u8,
    output: Value,
    /// The HTTP status of `/call`, and members of its tool result.
    status: u16,
    contract: Value,
}

fn case(printed: &'static str, output: Value, status: u16, contract: Value) -> Case {
    Case { printed, exit: 0, output, status, contract }
}

/// A schema that demands a number `n`.
fn number() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

/// A schema whose own values have a member `status`.
fn own_status() -> Value {
    let status = json!({"type": "string"});
    json!({"type": "object", "properties": {"status": status, "n": {"type": "integer"}}})
}

/// Offers a tool for each case.
async fn open(tools: &[(String, Value)]) -> ToolFixture {
    let folder = Folder::new();
    for (number, (script, members)) in tools.iter().enumerate() {
        folder.shell_with(&format!("case.number{number}"), script, members.clone());
    }
    ToolFixture::open(folder).await
}

fn script(printed: &str, exit: u8) -> String {
    format!("cat <<'END'\n{printed}\nEND\nexit {exit}")
}

/// A name whether or not it has dots.
fn plain(name: &str) -> String {
    name.replace('.', "_")
}

/// Whether `found` has all that `expected` has.
fn covers(found: &Value, expected: &Value) -> bool {
    match expected {
        Value::Object(members) => members.iter().all(|(key, value)| covers(&found[key], value)),
        other => found == other,
    }
}

#[tokio::test]
async fn a_printed_tool_result_is_one_whatever_else_it_says() {
    let full = json!({"error_type": "DiskError", "error_message": "full"});
    let hinted = json!({"error_type": "DiskError", "error_message": "full", "hint": "sda"});
    let data = json!({"n": 1});
    let cases = [
        case(
            r#"{"status":"failure","error":{"error_type":"DiskError","error_message":"full"},"request_id":"r1"}"#,
            number(),
            500,
            json!({"status": "failure", "data": null, "error": full, "request_id": "r1"}),
        ),
        case(
            r#"{"request_id":null,"status":"success","data":{"n":1},"trace":{"a":[1.50]}}"#,
            number(),
            200,
            json!({"status": "success", "data": data, "request_id": null, "trace": {"a": [1.50]}}),
        ),
        case(
            r#"{"status":"failure","error":{"error_type":"DiskError","error_message":"full","hint":"sda"}}"#,
            number(),
            500,
            json!({"status": "failure", "error": hinted}),
        ),
        case(r#"{"status":"success"}"#, number(), 200, json!({"status": "success", "data": null})),
        case(
            r#"{"status":"success","data":null,"explanation":"sent"}"#,
            number(),
            200,
            json!({"status": "success", "data": null, "explanation": "sent"}),
        ),
        case(
            r#"{"status":"no_change_needed"}"#,
            number(),
            200,
            json!({"status": "no_change_needed", "data": null}),
        ),
        case(
            r#"{"status":"no_change_needed","explanation":"as it was"}"#,
            json!({"type": "object", "properties": {}}),
            200,
            json!({"status": "no_change_needed", "data": null, "explanation": "as it was"}),
        ),
        // A structured failure keeps its own error when the process ends as failures do.
        Case {
            exit: 3,
            ..case(
                r#"{"status":"failure","error":{"error_type":"DiskError","error_message":"full"}}"#,
                number(),
                500,
                json!({"status": "failure", "error": full}),
            )
        },
        Case {
            exit: 3,
            ..case(
                r#"{"status":"success","data":{"n":1}}"#,
                number(),
                500,
                json!({"status": "failure", "error": {"error_type": "ToolExecutionError"}}),
            )
        },
        case(
            r#"{"status":"no_change_needed","request_id":"r1"}"#,
            number(),
            200,
            json!({"status": "no_change_needed", "data": null, "request_id": "r1"}),
        ),
        // An object that merely has a status of its own is data, where that fits the schema.
        case(
            r#"{"status":"success","n":1}"#,
            number(),
            200,
            json!({"status": "success", "data": {"status": "success", "n": 1}}),
        ),
        case(
            r#"{"status":"failure","n":1}"#,
            own_status(),
            200,
            json!({"status": "success", "data": {"status": "failure", "n": 1}}),
        ),
        case(
            r#"{"status":"success","data":{"status":"open"}}"#,
            own_status(),
            200,
            json!({"status": "success", "data": {"status": "open"}}),
        ),
        // A failure without an error is never a success.
        case(
            r#"{"status":"failure","message":"disk full"}"#,
            number(),
            502,
            json!({"status": "failure", "error": {"error_type": "ValidationError"}}),
        ),
    ];
    let tools =
        cases.iter().map(|it| (script(it.printed, it.exit), json!({"outputSchema": it.output})));
    let mut tool_fixture = open(&tools.collect::<Vec<_>>()).await;
    for (index, case) in cases.iter().enumerate() {
        let (name, printed) = (format!("case.number{index}"), case.printed);
        let (status, result) = tool_fixture.contract(&name, json!({})).await;
        assert_eq!(status, case.status, "{printed}: {result}");
        assert!(covers(&result, &case.contract), "{printed}: {result}");
        // MCP says the same, and carries what has no place of its own.
        let carried = tool_fixture.call(&name, json!({})).await;
        let failed = result["status"] == "failure";
        assert_eq!(carried["isError"], failed, "{printed}: {carried}");
        for key in ["request_id", "trace"].into_iter().filter(|key| result.get(key).is_some()) {
            let further = &carried["_meta"]["gantry/further"];
            assert_eq!(further.get(key), result.get(key), "{printed}: {carried}");
        }
        if failed {
            assert_eq!(carried["_meta"]["gantry/error"], result["error"], "{printed}: {carried}");
        }
    }
}

#[tokio::test]
async fn content_passes_and_strings_have_no_quotes() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let number = json!({"outputSchema": number()});
    let content = json!({"output": "content"});
    let cases = [
        (
            r#"{"content":[{"type":"text","text":"hi"}],"isError":false}"#,
            &content,
            json!({"content": [text("hi")], "isError": false}),
        ),
        (
            r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}],"vendor":1}"#,
            &content,
            json!({"content": [image], "vendor": 1}),
        ),
        (
            r#"{"content":[{"type":"text","text":"{\"n\": 2}"}]}"#,
            &number,
            json!({"content": [text("{\"n\": 2}")], "structuredContent": {"n": 2}}),
        ),
        (
            r#"{"isError":true,"message":"no disk"}"#,
            &number,
            json!({"content": [text("no disk")], "isError": true}),
        ),
        (r#""a \"word\"""#, &content, json!({"content": [text("a \"word\"")], "isError": false})),
        (r#"{"n":3}"#, &content, json!({"structuredContent": {"n": 3}, "isError": false})),
    ];
    let folder = Folder::new();
    for (index, (printed, members, _)) in cases.iter().enumerate() {
        let name = format!("case.number{index}");
        let mut manifest = json!({"name": name, "version": "1.0.0", "description": "For a test.",
            "command": ["sh", "-c", script(printed, 0)],
            "inputSchema": {"type": "object", "properties": {}}});
        manifest.as_object_mut().expect("an object").extend(members.as_object().unwrap().clone());
        folder.file(&format!("{name}.tool.json"), manifest.to_string());
    }
    let mut tool_fixture = ToolFixture::open(folder).await;
    let listed = tool_fixture.ask("tools/list", json!({})).await;
    for (index, (printed, members, expected)) in cases.iter().enumerate() {
        let name = format!("case.number{index}");
        let result = tool_fixture.call(&name, json!({})).await;
        assert!(covers(&result, expected), "{printed}: {result}");
        let lifted = expected.get("structuredContent").is_some();
        assert_eq!(result.get("structuredContent").is_some(), lifted, "{printed}: {result}");
        let tools = listed["result"]["tools"].as_array().expect("a list");
        let is_meant =
            |tool: &&Value| plain(tool["name"].as_str().unwrap_or_default()) == plain(&name);
        let tool = tools.iter().find(is_meant).expect("it is listed");
        let has_schema = tool.get("outputSchema").is_some();
        assert_eq!(has_schema, members.get("outputSchema").is_some(), "{tool}");
    }
}

/// Clients that insist on structured content get an empty object where the schema allows one.
#[tokio::test]
async fn a_result_without_data_has_an_empty_object_where_that_fits() {
    let any = json!({"type": "object", "properties": {}});
    let tools = [any, number()].map(|output| {
        (script(r#"{"status":"success","explanation":"sent"}"#, 0), json!({"outputSchema": output}))
    });
    let mut tool_fixture = open(&tools).await;
    for (name, expected) in [("case.number0", Some(json!({}))), ("case.number1", None)] {
        let result = tool_fixture.call(name, json!({})).await;
        assert_eq!(result.get("structuredContent"), expected.as_ref(), "{result}");
        assert_eq!(result["isError"], false, "{result}");
        let (_, contract) = tool_fixture.contract(name, json!({})).await;
        assert_eq!(contract["data"], Value::Null, "{contract}");
    }
}
