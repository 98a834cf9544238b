//! What programs may write, and what it means.

use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::{ErrorKind, Reply};
use gantry_protocol::RawJson;
use gantry_transport::child::{End, Finished};

use gantry_protocol::Secret;

use super::{read, request};

fn finished(stdout: &'static [u8], end: End) -> Finished {
    let stdout = Bytes::from_static(stdout);
    let stderr = "oh no\n".to_owned();
    Finished { stdout, stdout_overflow: false, input_read: true, stderr, end }
}

fn outcome(stdout: &'static [u8], end: End) -> Result<String, (ErrorKind, String)> {
    match read("text.count", &[], Duration::from_secs(3), &finished(stdout, end)) {
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
    let cases: [(&[u8], &str); 8] = [
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
    let broken = br#"{"status":"failure","data":1}"#;
    let cases: [(&[u8], End, &ErrorKind, &str); 10] = [
        (b"", End::Exited(0), &bad, "wrote nothing"),
        (b" \n \n", End::Exited(0), &bad, "wrote nothing"),
        (b"1\n2\n", End::Exited(0), &bad, "wrote 2 lines"),
        (b"hello", End::Exited(0), &bad, "it must write one line of JSON"),
        (b"{\"a\": NaN}", End::Exited(0), &bad, "did not write JSON"),
        (b"\"\xff\"", End::Exited(0), &bad, "not UTF-8"),
        (broken, End::Exited(0), &bad, "wrote a tool result that is none"),
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
fn the_detail_has_status_and_complaint() {
    let error =
        read("a.b", &[], Duration::ZERO, &finished(b"", End::Exited(2))).expect_err("a failure");
    assert_eq!(error.data.expect("data").as_str(), r#"{"exit_status":2,"stderr":"oh no"}"#);
    let secrets = [Secret::new("oh no")];
    let error = read("a.b", &secrets, Duration::ZERO, &finished(b"", End::Exited(2)));
    let error = error.expect_err("a failure");
    assert!(!error.public.contains("oh no"), "{error:?}");
    assert_eq!(error.data.expect("data").as_str(), r#"{"exit_status":2,"stderr":"…"}"#);
}
