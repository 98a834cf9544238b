//! The contract read strictly, and mapped to `tools/call` and back without loss.

mod generate;
mod mapping;
mod properties;

use gantry_protocol::{JsonLimits, RawJson};

use super::{ErrorType, Status, ToolCall, ToolResult, ValidationKind, check_version};
use crate::{CallError, ErrorDetail, ErrorKind};

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).expect("the case is JSON")
}

#[test]
fn a_tool_call_has_two_keys() {
    let cases = [
        (r#"{"tool_name":"a.b","arguments":{}}"#, ""),
        (r#" { "arguments" : {"x":1.10} , "tool_name":"a_1.b.c" } "#, ""),
        (r#"{"tool_name":"\u0061.b","arguments":{}}"#, ""),
        (r#"[]"#, "must be a JSON object"),
        (r#"{"arguments":{}}"#, "must have `tool_name`"),
        (r#"{"tool_name":null,"arguments":{}}"#, "must have `tool_name`"),
        (r#"{"tool_name":5,"arguments":{}}"#, "`tool_name` must be a string"),
        (r#"{"tool_name":"a.b"}"#, "must have `arguments`"),
        (r#"{"tool_name":"a.b","arguments":null}"#, "must have `arguments`"),
        (r#"{"tool_name":"a.b","arguments":[]}"#, "`arguments` must be an object"),
        (r#"{"tool_name":"a.b","arguments":{},"id":1}"#, "may not have `id`"),
        (r#"{"tool_name":"a.b","arguments":{},"arguments":{}}"#, "`arguments` more than once"),
        (r#"{"tool_name":"a.b","tool_\u006eame":"a.c"}"#, "`tool_name` more than once"),
    ];
    for (text, problem) in cases {
        match ToolCall::from_json(&raw(text)) {
            Ok(call) => assert!(problem.is_empty(), "{text} gave {call:?}"),
            Err(error) => {
                let error = error.to_string();
                assert!(!problem.is_empty() && error.contains(problem), "{text} gave {error}");
            }
        }
    }
    let broken = ToolCall::parse("{", JsonLimits::default()).expect_err("no JSON");
    assert!(broken.to_string().contains("not valid JSON"), "{broken}");
}

#[test]
fn a_tool_name_is_words_joined_by_dots() {
    let good = ["a.b", "0._", "module_name.tool_name", "a.b.c.d9"];
    let bad = ["", "a", ".", "a.", ".b", "a..b", "A.b", "a-b.c", "a b.c", "a.b\n", "ä.b", "a/b.c"];
    let is_good = |name: &str| ToolCall::new(name, RawJson::EMPTY_OBJECT).is_ok();
    good.iter().for_each(|name| assert!(is_good(name), "{name:?}"));
    bad.iter().for_each(|name| assert!(!is_good(name), "{name:?}"));
}

#[test]
fn a_tool_result_keeps_its_rule() {
    let error = r#"{"error_type":"T","error_message":"m"}"#;
    let cases = [
        (r#"{"status":"success"}"#, ""),
        (r#"{"status":"success","data":null,"error":null,"explanation":null}"#, ""),
        (r#"{"status":"no_change_needed","explanation":"as it was"}"#, ""),
        (r#"{"status":"partial_success","data":{"a":1},"error":ERROR}"#, ""),
        (r#"{"status":"failure","error":ERROR,"data":null}"#, ""),
        (r#"{"status":"failure"}"#, "must have `error`"),
        (r#"{"status":"failure","error":ERROR,"data":{}}"#, "may not have `data`"),
        (r#"{"status":"fine"}"#, "`status` must be"),
        (r#"{"data":{}}"#, "must have `status`"),
        (r#"{"status":"success","data":7}"#, "`data` must be an object"),
        (r#"{"status":"success","explanation":7}"#, "`explanation` must be a string"),
        (r#"{"status":"success","result":7,"n":null}"#, ""),
        (r#"{"status":"success","x":7,"x":8}"#, "has `x` more than once"),
        (r#"{"status":"failure","error":{"error_type":"T","error_message":"m","hint":[1]}}"#, ""),
        (r#"{"status":"failure","error":{"error_type":"T"}}"#, "must have `error_message`"),
        (r#"{"status":"failure","error":"broken"}"#, "an error detail must be"),
        (
            r#"{"status":"failure","error":{"error_type":"T","error_message":"m","error_details":5}}"#,
            "`error_details` must be",
        ),
    ];
    for (text, problem) in cases {
        let text = text.replace("ERROR", error);
        match ToolResult::from_json(&raw(&text)) {
            Ok(result) => {
                assert!(problem.is_empty(), "{text} gave {result:?}");
                assert_eq!(ToolResult::from_json(&result.to_json()).ok(), Some(result), "{text}");
            }
            Err(error) => {
                let error = error.to_string();
                assert!(!problem.is_empty() && error.contains(problem), "{text} gave {error}");
            }
        }
    }
}

#[test]
fn only_what_is_meant_as_a_tool_result_is_read_as_one() {
    // What it is where the output schema does not describe a `status`, where it does and the value
    // fits it, and where only the data fits it.
    let failure = r#"{"status":"failure","error":{"error_type":"T","error_message":"m"},"id":1}"#;
    let cases = [
        (r#"{"status":"success","data":{}}"#, ["result", "result", "result"]),
        (r#"{"status":"success"}"#, ["result", "other", "result"]),
        (r#"{"status":"success","data":{},"id":1}"#, ["result", "result", "result"]),
        (failure, ["result", "result", "result"]),
        (r#"{"status":"failure"}"#, ["broken", "other", "broken"]),
        (r#"{"status":"failure","words":5}"#, ["broken", "other", "broken"]),
        (r#"{"status":"failure","error":"no"}"#, ["broken", "other", "broken"]),
        (r#"{"status":"success","data":5}"#, ["broken", "other", "broken"]),
        (r#"{"status":"success","words":5}"#, ["other", "other", "result"]),
        (r#"{"status":"done","data":{}}"#, ["other", "other", "other"]),
        (r#"{"data":{}}"#, ["other", "other", "other"]),
        (r#""success""#, ["other", "other", "other"]),
    ];
    let fits_all = |_: &RawJson| true;
    let fits_data = |value: &RawJson| value.get("status").is_none();
    for (text, expected) in cases {
        let found = [None, Some(&fits_all as &dyn Fn(&RawJson) -> bool), Some(&fits_data)];
        let found = found.map(|fits| match ToolResult::read(&raw(text), fits) {
            Some(Ok(_)) => "result",
            Some(Err(_)) => "broken",
            None => "other",
        });
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn every_type_has_a_name_and_an_advice() {
    for known in ErrorType::ALL {
        assert_eq!(ErrorType::parse(known.as_str()), known);
        let advice = known.advice();
        assert!(advice.len() > 20 && !advice.ends_with('.'), "{known}: {advice}");
    }
    assert_eq!(ErrorType::parse("DiskError"), ErrorType::Custom("DiskError".to_owned()));
}

#[test]
fn details_stand_beside_the_advice() {
    let advice = ErrorType::ToolExecutionError.advice();
    let limit = std::time::Duration::from_secs(1);
    let kinds = [
        (ErrorKind::InvalidArguments, ValidationKind::Arguments),
        (ErrorKind::BrokenPromise, ValidationKind::OutputSchema),
        (ErrorKind::BrokenContract, ValidationKind::ResultContract),
    ];
    let kinds = kinds.map(|(kind, told)| {
        let (name, advice) = (told.as_str(), told.advice());
        (
            kind,
            Some(r#"{"n":1,"kind":2}"#),
            format!(r#"{{"kind":"{name}","n":1,"advice":"{advice}"}}"#),
        )
    });
    let cases = [
        (ErrorKind::ToolFailed, None, format!(r#"{{"advice":"{advice}"}}"#)),
        (ErrorKind::ToolFailed, Some("{ }"), format!(r#"{{"advice":"{advice}"}}"#)),
        (ErrorKind::ToolFailed, Some(r#"{"a": 1}"#), format!(r#"{{"a":1,"advice":"{advice}"}}"#)),
        (ErrorKind::ToolFailed, Some("[1]"), format!(r#"{{"data":[1],"advice":"{advice}"}}"#)),
        (ErrorKind::ToolFailed, Some(r#"{"advice":"x"}"#), r#"{"advice":"x"}"#.to_owned()),
        (ErrorKind::Handler { code: 4 }, None, format!(r#"{{"code":4,"advice":"{advice}"}}"#)),
        (
            ErrorKind::LimitExceeded { retry_after: Some(limit) },
            None,
            format!(
                r#"{{"retryAfterMs":1000,"advice":"{}"}}"#,
                ErrorType::ApiLimitExceeded.advice()
            ),
        ),
    ];
    for (kind, data, expected) in cases.into_iter().chain(kinds) {
        let error = CallError { data: data.map(raw), ..CallError::new(kind, "m") };
        let details = ErrorDetail::from(&error).error_details.expect("an advice");
        assert_eq!(details.as_str(), expected, "{error:?}");
    }
}

#[test]
fn one_major_version_is_spoken() {
    let asked = [("1", true), ("1.0.0", true), ("1.7", true), ("1.12.3", true)];
    let refused = ["", "2", "2.0.0", "10.0", "0.9", "1.", "1.x", "v1", "1.0.0.0", "1.0-beta"];
    for (version, good) in asked.into_iter().chain(refused.map(|it| (it, false))) {
        assert_eq!(check_version(version).is_ok(), good, "{version:?}");
    }
}

#[test]
fn a_status_is_one_of_four() {
    for status in Status::ALL {
        assert_eq!(Status::read(&RawJson::string(status.as_str())), Some(status));
    }
}
