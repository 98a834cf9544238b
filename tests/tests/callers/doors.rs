//! Every door asks, whatever is shown, and in whichever way.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use gantry_tests::request::{Request, bodiless, call, initialize, message, text};
use serde_json::json;

use crate::{Guarded, by};

/// A request for each way to a call.
fn ways() -> Vec<(&'static str, Request)> {
    let ping = || message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
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
    let address = guarded.house.address;
    let good = guarded.token("ada").await;
    let challenge = "Bearer realm=\"gantry\"";
    for (way, request) in ways() {
        let mut nobody = request.send(address).await;
        assert_eq!(nobody.status, 401, "{way}");
        assert_eq!(nobody.header("www-authenticate"), Some(challenge), "{way}");
        let told = nobody.text().await;
        assert!(told.contains("Authorization: Bearer"), "{way}: {told}");
        let mut forger = by("gty_made_up", request.clone()).send(address).await;
        assert_eq!(forger.status, 401, "{way}");
        let wrong = format!("{challenge}, error=\"invalid_token\"");
        assert_eq!(forger.header("www-authenticate"), Some(&*wrong), "{way}");
        let told = forger.text().await;
        assert!(told.contains("gantry token") && !told.contains("made_up"), "{way}: {told}");
        let known = by(&good, request).send(address).await;
        assert_ne!(known.status, 401, "{way}");
    }
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
        let answer = request.send(guarded.house.address).await;
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
        by(token, call("echo", json!({"text": "hi"}))).send(guarded.house.address).await.status
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
        let answer = headers.iter().fold(echo, add).send(guarded.house.address).await;
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
        assert_eq!(request.send(guarded.house.address).await.status, 401, "{request:?}");
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
        let mut answer = request.send(guarded.house.address).await;
        let told = answer.message().await.expect("an error");
        assert_eq!((answer.status, &told["error"]["code"]), (400, &json!(-32020)), "{told}");
    }
    let doubled =
        wait().body().replacen("\"name\":\"wait\"", "\"name\":\"echo\",\"name\":\"wait\"", 1);
    let doubled = by(&good, text(&doubled))
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "wait");
    let mut answer = doubled.send(guarded.house.address).await;
    let told = answer.text().await;
    assert!(told.contains("`name` appears more than once"), "{told}");
    assert_eq!(guarded.house.gate.starts(), 0, "nothing was called");
}
