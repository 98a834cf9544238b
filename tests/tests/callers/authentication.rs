//! Authentication of every listener, whatever credential is shown, and in whichever way.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use gantry_tests::request::{Request, bodiless, call, initialize, message, text};
use gantry_tests::test_server::TestServer;
use serde_json::{Value, json};

use crate::{Guarded, by};

fn ping() -> Request {
    message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
}

/// A request for each way to a call.
fn ways() -> Vec<(&'static str, Request)> {
    let tool = r#"{"tool_name": "text.count", "arguments": {}}"#;
    let socket = bodiless("GET").to("/ws").header("Connection", "Upgrade");
    let socket = socket.header("Upgrade", "websocket").header("Sec-WebSocket-Version", "13");
    vec![
        ("a call that stands alone", call("echo", json!({"text": "hi"}))),
        ("a handshake", initialize("2025-11-25")),
        ("a message of a session", ping().of("made-up")),
        ("a batch", text("[]").of("made-up")),
        ("what is no JSON", text("{")),
        ("a stream", bodiless("GET").of("made-up")),
        ("the end of a session", bodiless("DELETE").of("made-up")),
        ("a face", ping().to("/mcp/made-up")),
        ("HTTP+SSE", bodiless("GET").to("/sse")),
        ("a message of HTTP+SSE", ping().to("/message?session=made-up")),
        ("a WebSocket", socket.header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")),
        ("a call of the contract", text(tool).to("/call")),
    ]
}

#[tokio::test]
async fn every_way_to_a_call_asks_for_a_token() {
    let guarded = Guarded::open().await;
    let address = guarded.test_server.address;
    let good = guarded.token("ada").await;
    let challenge = "Bearer realm=\"gantry\", ";
    let login = "; this gateway takes static tokens and has no OAuth login\"";
    let is_challenge = |value: Option<&str>, error: &str| {
        value.is_some_and(|it| {
            let said = it.strip_prefix(challenge).and_then(|it| it.strip_prefix(error));
            said.is_some_and(|it| it.starts_with("error_description=\"") && it.ends_with(login))
                && it.contains("`gantry token create --name NAME` makes one")
                && !it.contains("resource_metadata")
        })
    };
    for (way, request) in ways() {
        let mut nobody = request.send(address).await;
        assert_eq!(nobody.status, 401, "{way}");
        assert!(is_challenge(nobody.header("www-authenticate"), ""), "{way}: {nobody:?}");
        let told = nobody.text().await;
        assert!(told.contains("Authorization: Bearer"), "{way}: {told}");
        let mut forger = by("gty_made_up", request.clone()).send(address).await;
        assert_eq!(forger.status, 401, "{way}");
        let wrong = "error=\"invalid_token\", ";
        assert!(is_challenge(forger.header("www-authenticate"), wrong), "{way}: {forger:?}");
        let told = forger.text().await;
        assert!(told.contains("gantry token") && !told.contains("made_up"), "{way}: {told}");
        let known = by(&good, request).send(address).await;
        assert_ne!(known.status, 401, "{way}");
    }
}

/// Base JSON-RPC wants a null id where that of a request is not known; newer revisions do not.
#[tokio::test]
async fn a_refusal_has_an_id_where_the_revision_allows_it() {
    let guarded = Guarded::open().await;
    let cases = [
        (None, true),
        (Some("2024-11-05"), true),
        (Some("2025-06-18"), true),
        (Some("2025-11-25"), false),
        (Some("2026-07-28"), false),
        (Some("2099-01-01"), true),
    ];
    for (revision, expected) in cases {
        let ping = ping().of("made-up");
        let request = match revision {
            Some(revision) => ping.header("MCP-Protocol-Version", revision),
            None => ping,
        };
        let mut answer = request.send(guarded.test_server.address).await;
        let told = answer.message().await.expect("an error");
        assert_eq!((answer.status, &told["error"]["code"]), (401, &json!(-32012)), "{told}");
        assert_eq!(told.get("id"), Some(&Value::Null).filter(|_| expected), "{revision:?}: {told}");
    }
}

/// Clients that know OAuth try to register where they find no other way, and show what they are told.
#[tokio::test]
async fn who_wants_to_log_in_is_told_that_a_token_is_needed() {
    let guarded = Guarded::open().await;
    let client = r#"{"redirect_uris": ["http://127.0.0.1:1/callback"], "client_name": "test"}"#;
    let mut refused = text(client).to("/register").send(guarded.test_server.address).await;
    let told: Value = serde_json::from_str(&refused.text().await).expect("JSON");
    assert_eq!((refused.status, &told["error"]), (400, &json!("access_denied")), "{told}");
    let description = told["error_description"].as_str().expect("text");
    assert!(description.contains("no OAuth login; make a token with `gantry token create"));
    assert_eq!(bodiless("GET").to("/register").send(guarded.test_server.address).await.status, 404);
    let open = TestServer::open().await;
    assert_eq!(text(client).to("/register").send(open.address).await.status, 404);
}

#[tokio::test]
async fn what_reaches_no_call_is_open_and_hosts_are_checked_first() {
    let guarded = Guarded::open().await;
    let good = guarded.token("ada").await;
    let cases = [
        (bodiless("GET").to("/healthz"), 200),
        (bodiless("GET").to("/readyz"), 200),
        (bodiless("GET").to("/metrics"), 401),
        (by(&good, bodiless("GET").to("/metrics")), 200),
        (bodiless("GET").to("/.well-known/oauth-protected-resource"), 404),
        (bodiless("OPTIONS"), 204),
        (call("echo", json!({})).replace("Host", "evil.example"), 403),
        (by(&good, call("echo", json!({}))).header("Origin", "https://evil.example"), 403),
    ];
    for (request, expected) in cases {
        let answer = request.send(guarded.test_server.address).await;
        assert_eq!(answer.status, expected, "{request:?}");
    }
}

#[tokio::test]
async fn tokens_that_are_not_what_they_were() {
    let guarded = Guarded::open().await;
    let (ada, bob) = (guarded.token("ada").await, guarded.token("bob").await);
    let soon = SystemTime::now() + Duration::from_secs(3600);
    let late = guarded.token_until("late", Some(soon)).await;
    let gone = guarded.token("gone").await;
    let send = async |token: &str| {
        by(token, call("echo", json!({"text": "hi"})))
            .send(guarded.test_server.address)
            .await
            .status
    };
    for token in [&ada, &bob, &late, &gone] {
        assert_eq!(send(token).await, 200);
    }
    guarded.tokens.revoke("gone").await.expect("it is there");
    let cases = [
        gone.clone(),
        ada[..ada.len() - 1].to_owned(),
        ada[..17].to_owned(),
        ada[1..].to_owned(),
        format!("{ada}A"),
        format!("{ada}{ada}"),
        ada[..17].to_owned() + &bob[17..],
        ada.to_uppercase(),
        ada[..20].to_owned() + &"A".repeat(40),
        "A".repeat(8000),
        "gty_".to_owned(),
        "null".to_owned(),
    ];
    for token in cases {
        assert_eq!(send(&token).await, 401, "{token}");
    }
    for ahead in [2 * 3600, 0] {
        guarded.ahead.store(ahead, Ordering::SeqCst);
        let refused = guarded.tokens.check(Some(&late)).expect_err("its time is over");
        assert!(refused.to_string().contains("has expired"), "{refused}");
        assert_eq!(send(&late).await, 401, "also when the clock is set back");
    }
    assert_eq!(send(&ada).await, 200, "the others go on");
}

#[tokio::test]
async fn headers_that_can_be_read_in_two_ways() {
    let guarded = Guarded::open().await;
    let good = guarded.token("ada").await;
    let bearer = format!("Bearer {good}");
    let bad = "Bearer gty_000000000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned();
    let lower = format!("authorization: {bearer}");
    let list = |first: &str, second: &str| vec![first.to_owned(), second.to_owned()];
    let cases: Vec<(Vec<String>, u16)> = vec![
        (vec![bearer.clone()], 200),
        (vec![format!("bearer {good}")], 200),
        (list(&bearer, &bearer), 400),
        (list(&bearer, &bad), 400),
        (list(&bad, &bearer), 400),
        (list(&bearer, "Basic YTpi"), 400),
        (vec![format!("{bearer}, {bad}")], 401),
        (vec![format!("{bad}, {bearer}")], 401),
        (vec![format!("{bearer},")], 401),
        (vec![format!("Basic {good}")], 401),
        (vec![format!("Bearer Bearer {good}")], 401),
        (vec![format!("Bearer\t{good}")], 401),
        (vec![format!("Bearer \"{good}\"")], 401),
        (vec![format!("Bearer token={good}")], 401),
        (vec![good.clone()], 401),
        (vec![lower], 401),
        (vec![String::new()], 401),
    ];
    for (headers, expected) in cases {
        let echo = call("echo", json!({"text": "hi"}));
        let add = |request: Request, value: &String| request.header("Authorization", value);
        let answer = headers.iter().fold(echo, add).send(guarded.test_server.address).await;
        assert_eq!(answer.status, expected, "{headers:?}");
    }
    let elsewhere = [
        call("echo", json!({})).to(&format!("/mcp?access_token={good}")),
        call("echo", json!({})).to(&format!("/mcp?token={good}")),
        call("echo", json!({})).header("Proxy-Authorization", &bearer),
        call("echo", json!({})).header("X-Authorization", &bearer),
        call("echo", json!({})).header("Cookie", &format!("token={good}")),
        bodiless("GET").to("/ws").header("Sec-WebSocket-Protocol", &format!("mcp, {good}")),
    ];
    for request in elsewhere {
        assert_eq!(request.send(guarded.test_server.address).await.status, 401, "{request:?}");
    }
}

#[tokio::test]
async fn a_name_in_the_header_that_the_body_does_not_have() {
    let guarded = Guarded::open().await;
    let good = guarded.token("ada").await;
    let wait = || by(&good, call("wait", json!({})));
    let cases = [
        wait().replace("Mcp-Name", "echo"),
        wait().replace("Mcp-Name", "WAIT"),
        wait().replace("Mcp-Name", "wait, echo"),
        wait().without("Mcp-Name"),
        wait().replace("Mcp-Method", "tools/list"),
        wait().set("/params/name", json!("echo")),
    ];
    for request in cases {
        let mut answer = request.send(guarded.test_server.address).await;
        let told = answer.message().await.expect("an error");
        assert_eq!((answer.status, &told["error"]["code"]), (400, &json!(-32020)), "{told}");
    }
    let doubled =
        wait().body().replacen("\"name\":\"wait\"", "\"name\":\"echo\",\"name\":\"wait\"", 1);
    let doubled = by(&good, text(&doubled))
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "wait");
    let mut answer = doubled.send(guarded.test_server.address).await;
    let told = answer.text().await;
    assert!(told.contains("`name` appears more than once"), "{told}");
    assert_eq!(guarded.test_server.latch.starts(), 0, "nothing was called");
}
