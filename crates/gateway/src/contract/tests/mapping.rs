//! Single results of `tools/call` and what they are in the contract.

use std::time::{Duration, Instant};

use super::{ToolResult, raw};
use crate::contract::{ErrorType, ToolCall};
use crate::{CallError, ErrorKind, InputRequired, Reply};

/// A result of any tool, what it is in the contract, and whether that gives it back as it was.
#[test]
fn results_of_any_tool_are_tool_results() {
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let image = r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#;
    let cases = [
        // The data is the structured content.
        (
            format!(r#"{{"content":[{}],"structuredContent":{{"n":1.10}},"isError":false}}"#, text(r#"{\"n\":1.10}"#)),
            r#"{"status":"success","data":{"n":1.10},"error":null,"explanation":null}"#.to_owned(),
            true,
        ),
        // A text that some client wrote anew is still the same value.
        (
            format!(r#"{{"content":[{}],"structuredContent":{{"b":1,"a":2}}}}"#, text(r#"{\"a\": 2, \"b\": 1}"#)),
            r#"{"status":"success","data":{"b":1,"a":2},"error":null,"explanation":null}"#.to_owned(),
            false,
        ),
        // A text that says something else explains.
        (
            format!(r#"{{"content":[{}],"structuredContent":{{"n":1}}}}"#, text("one word")),
            r#"{"status":"success","data":{"n":1},"error":null,"explanation":"one word"}"#.to_owned(),
            false,
        ),
        // Content alone is carried whole.
        (
            format!(r#"{{"content":[{},{image}],"isError":false}}"#, text("hi")),
            format!(r#"{{"status":"success","data":{{"content":[{},{image}]}},"error":null,"explanation":null}}"#, text("hi")),
            true,
        ),
        // So is an image beside structured content, and structured content that is no object.
        (
            format!(r#"{{"content":[{image}],"structuredContent":{{"w":1}},"isError":false}}"#),
            format!(r#"{{"status":"success","data":{{"content":[{image}],"structuredContent":{{"w":1}}}},"error":null,"explanation":null}}"#),
            true,
        ),
        (
            format!(r#"{{"content":[{}],"structuredContent":7,"isError":false}}"#, text("7")),
            format!(r#"{{"status":"success","data":{{"content":[{}],"structuredContent":7}},"error":null,"explanation":null}}"#, text("7")),
            true,
        ),
        // Nothing is no data, which the contract then says.
        (
            r#"{"content":[],"isError":false}"#.to_owned(),
            r#"{"status":"success","data":null,"error":null,"explanation":null}"#.to_owned(),
            false,
        ),
        (
            r#"{"content":[],"isError":false,"_meta":{"gantry/status":"success"}}"#.to_owned(),
            r#"{"status":"success","data":null,"error":null,"explanation":null}"#.to_owned(),
            true,
        ),
        // An empty object that only clients who insist on one are given is no data.
        (
            r#"{"content":[],"structuredContent":{},"isError":false,"_meta":{"gantry/status":"success"}}"#.to_owned(),
            r#"{"status":"success","data":null,"error":null,"explanation":null}"#.to_owned(),
            false,
        ),
        // Keys that the contract does not know.
        (
            r#"{"content":[],"isError":false,"_meta":{"gantry/status":"success","gantry/further":{"id":"r1","n":1.50}}}"#.to_owned(),
            r#"{"status":"success","data":null,"error":null,"explanation":null,"id":"r1","n":1.50}"#.to_owned(),
            true,
        ),
        (
            r#"{"content":[],"isError":false,"_meta":{"gantry/status":"success","gantry/further":{"status":"failure"}}}"#.to_owned(),
            r#"{"status":"success","data":null,"error":null,"explanation":null}"#.to_owned(),
            false,
        ),
        // What the contract adds is in `_meta`.
        (
            format!(
                r#"{{"content":[{},{}],"structuredContent":{{"n":1}},"isError":false,"_meta":{{"gantry/status":"no_change_needed","gantry/explanation":"as it was"}}}}"#,
                text(r#"{\"n\":1}"#), text("as it was")
            ),
            r#"{"status":"no_change_needed","data":{"n":1},"error":null,"explanation":"as it was"}"#.to_owned(),
            true,
        ),
    ];
    for (result, expected, exact) in cases {
        let read = ToolResult::from_call_result(&raw(&result));
        assert_eq!(read.to_json().as_str(), expected, "{result}");
        let back = read.to_call_result();
        assert_eq!(back == raw(&result), exact, "{result} came back as {back}");
        assert_eq!(ToolResult::from_call_result(&back), read, "{result} came back as {back}");
    }
}

#[test]
fn a_failure_has_an_error_and_no_data() {
    let advice = ErrorType::ToolExecutionError.advice();
    let detail = r#"{"error_type":"DiskError","error_message":"full","error_details":"sda"}"#;
    let cases = [
        (
            r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#.to_owned(),
            "no",
            "ToolExecutionError",
        ),
        (r#"{"content":[],"isError":true}"#.to_owned(), "did not say why", "ToolExecutionError"),
        (
            format!(r#"{{"content":[],"isError":true,"_meta":{{"gantry/error":{detail}}}}}"#),
            "full",
            "DiskError",
        ),
        // A tool that says two things at once has failed.
        (
            format!(
                r#"{{"content":[],"structuredContent":{{}},"isError":true,"_meta":{{"gantry/error":{detail}}}}}"#
            ),
            "may not have `data`",
            "ValidationError",
        ),
        (
            r#"{"content":[],"_meta":{"gantry/status":"failure"}}"#.to_owned(),
            "did not say why",
            "ToolExecutionError",
        ),
    ];
    for (result, message, kind) in cases {
        let read = ToolResult::from_call_result(&raw(&result));
        assert!(read.data().is_none(), "{result}");
        let error = read.error().expect("an error");
        assert_eq!(error.error_type.as_str(), kind, "{result}");
        assert!(error.error_message.contains(message), "{result} gave {error:?}");
        assert_eq!(ToolResult::from_call_result(&read.to_call_result()), read, "{result}");
    }
    let more = r#"{"content":[{"type":"x"}],"structuredContent":{"code":5},"isError":true}"#;
    let read = ToolResult::from_call_result(&raw(more));
    let details = read.error().and_then(|error| error.error_details.clone());
    let expected = format!(
        r#"{{"content":[{{"type":"x"}}],"structuredContent":{{"code":5}},"advice":"{advice}"}}"#
    );
    assert_eq!(details, Some(raw(&expected)), "nothing of it is lost");
}

#[test]
fn every_outcome_is_a_tool_result() {
    let outcomes = [
        (Err(CallError::new(ErrorKind::ToolNotFound, "m")), "ToolNotFoundError"),
        (Err(CallError::new(ErrorKind::Refused, "m")), "PermissionError"),
        (Err(CallError::new(ErrorKind::Blocked, "m")), "PermissionError"),
        (Err(CallError::new(ErrorKind::ShuttingDown, "m")), "TransportError"),
        (Err(CallError::new(ErrorKind::BadOutput, "m")), "SerializationError"),
        (Err(CallError::new(ErrorKind::InvalidArguments, "m")), "ValidationError"),
        (Err(CallError::new(ErrorKind::BrokenPromise, "m")), "ValidationError"),
        (Err(CallError::new(ErrorKind::BrokenContract, "m")), "ValidationError"),
        (
            Err(CallError::new(ErrorKind::CredentialsRefused { status: 401 }, "m")),
            "AuthenticationError",
        ),
        (
            Err(CallError::new(ErrorKind::UpstreamLimit { retry_after: None }, "m")),
            "ApiLimitExceeded",
        ),
        (Err(CallError::new(ErrorKind::Unavailable, "m")), "TransportError"),
        (Err(CallError::new(ErrorKind::Malformed, "m")), "TransportError"),
        (Err(CallError::new(ErrorKind::Timeout, "m")), "TimeoutError"),
        (Ok(Reply::InputRequired(InputRequired::default())), "ToolExecutionError"),
    ];
    for (outcome, expected) in outcomes {
        let result = ToolResult::from_outcome(&outcome);
        let found = result.error().map(|error| error.error_type.to_string());
        assert_eq!(found.as_deref(), Some(expected), "{outcome:?}");
    }
}

#[test]
fn params_of_other_callers_are_read_too() {
    let cases = [
        (r#"{"name":"a.b"}"#, Some("{}")),
        (r#"{"name":"a.b","arguments":null,"_meta":{"x":1}}"#, Some("{}")),
        (r#"{"name":"a.b","arguments":{"x":1}}"#, Some(r#"{"x":1}"#)),
        (r#"{"name":"a.b","arguments":[]}"#, None),
        (r#"{"name":"ab","arguments":{}}"#, None),
        (r#"{"name":"a.b","name":"a.c"}"#, None),
        (r#"{"arguments":{}}"#, None),
    ];
    for (params, expected) in cases {
        let call = ToolCall::from_params(&raw(params)).ok();
        assert_eq!(call.as_ref().map(|it| it.arguments().as_str()), expected, "{params}");
    }
}

/// A server chooses how many texts stand beside its data, and how alike they look.
#[test]
fn many_texts_beside_large_data_take_linear_time() {
    let members: Vec<_> = (0..40_000).map(|it| format!(r#""k{it}":{it}"#)).collect();
    let data = format!("{{{}}}", members.join(","));
    let long = format!("[{}1]", "1,".repeat(200_000));
    for text in ["1", "{}", r#"{\"k0\":0}"#, "one word"] {
        let block = format!(r#"{{"type":"text","text":"{text}"}}"#);
        for data in [data.clone(), format!(r#"{{"k0":{data}}}"#), format!(r#"{{"k0":{long}}}"#)] {
            let content = vec![block.as_str(); 2_000].join(",");
            let result = raw(&format!(r#"{{"content":[{content}],"structuredContent":{data}}}"#));
            let started = Instant::now();
            let read = ToolResult::from_call_result(&result);
            assert!(read.explanation().is_some(), "`{text}` is not the data");
            assert!(started.elapsed() < Duration::from_secs(5), "{text}: {:?}", started.elapsed());
        }
    }
}
