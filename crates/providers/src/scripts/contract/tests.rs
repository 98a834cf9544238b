//! What programs may write, and what it means.

use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::{ErrorKind, Reply, Schema, SchemaLimits};
use gantry_process::{End, Finished};
use gantry_protocol::RawJson;

use gantry_protocol::Secret;

use super::{PrintedValue, read, request};

/// A tool that answers with content.
const TOOL: PrintedValue<'_> = PrintedValue { name: "text.count", source: None, schema: None };

fn finished(stdout: &'static [u8], end: End) -> Finished {
    let stdout = Bytes::from_static(stdout);
    let stderr = "oh no\n".to_owned();
    Finished { stdout, stdout_overflow: false, input_read: true, stderr, end }
}

fn outcome(stdout: &'static [u8], end: End) -> Result<String, (ErrorKind, String)> {
    printed(&TOOL, stdout, end)
}

fn printed(
    tool: &PrintedValue<'_>,
    stdout: &'static [u8],
    end: End,
) -> Result<String, (ErrorKind, String)> {
    match read(tool, &[], Duration::from_secs(3), &finished(stdout, end)) {
        Ok(Reply::Result(result)) => Ok(result.as_str().to_owned()),
        Ok(reply) => panic!("{reply:?}"),
        Err(error) => Err((error.kind, error.public)),
    }
}

#[test]
fn one_line_goes_in() {
    let arguments = RawJson::from_static("{\"a\":\n1.10}");
    assert_eq!(&request(&arguments)[..], b"{\"arguments\":{\"a\": 1.10}}\n");
}

#[test]
fn one_line_of_json_is_a_result() {
    let cases: [(&[u8], &str); 10] = [
        (
            b"{\"words\": 3}\n",
            r#"{"content":[{"type":"text","text":"{\"words\":3}"}],"structuredContent":{"words": 3},"isError":false}"#,
        ),
        (
            b"\n  7  \r\n\n",
            r#"{"content":[{"type":"text","text":"7"}],"structuredContent":7,"isError":false}"#,
        ),
        (
            b"123456789012345678901234567890",
            r#"{"content":[{"type":"text","text":"123456789012345678901234567890"}],"structuredContent":123456789012345678901234567890,"isError":false}"#,
        ),
        (
            br#"{"content":[],"isError":true,"vendor":1}"#,
            r#"{"content":[],"isError":true,"vendor":1}"#,
        ),
        (
            br#"{"content":["a word"]}"#,
            r#"{"content":[{"type":"text","text":"{\"content\":[\"a word\"]}"}],"structuredContent":{"content":["a word"]},"isError":false}"#,
        ),
        (
            br#"{"content":"a word"}"#,
            r#"{"content":[{"type":"text","text":"{\"content\":\"a word\"}"}],"structuredContent":{"content":"a word"},"isError":false}"#,
        ),
        (
            br#"{"status":"no_change_needed","data":{"a":1}}"#,
            r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":false,"_meta":{"gantry/status":"no_change_needed"}}"#,
        ),
        (
            b"\"one \\\"word\\\"\"",
            r#"{"content":[{"type":"text","text":"one \"word\""}],"isError":false}"#,
        ),
        (
            br#"{"status":"success","data":{"a":1},"id":"r1"}"#,
            r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":false,"_meta":{"gantry/further":{"id":"r1"}}}"#,
        ),
        (
            br#"{"status":"open","data":{"a":1}}"#,
            r#"{"content":[{"type":"text","text":"{\"status\":\"open\",\"data\":{\"a\":1}}"}],"structuredContent":{"status":"open","data":{"a":1}},"isError":false}"#,
        ),
    ];
    for (stdout, expected) in cases {
        assert_eq!(outcome(stdout, End::Exited(0)).as_deref(), Ok(expected));
    }
}

#[test]
fn everything_else_is_a_failure_that_says_what_to_do() {
    let (failed, bad) = (ErrorKind::ToolFailed, ErrorKind::BadOutput);
    let contract = &ErrorKind::BrokenContract;
    let broken = br#"{"status":"failure","data":1}"#;
    let cases: [(&[u8], End, &ErrorKind, &str); 10] = [
        (b"", End::Exited(0), &bad, "wrote nothing"),
        (b" \n \n", End::Exited(0), &bad, "wrote nothing"),
        (b"1\n2\n", End::Exited(0), &bad, "wrote 2 lines"),
        (b"hello", End::Exited(0), &bad, "it must write one line of JSON"),
        (b"{\"a\": NaN}", End::Exited(0), &bad, "did not write JSON"),
        (b"\"\xff\"", End::Exited(0), &bad, "not UTF-8"),
        (broken, End::Exited(0), contract, "returned an invalid tool result"),
        (b"{}", End::Exited(3), &failed, "exit status 3; it said: oh no"),
        (b"{}", End::Signalled(9), &failed, "signal 9"),
        (b"", End::TimedOut, &ErrorKind::Timeout, "did not finish within 3s"),
    ];
    for (stdout, end, kind, words) in cases {
        let (found, text) = outcome(stdout, end).expect_err(words);
        assert_eq!(found, *kind, "{text}");
        assert!(text.contains(words) && text.contains("`text.count`"), "{text}");
    }
}

#[test]
fn a_string_that_a_schema_promises_is_structured_too() {
    let source = RawJson::from_static(r#"{"type":"string"}"#);
    let tool = PrintedValue { source: Some(&source), ..TOOL };
    let expected =
        r#"{"content":[{"type":"text","text":"hi"}],"structuredContent":"hi","isError":false}"#;
    assert_eq!(printed(&tool, b"\"hi\"", End::Exited(0)).as_deref(), Ok(expected));
}

/// What a tool with an output schema may print in place of data, or what its failure says.
#[test]
fn content_is_lifted_where_it_fits_the_output_schema() {
    let source = RawJson::from_static(
        r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#,
    );
    let schema = Schema::compile(&source, SchemaLimits::default()).expect("a schema");
    let tool = PrintedValue { source: Some(&source), schema: Some(&schema), ..TOOL };
    let text = r#"{"type":"text","text":"{\"n\": 1}"}"#;
    let (word, number) = (r#"{"type":"text","text":"hi"}"#, r#"{"type":"text","text":"1"}"#);
    let cases = [
        (format!(r#"{{"content":[{text}]}}"#), Some(r#""structuredContent":{"n": 1}"#)),
        (
            format!(r#"{{"content":[{word},{number},{text}]}}"#),
            Some(r#""structuredContent":{"n": 1}"#),
        ),
        (
            format!(r#"{{"content":[{word}],"structuredContent":{{"n":"x"}}}}"#),
            Some(r#"{"n":"x"}"#),
        ),
        (format!(r#"{{"content":[{word}],"isError":true}}"#), Some(r#""isError":true"#)),
        (format!(r#"{{"content":[{word}],"isError":false}}"#), None),
        (format!(r#"{{"content":[{number}]}}"#), None),
        (r#"{"content":[]}"#.to_owned(), None),
    ];
    for (line, expected) in cases {
        let line: &'static [u8] = Box::leak(line.into_bytes().into_boxed_slice());
        let shown = String::from_utf8_lossy(line);
        match (printed(&tool, line, End::Exited(0)), expected) {
            (Ok(result), Some(expected)) => assert!(result.contains(expected), "{shown}: {result}"),
            (Err((kind, text)), None) => {
                assert_eq!(kind, ErrorKind::BrokenPromise, "{shown}: {text}");
                assert!(text.contains("declare `output: \"content\"`"), "{shown}: {text}");
            }
            (result, _) => panic!("{shown} gave {result:?}"),
        }
        // Without an output schema content passes as it is.
        assert_eq!(outcome(line, End::Exited(0)).as_deref(), Ok(&*shown));
    }
}

#[test]
fn an_object_that_says_it_is_an_error_is_one() {
    let no_reason = "the tool failed and did not say why";
    let cases: [(&[u8], &str); 6] = [
        (br#"{"isError":true}"#, no_reason),
        (br#"{"isError":true,"message":"no disk"}"#, "no disk"),
        (br#"{"isError":true,"content":"no disk"}"#, "no disk"),
        (br#"{"isError":true,"n":1}"#, r#"{\"n\":1}"#),
        (br#"{"isError":true,"error":"no disk","n":1}"#, r#"{\"error\":\"no disk\",\"n\":1}"#),
        (br#"{"isError":true,"structuredContent":{"n":1}}"#, no_reason),
    ];
    for (line, text) in cases {
        for end in [End::Exited(0), End::Exited(3)] {
            let result = outcome(line, end).expect("a result");
            let expected = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"#);
            assert!(result.starts_with(&expected), "{result}");
            assert!(result.contains(r#""isError":true"#), "{result}");
        }
    }
    // An output schema that describes `isError` makes it data.
    let source = RawJson::from_static(r#"{"type":"object","properties":{"isError":{}}}"#);
    let tool = PrintedValue { source: Some(&source), ..TOOL };
    let result = printed(&tool, br#"{"isError":true,"n":1}"#, End::Exited(0)).expect("a result");
    assert!(result.ends_with(r#""isError":false}"#), "{result}");
}

#[test]
fn the_detail_has_status_and_complaint() {
    let error =
        read(&TOOL, &[], Duration::ZERO, &finished(b"", End::Exited(2))).expect_err("a failure");
    assert_eq!(error.data.expect("data").as_str(), r#"{"exit_status":2,"stderr":"oh no"}"#);
    let secrets = [Secret::new("oh no")];
    let error = read(&TOOL, &secrets, Duration::ZERO, &finished(b"", End::Exited(2)));
    let error = error.expect_err("a failure");
    assert!(!error.public.contains("oh no"), "{error:?}");
    assert_eq!(error.data.expect("data").as_str(), r#"{"exit_status":2,"stderr":"…"}"#);
}
