//! Resource rules and token scopes cannot be escaped by another spelling of an address.

use gantry_tests::request::request;
use gantry_tests::upstream_fixture::RawClient;
use serde_json::{Value, json};

use crate::{open, token};

/// Addresses of one folder, spelt so that a server may find another one there.
const REFUSED: [&str; 18] = [
    "file:///srv/public/../secret/key",
    "file:///srv/public/./../secret/key",
    "file:///srv/public/%2e%2e/secret/key",
    "file:///srv/public/.%2E/secret/key",
    "file:///srv/public/..%2fsecret/key",
    "file:///srv/public%2F..%2Fsecret/key",
    "file:///srv/public/%252e%252e/secret/key",
    "file:///srv/public/..%5Csecret/key",
    "file:///srv/public/..\\secret/key",
    "file:///srv/public/.\t./secret/key",
    "file:///srv/public/..;a=b/secret/key",
    "file:///srv/public/%2e%2e%3ba/secret/key",
    "file:///srv/public/.;/../secret/key",
    "file://localhost%2Fsrv/secret/key",
    "file:/srv/secret/key",
    "file:\\\\\\srv\\secret\\key",
    "https://you@host/secret",
    "http://127.1/secret",
];

/// Other names of two files that rules name without a pattern.
const ENDINGS: [&str; 6] = ["#", "#part", "?", "?a=b", "/", ";type=a"];

async fn read(
    fixture: &gantry_tests::upstream_fixture::UpstreamFixture,
    path: &str,
    uri: &str,
    token: Option<&str>,
) -> Result<String, String> {
    let read = request("resources/read", json!({"uri": uri})).to(path);
    let read = token.map_or_else(|| read.clone(), |token| read.clone().by(token));
    let answer: Value = read.ask(fixture.address).await;
    match answer["result"]["contents"][0]["text"].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(answer["error"]["message"].as_str().unwrap_or_default().to_owned()),
    }
}

#[tokio::test]
async fn another_spelling_escapes_no_rule() {
    let deny = json!({"name": "secret", "effect": "deny",
        "what": {"resources": ["file:///srv/secret/*"]}});
    let plan = json!({"name": "plan", "effect": "deny",
        "what": {"resources": ["file:///srv/plan"]}});
    let allow = json!({"name": "public", "effect": "allow",
        "what": {"resources": ["file:///srv/*"]}});
    let tools = json!({"name": "tools", "effect": "allow", "what": {"tools": ["*"]}});
    let policy = json!({"policy": {"default": "deny", "rules": [deny, plan, allow, tools]},
        "limits": {"default": "off", "refused": "off"}});
    let fixture = open("names-resources", policy).await;
    for path in ["/mcp", "/mcp/db", "/mcp/work"] {
        for uri in REFUSED {
            let text = read(&fixture, path, uri, None).await.expect_err(uri);
            assert!(text.contains("is refused"), "{uri} at {path}: {text}");
        }
        for uri in ["file:///srv//secret/key", "file:///srv/%73ecret/key", "file:///srv/secret/%6b"]
        {
            let text = read(&fixture, path, uri, None).await.expect_err(uri);
            assert!(text.contains("rule `secret`"), "{uri} at {path}: {text}");
        }
        for ending in ENDINGS {
            for file in ["file:///srv/plan", "file:///srv/%70lan", "file:///srv//plan"] {
                let uri = format!("{file}{ending}");
                let text = read(&fixture, path, &uri, None).await.expect_err(&uri);
                assert!(text.contains("rule `plan`"), "{uri} at {path}: {text}");
            }
        }
        for uri in ["file:///srv/public/a", "file:///srv/public/a..b/c%20d", "file:///srv/x?y=../z"]
        {
            assert_eq!(read(&fixture, path, uri, None).await.as_deref(), Ok(uri), "at {path}");
        }
    }
    fixture.close().await;
}

#[tokio::test]
async fn another_spelling_escapes_no_token_scope() {
    let fixture = open("names-resource-scopes", json!({"auth": "token"})).await;
    let token = token(&fixture, "reader", "file:///srv/public/*").await;
    for path in ["/mcp", "/mcp/db", "/mcp/work"] {
        for uri in REFUSED.into_iter().chain(["file:///srv/secret/key", "file:///srv//secret"]) {
            let read = read(&fixture, path, uri, Some(&token)).await;
            assert!(read.is_err(), "{uri} at {path}: {read:?}");
        }
        let uri = "file:///srv/public//a";
        assert_eq!(read(&fixture, path, uri, Some(&token)).await.as_deref(), Ok(uri), "at {path}");
    }
    fixture.close().await;
}

/// A server may read member names without regard to case, and take the last of two.
#[tokio::test]
async fn a_member_in_other_letters_escapes_no_rule() {
    let deny = json!({"name": "secret", "effect": "deny",
        "what": {"resources": ["file:///srv/secret/*"]}});
    let mut fixture = open("names-members", json!({"policy": {"rules": [deny]}})).await;
    // There are no prompts, of which clients without handshake are told by the method's name alone.
    let mut session = RawClient::posting(&fixture, "2025-11-25").await;
    let reference = json!({"type": "ref/prompt", "name": "greet"});
    let argument = json!({"name": "a", "value": ""});
    let complete = json!({"ref": reference, "argument": argument});
    let other = "file:///srv/secret/key";
    let cases = [
        ("resources/read", json!({"uri": "file:///srv/a"}), "Uri", json!(other)),
        ("resources/read", json!({"uri": "file:///srv/a"}), "UR\u{131}", json!(other)),
        ("prompts/get", json!({"name": "base_greet"}), "NAME", json!("other")),
        ("prompts/get", json!({"name": "base_greet"}), "Arguments", json!({})),
        ("prompts/get", json!({"name": "base_greet"}), "argument\u{17f}", json!({})),
        ("completion/complete", complete, "Ref", reference.clone()),
    ];
    for path in ["/mcp", "/mcp/work"] {
        for (method, params, member, value) in &cases {
            let mut params = params.clone();
            params[member] = value.clone();
            let answer: Value = match *method {
                "prompts/get" => {
                    let answer = session.ask(&mut fixture, method, params).await;
                    serde_json::from_str(&answer).expect("JSON")
                }
                _ => request(method, params).to(path).ask(fixture.address).await,
            };
            let text = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(text.contains("but for capital letters"), "{member} of {method}: {answer}");
        }
    }
    fixture.close().await;
}
