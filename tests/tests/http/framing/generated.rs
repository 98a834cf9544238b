//! Streams put together from parts that mean something to one reader or the other, and then
//! damaged. The same ones each time; `GANTRY_FRAMING_CASES` asks for more of them, and
//! `GANTRY_FRAMING_SEED`, a number, for others.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::runtime::Runtime;

use super::peers::{Gantry, hyper};
use super::{REFUSALS, judge};

/// How many streams are tried.
const CASES: u32 = 3000;

/// Reasons for which we may refuse what hyper takes. Every other refusal is a finding: either a rule
/// that belongs here, or a mistake.
const STRICTER: &[&str] = &[
    "more than once",
    "a length and an encoding",
    "two lengths",
    "transfer coding",
    "line feed",
    "is no number",
    "not a path",
    "CONNECT",
    "not that of",
    "takes no body",
    "the body broke off",
    "invalid",
];

fn line_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![30 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("\r\n\r\n")]
}

fn first_line() -> impl Strategy<Value = String> {
    let method =
        prop::sample::select(vec!["GET", "POST", "POST", "PUT", "HEAD", "DELETE", "CONNECT"]);
    let target =
        prop::sample::select(vec!["/a", "/b?c", "*", "http://localhost/d", "a", "/%00", "//e"]);
    let version = prop_oneof![9 => Just("HTTP/1.1"), 1 => Just("HTTP/1.0"), 1 => Just("HTTP/1.2")];
    (method, target, version)
        .prop_map(|(method, target, version)| format!("{method} {target} {version}"))
}

fn header() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "Content-Length",
        "content-length",
        "Content-Length ",
        "Transfer-Encoding",
        "Connection",
        "Expect",
        "X-A",
        " X-B",
        "Host",
        "Trailer",
        "TE",
        "Upgrade",
    ]);
    let value = prop::sample::select(vec![
        "0",
        "3",
        "5",
        "+3",
        "3, 3",
        "0x3",
        " 3 ",
        "chunked",
        "Chunked",
        "gzip, chunked",
        "chunked, chunked",
        "identity",
        "close",
        "keep-alive",
        "100-continue",
        "localhost",
        "a\tb",
        "",
        "websocket",
        "\u{b}chunked",
        "99999999999999999999",
    ]);
    (name, value).prop_map(|(name, value)| format!("{name}: {value}"))
}

fn body() -> impl Strategy<Value = String> {
    let size = prop::sample::select(vec![
        "3", "03", "3;a=b", "3 ", "5", "0", "-3", "", "0x3", "3;\n", "G",
    ]);
    let chunk = (size, line_end(), "[a-z]{0,5}", line_end())
        .prop_map(|(size, one, data, two)| format!("{size}{one}{data}{two}"));
    let last = prop::sample::select(vec![
        "0\r\n\r\n",
        "0\r\nX: y\r\n\r\n",
        "0\r\n",
        "0\n\n",
        "00\r\n\r\n",
        "",
    ]);
    prop_oneof![
        4 => Just(String::new()),
        2 => Just("abc".to_owned()),
        1 => Just("abcde".to_owned()),
        3 => Just("3\r\nabc\r\n0\r\n\r\n".to_owned()),
        2 => (prop::collection::vec(chunk, 0..3), last).prop_map(|(chunks, last)| chunks.concat() + last),
    ]
}

fn request() -> impl Strategy<Value = String> {
    let headers = prop::collection::vec((header(), line_end()), 0..4);
    (first_line(), line_end(), headers, line_end(), body()).prop_map(
        |(first, one, headers, two, body)| {
            let headers: String =
                headers.iter().map(|(header, end)| format!("{header}{end}")).collect();
            format!("{first}{one}Host: localhost\r\n{headers}{two}{body}")
        },
    )
}

/// A request that nobody misreads, with the framing that fits its body.
fn sound() -> impl Strategy<Value = String> {
    ("[a-z]{0,8}", any::<bool>()).prop_map(|(body, chunked)| match chunked && !body.is_empty() {
        true => format!(
            "POST /s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        ),
        false => format!(
            "POST /s HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    })
}

/// Bytes that replace others, somewhere.
fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let byte = prop::sample::select(b"\r\n\t :,;0x\x00\x0b\x7f\x80aA/".to_vec());
    prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec((any::<prop::sample::Index>(), byte), 1..3),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let request = prop_oneof![1 => sound(), 2 => request()];
    (prop::collection::vec(request, 1..4), damage()).prop_map(|(requests, damage)| {
        let mut bytes = requests.concat().into_bytes();
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

#[test]
fn both_understand_the_same_of_what_nobody_wrote() {
    let cases = std::env::var("GANTRY_FRAMING_CASES").ok().and_then(|it| it.parse().ok());
    let config =
        Config { cases: cases.unwrap_or(CASES), failure_persistence: None, ..Config::default() };
    let seed = std::env::var("GANTRY_FRAMING_SEED").ok().and_then(|it| it.parse::<u64>().ok());
    let random = match seed {
        Some(seed) => TestRng::from_seed(RngAlgorithm::ChaCha, &seed.to_le_bytes().repeat(4)),
        None => TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    };
    let runtime = Runtime::new().expect("a runtime");
    let gantry = runtime.block_on(Gantry::open());
    let mut runner = TestRunner::new_with_rng(config, random);
    let outcome = runner.run(&stream(), |bytes| {
        runtime.block_on(async {
            let theirs = hyper(&bytes).await;
            let ours = gantry.read(&bytes, &theirs).await;
            let shown = String::from_utf8_lossy(&bytes).escape_debug().to_string();
            judge(&ours, &theirs).map_err(|it| TestCaseError::fail(format!("{it} in {shown}")))?;
            let next = theirs.0.get(ours.statuses.len().saturating_sub(1));
            let is_refused = ours.statuses.last().is_some_and(|status| REFUSALS.contains(status));
            let is_known = STRICTER.iter().any(|reason| ours.text.contains(reason));
            if is_refused && next.is_some_and(|it| it.body.is_some()) && !is_known {
                return Err(TestCaseError::fail(format!("{} for {shown}", ours.text)));
            }
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
