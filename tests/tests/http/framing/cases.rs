//! Streams written by hand: each way in which a request could be taken for another.

use super::judge;
use super::peers::{Gantry, hyper};

/// What is sent, the requests that we understand of it as `METHOD TARGET BODY`, and the status with
/// which we refuse what follows.
type Case = (&'static str, &'static str, &'static [&'static str], Option<u16>);

const CASES: &[Case] = &[
    ("plain", "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n", &["GET /a "], None),
    (
        "a length",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
        &["POST /a hello"],
        None,
    ),
    ("no length", "POST /a HTTP/1.1\r\nHost: localhost\r\n\r\n", &["POST /a "], None),
    (
        "pipelined",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhiGET /b?c HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &["POST /a hi", "GET /b?c "],
        None,
    ),
    (
        "chunks",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &["POST /a abcde", "GET /b "],
        None,
    ),
    (
        "Chunked, in another case",
        "POST /a HTTP/1.1\r\nHost: localhost\r\ntransfer-encoding: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &["POST /a x"],
        None,
    ),
    (
        "a chunk extension",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0;c\r\n\r\n",
        &["POST /a abc"],
        None,
    ),
    (
        "trailers",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-A: b\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &["POST /a x", "GET /b "],
        None,
    ),
    (
        "a request where trailers stand",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nGET /evil HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "length and chunks",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
        &[],
        Some(400),
    ),
    (
        "chunks and length",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
        &[],
        Some(400),
    ),
    (
        "two lengths",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        &[],
        Some(400),
    ),
    (
        "one length twice",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        &[],
        Some(400),
    ),
    (
        "a list of lengths",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 1\r\n\r\na",
        &[],
        Some(400),
    ),
    (
        "a length with a sign",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\na",
        &[],
        Some(400),
    ),
    (
        "a negative length",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\na",
        &[],
        Some(400),
    ),
    (
        "a length in hexadecimal",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x1\r\n\r\na",
        &[],
        Some(400),
    ),
    (
        "a length with a space",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1 1\r\n\r\na",
        &[],
        Some(400),
    ),
    (
        "an empty length",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: \r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a length with zeros",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0001\r\n\r\na",
        &["POST /a a"],
        None,
    ),
    (
        "a length beyond all numbers",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551616\r\n\r\na",
        &[],
        Some(400),
    ),
    (
        "a length above the limit",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\na",
        &[],
        Some(413),
    ),
    (
        "a space before the colon",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length : 1\r\n\r\na",
        &[],
        Some(400),
    ),
    (
        "another coding",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "another coding first",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "another coding last",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "chunked twice",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "two codings in two headers",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "chunked in two headers",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a coding with a parameter",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked;q=1\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a coding in quotes",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \"chunked\"\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a coding that looks like it",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a coding behind a vertical tab",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \x0bchunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "an empty coding",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a list that ends with a comma",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked,\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a coding of HTTP/1.0",
        "POST /a HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    ("bare LF", "GET /a HTTP/1.1\nHost: localhost\n\n", &[], Some(400)),
    ("bare LF after the first line", "GET /a HTTP/1.1\nHost: localhost\r\n\r\n", &[], Some(400)),
    ("bare LF between headers", "GET /a HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", &[], Some(400)),
    ("bare LF at the end", "GET /a HTTP/1.1\r\nHost: localhost\r\n\n", &[], Some(400)),
    (
        "bare LF before the first line",
        "\nGET /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "an empty line before the first",
        "\r\nGET /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &["GET /a "],
        None,
    ),
    ("bare CR in a value", "GET /a HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n", &[], Some(400)),
    ("bare CR for a line end", "GET /a HTTP/1.1\rHost: localhost\r\r", &[], Some(400)),
    (
        "bare LF in a size",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "bare LF in an extension",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "bare LF behind a chunk",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a chunk that is longer",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a size with a sign",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a size with 0x",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "an empty size",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a size beyond all numbers",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000001\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    ("a folded header", "GET /a HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", &[], Some(400)),
    (
        "a folded coding",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\r\n chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a space before the first header",
        "GET /a HTTP/1.1\r\n Host: localhost\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "a header without a name",
        "GET /a HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n",
        &[],
        Some(400),
    ),
    ("a header without a colon", "GET /a HTTP/1.1\r\nHost: localhost\r\nx\r\n\r\n", &[], Some(400)),
    ("a zero byte", "GET /a HTTP/1.1\r\nHost: localhost\r\nX: \0\r\n\r\n", &[], Some(400)),
    (
        "two hosts",
        "GET /a HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "one host twice",
        "GET /a HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "an absolute target",
        "GET http://localhost/a?b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &["GET /a?b "],
        None,
    ),
    (
        "an absolute target elsewhere",
        "GET http://evil.example/a HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[],
        Some(400),
    ),
    ("a target that is no path", "GET a HTTP/1.1\r\nHost: localhost\r\n\r\n", &[], Some(400)),
    (
        "CONNECT",
        "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\nGET /evil HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[],
        Some(400),
    ),
    (
        "CONNECT to a path",
        "CONNECT /a HTTP/1.1\r\nHost: localhost\r\n\r\nGET /evil HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[],
        Some(400),
    ),
    ("two spaces", "GET  /a HTTP/1.1\r\nHost: localhost\r\n\r\n", &[], Some(400)),
    ("a tab", "GET\t/a\tHTTP/1.1\r\nHost: localhost\r\n\r\n", &[], Some(400)),
    ("a space behind the version", "GET /a HTTP/1.1 \r\nHost: localhost\r\n\r\n", &[], Some(400)),
    ("a space in the target", "GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", &[], Some(400)),
    ("no version", "GET /a\r\n\r\n", &[], Some(400)),
    ("a newer version", "GET /a HTTP/1.2\r\nHost: localhost\r\n\r\n", &[], Some(400)),
    (
        "the end of the connection",
        "GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &["GET /a "],
        None,
    ),
    (
        "HTTP/1.0 ends",
        "GET /a HTTP/1.0\r\nHost: localhost\r\n\r\nGET /b HTTP/1.0\r\nHost: localhost\r\n\r\n",
        &["GET /a "],
        None,
    ),
    (
        "HTTP/1.0 goes on",
        "GET /a HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\nHost: localhost\r\n\r\n",
        &["GET /a ", "GET /b "],
        None,
    ),
    (
        "Expect",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
        &["POST /a hi"],
        None,
    ),
    (
        "Expect something else",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\nContent-Length: 2\r\n\r\nhi",
        &["POST /a hi"],
        None,
    ),
    (
        "a body for GET",
        "GET /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhiGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &["GET /b "],
        None,
    ),
    (
        "HEAD",
        "HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &["HEAD /a ", "GET /b "],
        None,
    ),
    ("half a head", "GET /a HTTP/1.1\r\nHost: loc", &[], None),
    (
        "half a body",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
        &[],
        Some(400),
    ),
    (
        "half a chunk",
        "POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
        &[],
        Some(400),
    ),
];

#[tokio::test]
async fn both_understand_the_same_or_we_refuse() {
    let gantry = Gantry::open().await;
    let long = format!("GET /a HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    let many = format!("GET /a HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(101));
    let more: [(&str, &str, &[&str], Option<u16>); 2] =
        [("a long head", &long, &[], Some(431)), ("many headers", &many, &[], Some(431))];
    let mut wrong = Vec::new();
    for (name, stream, expected, refusal) in CASES.iter().copied().chain(more) {
        let theirs = hyper(stream.as_bytes()).await;
        let ours = gantry.read(stream.as_bytes(), &theirs).await;
        let served = ours.served.iter().map(|it| {
            let body = String::from_utf8_lossy(it.body.as_deref().unwrap_or_default());
            format!("{} {} {body}", it.method, it.target)
        });
        let served: Vec<String> = served.collect();
        let refused = ours.statuses.last().copied().filter(|status| *status != 200);
        if served != expected || refused != refusal {
            wrong.push(format!("{name}: {served:?} {refused:?}, not {expected:?} {refusal:?}"));
        }
        if let Err(difference) = judge(&ours, &theirs) {
            wrong.push(format!("{name}: {difference}\n{}", ours.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
