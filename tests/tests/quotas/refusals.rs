//! What is refused, and how each door says so.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gantry_tests::http::Outgoing;
use gantry_tests::processes;
use gantry_tests::request::{call, message};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{UpstreamFixture, said, scripted};
use serde_json::{Value, json};

use super::{config, fixture, session};

const RULE: &str = "the limit `tool far_well 2/h` is reached; try again in ";

fn hourly() -> Value {
    json!({"perTool": {"far_well": "2/h"}})
}

/// Uses up what there is.
async fn use_up(fixture: &UpstreamFixture) {
    for _ in 0..2 {
        assert_eq!(fixture.call("far_well", json!({})).await.as_deref(), Ok("well"));
    }
}

/// The error of a client that speaks JSON-RPC, whichever way it came.
fn check_error(answer: &Value) {
    let error = &answer["error"];
    assert_eq!(error["code"], -32010, "{answer}");
    assert!(error["message"].as_str().is_some_and(|it| it.starts_with(RULE)), "{answer}");
    let wait = error["data"]["retryAfterMs"].as_u64().expect("milliseconds");
    assert!((1..=1_800_000).contains(&wait), "{answer}");
}

#[tokio::test]
async fn every_door_says_when_to_come_back() {
    let mut fixture = fixture("doors", "well", hourly()).await;
    use_up(&fixture).await;

    let mut modern = call("far_well", json!({})).send(fixture.address).await;
    let seconds = modern.header("retry-after").and_then(|it| it.parse::<u64>().ok());
    assert!(seconds.is_some_and(|it| (1..=1800).contains(&it)), "{seconds:?}");
    assert_eq!(modern.status, 429);
    check_error(&modern.message().await.expect("an error"));

    let params = json!({"name": "far_well", "arguments": {}});
    let request = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
    let session = session(&fixture).await;
    let mut legacy = message(request.clone()).of(&session).send(fixture.address).await;
    assert_eq!(legacy.status, 200);
    check_error(&legacy.message().await.expect("an error"));

    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    fixture.line(&hello.to_string()).await;
    let line = fixture.line(&request.to_string()).await;
    check_error(&serde_json::from_str(&line).expect("JSON"));

    // What has no limit goes on, and what was refused is counted.
    assert!(fixture.call("far_who", json!({})).await.is_ok());
    let metrics = get(&fixture, "/metrics").await;
    assert!(metrics.contains("gantry_limited_total{limit=\"rate_tool\"} 3\n"), "{metrics}");
    fixture.close().await;
}

#[tokio::test]
async fn a_tool_call_of_the_contract_is_told_too() {
    // The contract wants a dot in names.
    let far = scripted(&["well"], json!({"prefix": "test.far"}));
    let limits = json!({"perTool": {"test.*": "1/h"}});
    let fixture = UpstreamFixture::with(
        "quotas-contract",
        json!({"mcpServers": {"far": far}, "limits": limits}),
    );
    let fixture = fixture.await;
    let body = json!({"tool_name": "test.far_well", "arguments": {}});
    let request = post(&fixture, "/call", &body);
    let served = async { while request.send(fixture.address).await.status != 200 {} };
    soon("its tools", served).await;
    let mut refused = request.send(fixture.address).await;
    assert_eq!(refused.status, 429);
    let seconds = refused.header("retry-after").and_then(|it| it.parse::<u64>().ok());
    assert!(seconds.is_some_and(|it| (1..=3600).contains(&it)), "{seconds:?}");
    let result: Value = serde_json::from_str(&refused.text().await).expect("JSON");
    assert_eq!(result["error"]["error_type"], "ApiLimitExceeded", "{result}");
    assert!(result["error"]["error_details"]["retryAfterMs"].is_u64(), "{result}");
    fixture.close().await;
}

#[tokio::test]
async fn the_same_tool_has_the_same_limit_at_the_servers_own_face() {
    let fixture = fixture("face", "well", hourly()).await;
    use_up(&fixture).await;
    let alone = call("well", json!({})).to("/mcp/far").send(fixture.address).await;
    assert_eq!(alone.status, 429);
    fixture.close().await;
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let fixture = fixture("sizes", "well", json!({"arguments": 100, "response": 1000})).await;
    assert!(fixture.call("far_well", json!({"text": "short"})).await.is_ok());
    let refused = call("far_well", json!({"text": "x".repeat(100)})).ask(fixture.address).await;
    let text = said(&refused).expect_err("it is too large");
    assert_eq!(text, "the arguments are 111 bytes, and the limit `arguments` is 100; send less");
    assert_eq!(refused["error"]["data"], json!({}), "there is no time to wait for");
    fixture.save(config("well", json!({"response": 10})));
    let refused = async {
        loop {
            if let Err(text) = fixture.call("far_well", json!({})).await {
                return text;
            }
        }
    };
    let text = soon("the new limit", refused).await;
    assert!(text.contains("the limit `response` is 10; ask for less at a time"), "{text}");
    fixture.close().await;
}

#[tokio::test]
async fn a_saved_configuration_is_in_force_and_a_broken_one_is_not() {
    let fixture = fixture("reload", "well", hourly()).await;
    use_up(&fixture).await;
    fixture.save(config("well", json!({"perTool": {"far_well": "lots"}})));
    processes::until("a word about it", || {
        fixture.log().contains("the configuration is not valid")
    })
    .await;
    assert!(fixture.call("far_well", json!({})).await.is_err(), "the old limit stays");
    fixture.save(config("well", json!({"default": "off"})));
    let served = async { while fixture.call("far_well", json!({})).await.is_err() {} };
    soon("the new limits", served).await;
    fixture.close().await;
}

#[tokio::test]
async fn a_days_budget_outlives_the_gateway() {
    let limits = json!({"daily": {"perTool": {"far_*": 2}}});
    let mut fixture = fixture("daily", "well", limits.clone()).await;
    // A day that ends in the middle begins anew.
    loop {
        let day = today();
        let mut told = Vec::new();
        for _ in 0..2 {
            told.push(fixture.call("far_well", json!({})).await);
        }
        fixture = fixture.reopen_with(config("well", limits.clone())).await;
        fixture.until_listed("far").await;
        told.push(fixture.call("far_well", json!({})).await);
        if today() == day {
            let refused = told.pop().expect("the last").expect_err("the day has had its calls");
            assert!(
                refused.starts_with("the budget `tool far_* 2 a day` is used up;"),
                "{refused}"
            );
            assert!(told.iter().all(Result::is_ok), "{told:?}");
            break;
        }
    }
    fixture.close().await;
}

fn today() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    now.as_secs() / 86400
}

fn post(fixture: &UpstreamFixture, path: &str, body: &Value) -> Outgoing {
    let headers = [
        ("Host".to_owned(), fixture.address.to_string()),
        ("Content-Type".to_owned(), "application/json".to_owned()),
        ("Accept".to_owned(), "application/json".to_owned()),
    ];
    let (method, path) = ("POST".to_owned(), path.to_owned());
    Outgoing { method, path, headers: headers.into(), body: body.to_string().into_bytes() }
}

async fn get(fixture: &UpstreamFixture, path: &str) -> String {
    let mut outgoing = post(fixture, path, &json!({}));
    (outgoing.method, outgoing.body) = ("GET".to_owned(), Vec::new());
    outgoing.send(fixture.address).await.text().await
}
