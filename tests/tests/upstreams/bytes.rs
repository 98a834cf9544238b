//! What a server says reaches the client byte for byte, but for the members that must be changed on
//! the way: for every pair of eras, and on every pair of transports.

use gantry_protocol::{JsonLimits, RawJson};
use gantry_tests::payloads::{CALL, ERROR, PROMPT, READ, TOOL};
use gantry_tests::request::{NEWEST, request};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{RawClient, Scripted, UpstreamFixture, scripted};
use serde_json::{Value, json};

/// Members of a result that belong to the envelope of a revision.
const ENVELOPE: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// The revision that knows no structured content, and has the text instead.
const UNSTRUCTURED: &str = "2025-03-26";

/// Revisions of clients: without and with a handshake.
const CLIENTS: [&str; 4] = [NEWEST, "2025-11-25", "2025-06-18", UNSTRUCTURED];

/// What one revision is told of the tools of a server without handshake that makes tasks.
const EXECUTION: (&str, &str) = ("execution", r#"{"taskSupport":"optional"}"#);

fn parse(text: &str) -> RawJson {
    let limits = JsonLimits { size: 1 << 20, depth: 64 };
    RawJson::parse(text.to_owned(), limits).unwrap_or_else(|error| panic!("{error:?} in {text}"))
}

/// The members in their order, each as it is written, without those of the envelope.
fn members(object: &RawJson) -> Vec<(String, String)> {
    let mut members = Vec::new();
    for member in object.members() {
        let (key, value) = (member.key().into_owned(), member.value());
        if ENVELOPE.contains(&key.as_str()) || key.starts_with("io.modelcontextprotocol/") {
            continue;
        }
        match key == "_meta" {
            true => members.extend(
                members_of_meta(&value)
                    .into_iter()
                    .map(|(key, value)| (format!("_meta/{key}"), value)),
            ),
            false => members.push((key, value.as_str().to_owned())),
        }
    }
    members
}

fn members_of_meta(meta: &RawJson) -> Vec<(String, String)> {
    let all = meta.members().map(|it| (it.key().into_owned(), it.value().as_str().to_owned()));
    all.filter(|(key, _)| !key.starts_with("io.modelcontextprotocol/")).collect()
}

/// What a client asks for, where in the answer to look, and what must stand there.
fn questions() -> [(&'static str, Value, &'static [&'static str], &'static str); 5] {
    let call = |fail: bool| json!({"name": "odd", "arguments": {"fail": fail}});
    [
        ("tools/call", call(false), &["result"], CALL),
        ("tools/call", call(true), &["error"], ERROR),
        ("resources/read", json!({"uri": "scripted://note"}), &["result"], READ),
        ("prompts/get", json!({"name": "greet"}), &["result"], PROMPT),
        ("tools/list", json!({}), &["result", "tools"], TOOL),
    ]
}

async fn check(
    fixture: &mut UpstreamFixture,
    mut raw_client: RawClient,
    client: &str,
    execution: Option<(&str, &str)>,
    pair: &str,
) {
    for (method, params, place, sent) in questions() {
        let answer = parse(&raw_client.ask(fixture, method, params).await);
        let found = answer.at(place).unwrap_or_else(|| panic!("{pair}, {method}: {answer}"));
        let found = match place {
            [_, "tools"] => found.elements().next().expect("a tool"),
            _ => found,
        };
        let mut expected = members(&parse(sent));
        expected.retain(|(key, _)| client != UNSTRUCTURED || key != "structuredContent");
        let execution = execution.filter(|_| method == "tools/list");
        expected.extend(execution.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(members(&found), expected, "{pair}, {method}");
    }
}

/// Waits until something is on every list: each comes by itself.
async fn offered(fixture: &UpstreamFixture) {
    for list in ["tools", "resources", "prompts"] {
        let question = request(&format!("{list}/list"), json!({}));
        while question.ask(fixture.address).await["result"][list] == json!([]) {}
    }
}

/// A server on that transport and of that era, and a client of every revision on every door.
async fn pairs(transport: &str, words: &[&str]) {
    let listening = Scripted::start(words).await;
    // With no prefix its names are its own, so that even these need not be changed.
    let entry = match transport {
        "http" => listening.entry(json!({"prefix": ""})),
        _ => scripted(words, json!({"prefix": ""})),
    };
    for client in CLIENTS {
        let pair = format!("{transport} {words:?} to {client}");
        let name = format!("bytes-{transport}-{}-{client}", words.len());
        let mut fixture = UpstreamFixture::open(&name, json!({"odd": entry})).await;
        soon("its lists", offered(&fixture)).await;
        let is_told = words.contains(&"--modern") && client == "2025-11-25";
        let execution = is_told.then_some(EXECUTION);
        let raw_client = RawClient::posting(&fixture, client).await;
        check(&mut fixture, raw_client, client, execution, &format!("{pair} over HTTP")).await;
        let raw_client = RawClient::speaking(&mut fixture, client).await;
        check(&mut fixture, raw_client, client, execution, &format!("{pair} over stdio")).await;
        fixture.close().await;
    }
}

#[tokio::test]
async fn of_a_program_with_handshake() {
    pairs("stdio", &["bytes"]).await;
}

#[tokio::test]
async fn of_a_program_without_handshake() {
    pairs("stdio", &["bytes", "--modern"]).await;
}

#[tokio::test]
async fn over_http_with_handshake() {
    pairs("http", &["bytes"]).await;
}

#[tokio::test]
async fn over_http_without_handshake() {
    pairs("http", &["bytes", "--modern"]).await;
}
