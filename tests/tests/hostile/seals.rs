//! Session ids and request states that a client has changed, made up, or used where they do not
//! belong.

use gantry::ServerSettings;
use gantry_tests::request::{Request, bodiless, call, message};
use gantry_tests::test_server::{TestOptions, TestServer};
use serde_json::{Value, json};

use crate::crowd::{others_are_served, session, text, tool_call};

/// Texts like a sealed one that are not it.
fn forgeries(sealed: &str) -> Vec<String> {
    let changed = |place: usize| {
        let mut bytes = sealed.as_bytes().to_vec();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).expect("text")
    };
    let end = sealed.len();
    let mut forgeries = vec![
        "x".to_owned(),
        "!".repeat(80),
        "A".repeat(end),
        "A".repeat(8000),
        sealed[..end / 2].to_owned(),
        sealed[..end - 1].to_owned(),
        sealed[1..].to_owned(),
        format!("{sealed}A"),
        format!("{sealed}="),
        format!("{sealed}{sealed}"),
        sealed.to_ascii_lowercase(),
    ];
    forgeries.extend((0..end).step_by(end.div_ceil(40)).chain([31, 32, end - 1]).map(changed));
    forgeries.retain(|it| it != sealed);
    forgeries
}

/// The state of a call that asks for a name, and the call.
async fn asked(test_server: &TestServer) -> (String, Request) {
    let asking = call("ask_name", json!({})).can(json!({"elicitation": {}}));
    let answer = asking.ask(test_server.address).await;
    let state = answer["result"]["requestState"].as_str().expect("a state").to_owned();
    (state, asking)
}

fn named(state: Value, asking: Request) -> Request {
    let answer = json!({"elicitation-1": {"action": "accept", "content": {"name": "Ada"}}});
    asking.set("/params/requestState", state).set("/params/inputResponses", answer)
}

#[tokio::test]
async fn session_ids() {
    let test_server = TestServer::open().await;
    let own = session(&test_server, "2025-11-25").await;
    let other_server = TestServer::open().await;
    let foreign = session(&other_server, "2025-11-25").await;
    let (state, _) = asked(&test_server).await;
    let mut forged = forgeries(&own);
    forged.extend([foreign, state]);
    let ping = || message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    for id in forged {
        let mut answer = ping().of(&id).send(test_server.address).await;
        assert_eq!(answer.status, 404, "POST with {id}");
        assert_eq!(answer.message().await.expect("an error")["error"]["code"], -32600, "{id}");
        let get = bodiless("GET").of(&id).send(test_server.address).await;
        assert_eq!(get.status, 404, "GET with {id}");
        let delete = bodiless("DELETE").of(&id).send(test_server.address).await;
        assert_eq!(delete.status, 404, "DELETE with {id}");
    }
    assert_eq!(ping().send(test_server.address).await.status, 400, "no id at all");
    let answer = ping().of(&own).ask(test_server.address).await;
    assert_eq!(answer["result"], json!({}), "the session is as it was");
    let delete = bodiless("DELETE").of(&own).send(test_server.address).await;
    assert_eq!(delete.status, 200);
    for request in [ping(), bodiless("GET"), bodiless("DELETE")] {
        assert_eq!(request.of(&own).send(test_server.address).await.status, 404, "it has ended");
    }
    others_are_served(&test_server, "forged sessions").await;
}

#[tokio::test]
async fn request_states() {
    let test_server = TestServer::open().await;
    let other_server = TestServer::open().await;
    let (state, asking) = asked(&test_server).await;
    let (foreign, _) = asked(&other_server).await;
    let session = session(&test_server, "2025-11-25").await;
    let mut forged: Vec<Value> = forgeries(&state).into_iter().map(Value::from).collect();
    forged.extend([json!(foreign), json!(session), json!(""), json!(7), json!({}), json!([state])]);
    for state in forged {
        let answer = named(state.clone(), asking.clone()).ask(test_server.address).await;
        assert_eq!(answer["error"]["code"], -32602, "{state} gave {answer}");
    }
    let other_call =
        named(json!(state), call("ask_both", json!({})).can(json!({"elicitation": {}})));
    let answer = other_call.ask(test_server.address).await;
    assert_eq!(answer["error"]["code"], -32602, "the state of another call gave {answer}");
    let other_arguments =
        named(json!(state), asking.clone()).set("/params/arguments", json!({"x": 1}));
    let answer = other_arguments.ask(test_server.address).await;
    assert_eq!(answer["error"]["code"], -32602, "other arguments gave {answer}");

    let answer = named(json!(state), asking.clone()).ask(test_server.address).await;
    assert_eq!(text(&answer), "accept Ada", "the call waited through all that: {answer}");
    let again = named(json!(state), asking).ask(test_server.address).await;
    assert_eq!(again["error"]["code"], -32602, "and is answered once: {again}");
    others_are_served(&test_server, "forged states").await;
}

#[tokio::test]
async fn answers_that_do_not_fit() {
    let test_server = TestServer::open().await;
    let (state, asking) = asked(&test_server).await;
    let bad = [
        json!("text"),
        json!([]),
        json!({"elicitation-1": "yes"}),
        json!({"elicitation-1": {}}),
        json!({"elicitation-1": {"action": "maybe"}}),
        json!({"elicitation-1": {"action": "accept", "content": []}}),
    ];
    for responses in bad {
        let retry =
            named(json!(state), asking.clone()).set("/params/inputResponses", responses.clone());
        let answer = retry.ask(test_server.address).await;
        assert_eq!(answer["error"]["code"], -32602, "{responses} gave {answer}");
    }
    for missing in [Value::Null, json!({}), json!({"other": {"action": "accept"}})] {
        let retry =
            named(json!(state), asking.clone()).set("/params/inputResponses", missing.clone());
        let answer = retry.ask(test_server.address).await;
        assert_eq!(answer["result"]["resultType"], "input_required", "{missing} gave {answer}");
        assert!(answer["result"]["inputRequests"]["elicitation-1"].is_object(), "asked again");
    }
    let answer = named(json!(state), asking).ask(test_server.address).await;
    assert_eq!(text(&answer), "accept Ada", "{answer}");
}

#[tokio::test]
async fn a_seal_lasts_as_long_as_its_key() {
    let key = |byte: u8| ServerSettings { key: Some([byte; 32]), ..ServerSettings::default() };
    let test_server = async |byte| {
        TestServer::with(TestOptions { doors: key(byte), ..TestOptions::default() }).await
    };
    let before = test_server(1).await;
    let id = session(&before, "2025-06-18").await;
    before.close().await;
    let echo = || message(tool_call(1, "echo", &json!({"text": "again"}))).of(&id);
    let answer = echo().ask(test_server(1).await.address).await;
    assert_eq!(text(&answer), "again", "the same key knows the session: {answer}");
    assert_eq!(echo().send(test_server(2).await.address).await.status, 404, "another does not");
}
