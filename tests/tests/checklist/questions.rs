//! Checks 70 to 76: a call that needs an answer from its client comes back with the question, and
//! is taken up by a second request.

use std::time::Duration;

use gantry::ServerSettings;
use gantry_tests::checks::{Check, story, wire};
use gantry_tests::request::{Request, call, request};
use gantry_tests::test_server::{TestOptions, TestServer};
use serde_json::{Value, json};

#[rustfmt::skip] // One case a line.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        wire(70, "only a tool, a prompt or a resource asks for input", [
            asking().gives(200).at("/result/resultType", json!("input_required")),
            able(request("prompts/get", json!({"name": "asking"}))).gives(200).at("/result/resultType", json!("input_required")),
            able(request("resources/read", json!({"uri": "test://asking"}))).gives(200).at("/result/resultType", json!("input_required")),
            able(request("tools/list", json!({"inputResponses": {}, "requestState": "x"}))).gives(200).at("/result/resultType", json!("complete")),
        ]),
        wire(71, "it comes with questions and a state", [asking().gives(200).has("/result/inputRequests").has("/result/requestState")]),
        wire(72, "only what the client can answer is asked", [
            asking().gives(200).at("/result/inputRequests/elicitation-1/method", json!("elicitation/create")).lacks("/result/inputRequests/elicitation-1/id"),
            able(call("ask_model", json!({}))).gives(200).at("/result/inputRequests/sampling-1/method", json!("sampling/createMessage")),
            able(call("ask_roots", json!({}))).gives(200).at("/result/inputRequests/roots-1/method", json!("roots/list")),
            able(call("ask_url", json!({}))).gives(200).at("/result/inputRequests/elicitation-1/params/mode", json!("url")).lacks("/result/inputRequests/elicitation-1/params/elicitationId"),
            call("ask_url", json!({})).can(json!({"elicitation": {}})).fails(400, -32021),
        ]),
        story(73, "a state that was changed, has expired or is another server's is refused", || Box::pin(bad_states())),
        story(74, "a state is good for its own call only", || Box::pin(other_calls())),
        story(75, "what is not answered is asked again, what was not asked is passed over", || Box::pin(partly())),
        story(76, "a client that does not come back costs nothing", || Box::pin(abandoned())),
    ]
}

fn able(request: Request) -> Request {
    request.can(json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}))
}

fn asking() -> Request {
    able(call("ask_name", json!({})))
}

fn named(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// The request once more, with answers and the state that the first answer gave.
fn again(request: Request, first: &Value, responses: Value) -> Request {
    request
        .set("/id", json!("again"))
        .set("/params/inputResponses", responses)
        .set("/params/requestState", first["result"]["requestState"].clone())
}

async fn bad_states() {
    let (test_server, other) = (TestServer::open().await, TestServer::open().await);
    let first = asking().ask(test_server.address).await;
    let state = first["result"]["requestState"].as_str().unwrap().to_owned();
    let retry = again(asking(), &first, json!({"elicitation-1": named("Ann")}));
    let half = state.len() / 2;
    let flipped = if state.as_bytes()[half] == b'A' { "B" } else { "A" };
    let changed = format!("{}{flipped}{}", &state[..half], &state[half + 1..]);
    for bad in [json!(changed), json!(&state[..half]), json!(""), json!("nonsense"), json!(5)] {
        let answer = retry.clone().set("/params/requestState", bad).ask(test_server.address).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = retry.ask(other.address).await;
    assert_eq!(answer["error"]["code"], -32602, "another server's: {answer}");
    // None of it used the call up; taking it up does.
    let answer = retry.ask(test_server.address).await;
    assert_eq!(answer["result"]["content"][0]["text"], "accept Ann", "{answer}");
    let answer = retry.ask(test_server.address).await;
    assert_eq!(answer["error"]["code"], -32602, "twice: {answer}");
    let doors = ServerSettings { parked_for: Duration::ZERO, ..ServerSettings::default() };
    let hasty = TestServer::with(TestOptions { doors, ..TestOptions::default() }).await;
    let first = asking().ask(hasty.address).await;
    let answer =
        again(asking(), &first, json!({"elicitation-1": named("Ann")})).ask(hasty.address).await;
    assert_eq!(answer["error"]["code"], -32602, "expired: {answer}");
}

async fn other_calls() {
    let test_server = TestServer::open().await;
    let first = asking().ask(test_server.address).await;
    let answers = json!({"elicitation-1": named("Ann")});
    for other in [
        call("ask_both", json!({})),
        call("ask_name", json!({"more": 1})),
        request("prompts/get", json!({"name": "asking"})),
        request("resources/read", json!({"uri": "test://asking"})),
    ] {
        let answer = again(able(other), &first, answers.clone()).ask(test_server.address).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = again(asking(), &first, answers).ask(test_server.address).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
}

async fn partly() {
    let test_server = TestServer::open().await;
    let both = || able(call("ask_both", json!({})));
    let first = both().ask(test_server.address).await;
    assert_eq!(first["result"]["inputRequests"].as_object().unwrap().len(), 2, "{first}");
    for bad in [
        json!([]),
        json!("x"),
        json!({"elicitation-1": {"action": "shrug"}}),
        json!({"elicitation-1": 5}),
    ] {
        let answer = again(both(), &first, bad).ask(test_server.address).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let second = again(both(), &first, json!({"elicitation-1": named("Ann"), "other": {}}))
        .ask(test_server.address)
        .await;
    let left = second["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(left.keys().collect::<Vec<_>>(), ["elicitation-2"], "{second}");
    let last = again(both(), &second, json!({"elicitation-2": {"action": "decline"}}))
        .ask(test_server.address)
        .await;
    assert_eq!(last["result"]["content"][0]["text"], "accept Ann, decline nobody", "{last}");
}

async fn abandoned() {
    let doors = ServerSettings {
        parked_for: Duration::ZERO,
        parked: 1,
        parked_of_principal: 1,
        ..ServerSettings::default()
    };
    let test_server = TestServer::with(TestOptions { doors, ..TestOptions::default() }).await;
    for _ in 0..5 {
        let answer = asking().ask(test_server.address).await;
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    }
}
