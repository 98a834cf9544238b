//! Rules that change under clients who watch a resource, in both eras.

use gantry_tests::http::Answer;
use gantry_tests::upstream_fixture::RawClient;

use super::*;

const UPDATED: &str = "notifications/resources/updated";
const LISTS: &str = "notifications/tools/list_changed";

/// The methods that a stream tells of, up to the first of this one.
async fn heard(stream: &mut Answer, last: &str) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    let telling = async {
        while methods.last().is_none_or(|method| method != last) {
            let message = stream.message().await.expect("the stream goes on");
            methods.extend(message["method"].as_str().map(str::to_owned));
        }
    };
    soon(last, telling).await;
    methods
}

fn listening() -> Request {
    let wanted = json!({"resourceSubscriptions": ["test://watched"], "toolsListChanged": true});
    request("subscriptions/listen", json!({"notifications": wanted}))
}

#[tokio::test]
async fn what_is_hidden_while_it_is_watched_is_heard_of_no_more() {
    let servers = json!({"f": {"command": env!("CARGO_BIN_EXE_fixture-server")}});
    let trusting = json!({"policy": {"trust": "trusted", "rules": []}});
    let mut fixture = UpstreamFixture::open_with("rules-watching", trusting, servers).await;
    fixture.until_listed("f").await;
    let touch = || by_another(call("f_touch", json!({})));

    let mut raw_client = RawClient::posting(&fixture, "2025-11-25").await;
    let session = raw_client.session().expect("a session").to_owned();
    let general = bodiless("GET").of(&session).send(fixture.address).await;
    let uri = json!({"uri": "test://watched"});
    let watching = raw_client.ask(&mut fixture, "resources/subscribe", uri).await;
    assert!(watching.contains("result"), "{watching}");
    let listen = listening().send(fixture.address).await;
    let mut friend = by_another(listening()).send(fixture.address).await;
    let mut streams = [general, listen];
    assert_eq!(touch().ask(fixture.address).await["result"]["content"][0]["text"], "touched");
    for stream in streams.iter_mut().chain([&mut friend]) {
        heard(stream, UPDATED).await;
    }

    let hide = json!([{"name": "hide", "effect": "deny", "who": {"clients": ["test"]},
        "what": {"resources": ["test://watched"]}}]);
    save(&fixture, hide);
    for stream in streams.iter_mut().chain([&mut friend]) {
        heard(stream, LISTS).await;
    }
    touch().ask(fixture.address).await;
    heard(&mut friend, UPDATED).await;
    // Something that all hear of comes after it.
    by_another(call("f_grow", json!({}))).ask(fixture.address).await;
    for stream in &mut streams {
        let methods = heard(stream, LISTS).await;
        assert!(!methods.iter().any(|method| method == UPDATED), "{methods:?}");
    }

    save(&fixture, json!([]));
    for stream in streams.iter_mut().chain([&mut friend]) {
        heard(stream, LISTS).await;
    }
    touch().ask(fixture.address).await;
    for stream in &mut streams {
        heard(stream, UPDATED).await;
    }
    drop((streams, friend));
    fixture.close().await;
}

/// What the headers of a request must say tells of a tool's parameters.
#[tokio::test]
async fn a_hidden_tool_asks_for_no_headers() {
    let servers = json!({"f": {"command": env!("CARGO_BIN_EXE_fixture-server")}});
    let open = json!({"policy": {"trust": "trusted", "rules": []}});
    let fixture = UpstreamFixture::open_with("rules-headers", open, servers).await;
    fixture.until_listed("f").await;
    let asked = || call("f_region", json!({"region": "eu"}));
    let told = asked().ask(fixture.address).await.to_string();
    assert!(told.contains("mcp-param-region"), "{told}");
    save(&fixture, json!([{"name": "hide", "effect": "deny", "what": {"tools": ["f_region"]}}]));
    let hidden = async {
        while asked().ask(fixture.address).await.to_string().contains("mcp-param-region") {}
    };
    soon("the rule", hidden).await;
    let told = asked().ask(fixture.address).await.to_string();
    assert!(told.contains("rule `hide`") && !told.contains("header"), "{told}");
    fixture.close().await;
}
