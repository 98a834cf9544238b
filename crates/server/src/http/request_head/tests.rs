//! Heads, good and bad.

use proptest::prelude::*;

use crate::http::request_head::*;

fn read(head: &str) -> Result<Option<RequestHead>, BadHead> {
    let mut read = RequestHead::default();
    Ok(read.parse(head.as_bytes())?.map(|length| {
        assert_eq!(length, head.len(), "{head}");
        read
    }))
}

#[test]
fn where_a_body_ends_and_whether_the_connection_lasts() {
    let length = Framing::Length;
    for (head, framing, lasts) in [
        ("GET / HTTP/1.1\r\n\r\n", length(0), true),
        ("POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n", length(12), true),
        ("POST / HTTP/1.1\r\nCONTENT-length:12 \r\n\r\n", length(12), true),
        ("POST / HTTP/1.1\r\ncontent-length: 3\r\nConnection: a, Close\r\n\r\n", length(3), false),
        ("GET / HTTP/1.0\r\n\r\n", length(0), false),
        ("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n", length(0), true),
        ("POST / HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n", Framing::chunked(), true),
        ("\r\nGET / HTTP/1.1\r\n\r\n", length(0), true),
    ] {
        let read = read(head).unwrap().unwrap();
        assert_eq!((read.framing, read.keep_alive), (framing, lasts), "{head}");
    }
}

#[test]
fn what_is_asked_for() {
    for (target, path, query) in [
        ("/mcp", "/mcp", ""),
        ("/message?session=a&b=?", "/message", "session=a&b=?"),
        ("/?", "/", ""),
        ("*", "*", ""),
        ("http://a.test:80/mcp/one?x", "/mcp/one", "x"),
        ("HTTPS://A.test:80", "/", ""),
        ("http://a.test:80?x=/mcp", "/", "x=/mcp"),
    ] {
        let head = format!("GET {target} HTTP/1.1\r\nhost: a.test:80\r\n\r\n");
        let read = read(&head).unwrap().unwrap();
        assert_eq!((read.path(), read.query()), (path, query), "{target}");
    }
    for (target, why) in [
        ("mcp", "not a path"),
        ("a?b://c/mcp", "not a path"),
        ("ftp://a.test:80/mcp", "not a path"),
        ("http://b.test/mcp", "not that of"),
        ("http:///mcp", "not that of"),
    ] {
        let head = format!("GET {target} HTTP/1.1\r\nhost: a.test:80\r\n\r\n");
        let bad = read(&head).unwrap_err();
        assert!(bad.reason.contains(why), "{target}: {}", bad.reason);
    }
}

#[test]
fn a_head_is_read_over_the_one_before() {
    let mut head = RequestHead::default();
    let first =
        b"POST /one?x HTTP/1.0\r\na: 1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n";
    assert_eq!(head.parse(first).unwrap(), Some(first.len()));
    assert!(!head.expects_continue, "HTTP/1.0 knows no such thing");
    let second = b"PUT /two HTTP/1.1\r\nb: 2\r\nexpect: 100-Continue\r\n\r\nmore";
    assert_eq!(head.parse(second).unwrap(), Some(second.len() - 4));
    assert_eq!((head.method.as_str(), head.path(), head.query()), ("PUT", "/two", ""));
    assert_eq!(head.headers.iter().count(), 2);
    assert!(head.expects_continue && head.keep_alive && head.framing == Framing::Length(0));
}

#[test]
fn heads_that_are_none() {
    let many = "a: b\r\n".repeat(MAX_HEADERS + 1);
    for (head, status, expected) in [
        ("content-length: 1\r\ncontent-length: 2\r\n", 400, "two lengths"),
        ("content-length: +1\r\n", 400, "no number"),
        ("content-length: 1, 1\r\n", 400, "no number"),
        ("content-length: 1\r\ntransfer-encoding: chunked\r\n", 400, "a length and an encoding"),
        ("content-length: 1\r\nContent-Length: 1\r\n", 400, "more than once"),
        ("transfer-encoding: gzip\r\n", 400, "transfer coding"),
        ("transfer-encoding: chunked, gzip\r\n", 400, "transfer coding"),
        ("transfer-encoding: gzip, chunked\r\n", 400, "transfer coding"),
        ("transfer-encoding: chunked, chunked\r\n", 400, "transfer coding"),
        ("transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n", 400, "more than once"),
        ("host: a\r\nHost: a\r\n", 400, "more than once"),
        ("origin: a\r\norigin: b\r\n", 400, "more than once"),
        ("authorization: a\r\nauthorization: a\r\n", 400, "more than once"),
        ("mcp-session-id: a\r\nMcp-Session-Id: b\r\n", 400, "more than once"),
        ("mcp-param-a: a\r\nmcp-param-a: b\r\n", 400, "more than once"),
        ("last-event-id: a\r\nlast-event-id: b\r\n", 400, "more than once"),
        ("content-type: a\r\ncontent-type: b\r\n", 400, "more than once"),
        ("a: b\n", 400, "line feed"),
        ("a: b\r\n\n", 400, "line feed"),
        ("no colon\r\n", 400, "header name"),
        ("a : b\r\n", 400, "header name"),
        ("a: b\r\n c: d\r\n", 400, "header name"),
        (&many, 431, "more than 100"),
    ] {
        let bad = read(&format!("POST / HTTP/1.1\r\n{head}\r\n")).unwrap_err();
        assert_eq!(bad.status.as_u16(), status, "{head}");
        assert!(bad.reason.contains(expected), "{head}: {}", bad.reason);
    }
    for line in [
        "GET mcp HTTP/1.1",
        "GET / HTTP/2.0",
        "\x16\x03\x01",
        "G@T / HTTP/1.1",
        "CONNECT a.test:80 HTTP/1.1",
        "CONNECT / HTTP/1.1",
        "\nGET / HTTP/1.1",
    ] {
        assert_eq!(read(&format!("{line}\r\n\r\n")).unwrap_err().status.as_u16(), 400, "{line}");
    }
    let encoded = read("POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n").unwrap_err();
    assert!(encoded.reason.contains("transfer coding"));
    assert!(read("GET / HTTP/1.1\r\na: b\r\n").unwrap().is_none());
}

proptest! {
    #[test]
    fn no_bytes_are_too_bad_to_be_judged(line in "[ -~]{0,40}", bytes in any::<Vec<u8>>()) {
        let mut head = RequestHead::default();
        let _ = head.parse(&bytes);
        let mut text = format!("POST {line} HTTP/1.1\r\ncontent-length: {line}\r\n").into_bytes();
        text.extend_from_slice(&bytes);
        if let Ok(Some(length)) = head.parse(&text) {
            prop_assert!(length <= text.len());
        }
    }

    /// However a head is cut, it is found when its last byte has come and not before.
    #[test]
    fn a_head_is_looked_for_where_it_may_end(
        names in prop::collection::vec("[a-z]{1,9}: [!-~]{1,20}", 0..5),
        cuts in prop::collection::vec(1..9_usize, 1..60),
    ) {
        let head = format!("GET / HTTP/1.1\r\n{}\r\n", names.iter().map(|it| format!("{it}\r\n")).collect::<String>());
        let (mut seen, mut cuts) = (0, cuts.into_iter().cycle());
        while seen < head.len() {
            let next = (seen + cuts.next().unwrap_or(1)).min(head.len());
            let may_be_complete = super::super::connection::may_be_complete(&head.as_bytes()[..next], seen);
            prop_assert!(may_be_complete || next < head.len(), "{head:?} at {next}");
            seen = next;
        }
    }
}
