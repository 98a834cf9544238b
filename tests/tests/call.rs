//! `/call`: tool calls and tool results of the strict contract, over the real wire.

use std::net::SocketAddr;
use std::time::Duration;

use gantry::contract::{ErrorType, ToolCall, ToolResult as Contracted};
use gantry::{
    Failure, GatewaySettings, Handlers, RawJson, Reply, ServerSettings, Tool, ToolResult,
};
use gantry_tests::http::{Answer, Outgoing};
use gantry_tests::request::call;
use gantry_tests::test_server::{TestOptions, TestServer, soon};
use serde_json::{Value, json};

/// A house with tools whose names the contract allows.
async fn test_server() -> TestServer {
    furnished(TestOptions::default()).await
}

async fn furnished(plan: TestOptions) -> TestServer {
    let test_server = TestServer::with(plan).await;
    furnish(test_server.server.handlers());
    let latch = test_server.latch.clone();
    let wait = Tool::new("test.wait", "Waits.").input_schema(json!({"type": "object"}));
    let wait = wait.run(move |_: Value, context| {
        let latch = latch.clone();
        async move {
            context.progress(1.0, None, Some("nobody hears this"));
            latch.pass().await;
            Ok::<_, Failure>("done")
        }
    });
    test_server.server.handlers().add_tool(wait).expect("the name is free");
    test_server
}

fn furnish(handlers: &Handlers) {
    let input = json!({"type": "object", "properties": {"n": {"type": "integer", "default": 2}}});
    let output = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let double =
        Tool::new("test.double", "Doubles.").input_schema(input).output_schema(output.clone());
    let double = double.run(async |arguments: Value, _| {
        let doubled = json!({"n": arguments["n"].as_i64().unwrap_or_default() * 2});
        Ok::<_, Failure>(ToolResult::text(doubled.to_string()).structured(RawJson::of(&doubled)?))
    });
    let lie = Tool::new("test.lie", "Breaks its promise.").input_schema(json!({"type": "object"}));
    let lie = lie.output_schema(output).run(async |_: Value, _| {
        Ok::<_, Failure>(ToolResult::new().structured(RawJson::string("no object")))
    });
    let ask = Tool::new("test.ask", "Asks.").input_schema(json!({"type": "object"}));
    let ask = ask.run(async |_: Value, context| {
        context.roots().await?;
        Ok::<_, Failure>("asked")
    });
    let fail = Tool::new("test.fail", "Fails.").input_schema(json!({"type": "object"}));
    let fail = fail.run(async |_: Value, _| Err::<String, _>(Failure::new("it broke")));
    // Gives back the tool result that it is given.
    let say = Tool::new("test.say", "Says.").input_schema(json!({"type": "object"}));
    let say = say.run(async |arguments: Value, _| {
        let result = Contracted::from_json(&RawJson::of(&arguments["result"])?)?;
        Ok::<_, Failure>(Reply::result(result.to_call_result()))
    });
    let pass = Tool::new("test.pass", "Passes content on.").input_schema(json!({"type": "object"}));
    let pass = pass.run(async |arguments: Value, _| {
        Ok::<_, Failure>(Reply::result(RawJson::of(&arguments["result"])?))
    });
    for tool in [double, lie, ask, fail, say, pass] {
        handlers.add_tool(tool).expect("the name is free");
    }
}

/// A POST to `/call` with these headers beside the usual ones.
fn post(body: impl Into<Vec<u8>>, headers: &[(&str, &str)]) -> Outgoing {
    let usual = [("Host", "127.0.0.1"), ("Content-Type", "application/json")];
    let kept = usual.iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Outgoing {
        method: "POST".to_owned(),
        path: "/call".to_owned(),
        headers: kept.chain(headers).map(owned).collect(),
        body: body.into(),
    }
}

/// The answer to a tool call. Every answer names the contract and is one of its results.
async fn ask(address: SocketAddr, body: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut answer = post(body, headers).send(address).await;
    let status = answer.status;
    (status, result(&mut answer).await)
}

async fn result(answer: &mut Answer) -> Value {
    assert_eq!(answer.header("gantry-contract"), Some("1.0.0"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let text = answer.text().await;
    let raw = RawJson::parse(text.clone(), Default::default()).expect("JSON");
    assert_eq!(raw.compact(), raw, "it is compact");
    let read = Contracted::from_json(&raw).unwrap_or_else(|error| panic!("{error} in {text}"));
    serde_json::from_str(read.to_json().as_str()).expect("JSON")
}

#[expect(clippy::needless_pass_by_value, reason = "cases write their arguments in place")]
fn tool_call(name: &str, arguments: Value) -> String {
    json!({"tool_name": name, "arguments": arguments}).to_string()
}

#[tokio::test]
async fn a_tool_call_gives_a_tool_result() {
    let test_server = test_server().await;
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let text = json!({"type": "text", "text": "hi"});
    let cases = [
        (tool_call("test.double", json!({"n": 4})), json!({"n": 8})),
        (tool_call("test.double", json!({})), json!({"n": 4})),
        (
            tool_call("test.pass", json!({"result": {"content": [text, image]}})),
            json!({"content": [text, image]}),
        ),
        (
            tool_call("test.pass", json!({"result": {"content": [], "structuredContent": 7}})),
            json!({"content": [], "structuredContent": 7}),
        ),
        (tool_call("test.pass", json!({"result": {"content": []}})), Value::Null),
    ];
    for (body, data) in cases {
        let expected =
            json!({"status": "success", "data": data, "error": null, "explanation": null});
        assert_eq!(ask(test_server.address, &body, &[]).await, (200, expected), "{body}");
    }
}

/// Whatever a tool says in the contract reaches its caller, at this door and through MCP.
#[tokio::test]
async fn a_tool_result_survives_both_ways() {
    let test_server = test_server().await;
    let error = json!({"error_type": "FileNotFoundError", "error_message": "no a.txt"});
    let own = json!({"error_type": "DiskError", "error_message": "full", "error_details": "sda"});
    let cases = [
        (200, json!({"status": "success", "data": {"n": 1}, "explanation": "counted"})),
        (200, json!({"status": "success"})),
        (200, json!({"status": "no_change_needed", "explanation": "as it was"})),
        (200, json!({"status": "no_change_needed", "data": {"n": 1}})),
        (200, json!({"status": "partial_success", "data": {"done": [1]}, "error": error})),
        (200, json!({"status": "partial_success", "error": own, "explanation": "some"})),
        (404, json!({"status": "failure", "error": error})),
        (500, json!({"status": "failure", "error": own, "explanation": "buy a disk"})),
    ];
    for (status, given) in cases {
        let mut expected =
            json!({"status": null, "data": null, "error": null, "explanation": null});
        for (key, value) in given.as_object().expect("an object") {
            expected[key] = value.clone();
        }
        let arguments = json!({"result": given});
        let direct = ask(test_server.address, &tool_call("test.say", arguments.clone()), &[]).await;
        assert_eq!(direct, (status, expected.clone()));
        let answer = call("test.say", arguments).ask(test_server.address).await;
        let carried = RawJson::of(&answer["result"]).expect("JSON");
        let read = Contracted::from_call_result(&carried).to_json();
        assert_eq!(read.read::<Value>(), Some(expected), "by way of {carried}");
    }
}

#[tokio::test]
async fn every_failure_is_a_tool_result() {
    let test_server = test_server().await;
    let good = tool_call("test.double", json!({}));
    let json = ("Content-Type", "application/json; charset=utf-8");
    let cases = [
        ("{", &[][..], 400, "ValidationError", "not valid JSON"),
        ("", &[], 400, "ValidationError", "not valid JSON"),
        ("\"\\ud800\"", &[], 400, "ValidationError", "must be a JSON object"),
        ("[]", &[], 400, "ValidationError", "must be a JSON object"),
        (r#"{"tool_name":"a.b"}"#, &[], 400, "ValidationError", "`arguments`"),
        (r#"{"tool_name":"a.b","arguments":{},"x":1}"#, &[], 400, "ValidationError", "`x`"),
        (r#"{"tool_name":"echo","arguments":{}}"#, &[], 400, "ValidationError", "`tool_name`"),
        (r#"{"tool_name":"a.b","arguments":{}}"#, &[], 404, "ToolNotFoundError", "`a.b`"),
        (
            r#"{"tool_name":"test.double","arguments":{"n":"x"}}"#,
            &[json],
            400,
            "ValidationError",
            "argument `n`",
        ),
        (r#"{"tool_name":"test.fail","arguments":{}}"#, &[], 500, "ToolExecutionError", "it broke"),
        (r#"{"tool_name":"test.lie","arguments":{}}"#, &[], 502, "ValidationError", "outputSchema"),
        (r#"{"tool_name":"test.ask","arguments":{}}"#, &[], 500, "ToolExecutionError", "roots"),
        (&good, &[("Content-Type", "text/plain")], 415, "ValidationError", "Content-Type"),
        (&good, &[("Accept", "text/html")], 406, "ValidationError", "Accept"),
        (&good, &[("Gantry-Contract", "2.0.0")], 400, "ValidationError", "`2.0.0`"),
        (&good, &[("Gantry-Contract", "latest")], 400, "ValidationError", "ask for 1.0.0"),
    ];
    for (body, headers, status, kind, message) in cases {
        let (got, result) = ask(test_server.address, body, headers).await;
        let error = &result["error"];
        assert_eq!((got, &error["error_type"]), (status, &json!(kind)), "{body} gave {result}");
        let said = error["error_message"].as_str().unwrap_or_default();
        assert!(said.contains(message), "{body} gave {result}");
        let advice = error["error_details"]["advice"].as_str().unwrap_or_default();
        assert!(!advice.is_empty(), "{body} gave {result}");
    }
    for version in ["1", "1.0.0", "1.9.4"] {
        let (status, result) =
            ask(test_server.address, &good, &[("Gantry-Contract", version)]).await;
        assert_eq!(status, 200, "{version}: {result}");
    }
}

#[tokio::test]
async fn limits_hold_here_too() {
    let mut doors = ServerSettings::default();
    doors.message.size = 1000;
    let middle =
        GatewaySettings { deadline: Duration::from_millis(50), ..GatewaySettings::default() };
    let test_server = furnished(TestOptions { doors, middle, ..TestOptions::default() }).await;
    let long = tool_call("test.double", json!({"x": "x".repeat(1000)}));
    let (status, result) = ask(test_server.address, &long, &[]).await;
    assert_eq!((status, &result["error"]["error_type"]), (413, &json!("ValidationError")));
    let (status, result) = ask(test_server.address, &tool_call("test.wait", json!({})), &[]).await;
    assert_eq!((status, &result["error"]["error_type"]), (504, &json!("TimeoutError")));
    test_server.latch.cancelled(1).await;
}

#[tokio::test]
async fn one_too_many_is_told_when_to_come_back() {
    let middle = GatewaySettings { calls_in_flight: 1, ..GatewaySettings::default() };
    let test_server = furnished(TestOptions { middle, ..TestOptions::default() }).await;
    let (address, wait) = (test_server.address, tool_call("test.wait", json!({})));
    let first = tokio::spawn(async move { ask(address, &wait, &[]).await });
    test_server.latch.started(1).await;
    let mut refused = post(tool_call("test.double", json!({})), &[]).send(address).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(result(&mut refused).await["error"]["error_type"], "ApiLimitExceeded");
    test_server.latch.open();
    assert_eq!(first.await.expect("it ends").0, 200);
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_call() {
    let test_server = test_server().await;
    let address = test_server.address;
    let call = tokio::spawn(async move {
        post(tool_call("test.wait", json!({})), &[]).send(address).await.status
    });
    test_server.latch.started(1).await;
    call.abort();
    soon("the end of the call", test_server.latch.cancelled(1)).await;
}

#[tokio::test]
async fn only_post_is_served() {
    let test_server = test_server().await;
    for method in ["GET", "PUT", "DELETE"] {
        let outgoing = Outgoing { method: method.to_owned(), ..post("", &[]) };
        let answer = outgoing.send(test_server.address).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")), "{method}");
    }
    let foreign = post(tool_call("test.double", json!({})), &[("Host", "example.com")]);
    assert_eq!(foreign.send(test_server.address).await.status, 403, "the guard stands before it");
}

/// What a program sends is what its library makes of it.
#[tokio::test]
async fn the_library_writes_what_the_door_reads() {
    let test_server = test_server().await;
    let arguments = RawJson::from_static(r#"{ "n" : 21 }"#);
    let call = ToolCall::new("test.double", arguments).expect("a good name");
    let (status, result) = ask(test_server.address, call.to_json().as_str(), &[]).await;
    assert_eq!((status, &result["data"]["n"]), (200, &json!(42)));
}

#[test]
fn every_error_is_documented_with_its_advice() {
    let page = include_str!("../../docs/call.md");
    for known in ErrorType::ALL {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{known}` |")));
        let row = row.unwrap_or_else(|| panic!("{known} is not in docs/call.md"));
        assert!(row.ends_with(&format!("| {} |", known.advice())), "{row}");
    }
}
