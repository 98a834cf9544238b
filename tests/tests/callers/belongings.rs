//! What one caller has is to another as if it never was.

use gantry_tests::request::{Request, bodiless, call, initialize, message, request};
use gantry_tests::tasks::{able, about, begin, update};
use serde_json::{Value, json};

use crate::{Guarded, by};

/// What came, without the name that was asked for: answers to different names can be compared.
async fn came(guarded: &Guarded, token: &str, request: Request, name: &str) -> (u16, String) {
    let mut answer = by(token, request).send(guarded.test_server.address).await;
    (answer.status, answer.text().await.replace(name, "NAME"))
}

/// Checks that another's is answered as what never was, for each of these requests.
async fn is_unknown(guarded: &Guarded, token: &str, others: &str, asks: &[fn(&str) -> Request]) {
    let made_up = "A".repeat(others.len());
    for (number, ask) in asks.iter().enumerate() {
        let of_other = came(guarded, token, ask(others), others).await;
        let of_nobody = came(guarded, token, ask(&made_up), &made_up).await;
        assert_eq!(of_other, of_nobody, "request {number}");
    }
}

async fn session(guarded: &Guarded, token: &str) -> String {
    let opening = by(token, initialize("2025-11-25"));
    let answer = opening.send(guarded.test_server.address).await;
    answer.header("mcp-session-id").expect("a session").to_owned()
}

fn ping(session: &str) -> Request {
    message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).of(session)
}

#[tokio::test]
async fn sessions_and_their_streams() {
    let guarded = Guarded::open().await;
    let (ada, eve) = (guarded.token("ada").await, guarded.token("eve").await);
    let own = session(&guarded, &ada).await;
    let steps = json!({"name": "steps", "arguments": {}, "_meta": {"progressToken": 1}});
    let steps =
        message(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": steps}));
    let mut stream = by(&ada, steps.of(&own)).send(guarded.test_server.address).await;
    assert!(stream.is_stream(), "the call has something to say");
    let place = stream.event().await.and_then(|event| event.id).expect("a place to come back to");
    is_unknown(
        &guarded,
        &eve,
        &own,
        &[
            ping,
            |id| bodiless("GET").of(id),
            |id| bodiless("DELETE").of(id),
            |id| message(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).of(id),
        ],
    )
    .await;
    let resumed = bodiless("GET").of(&own).header("Last-Event-ID", &place);
    assert_eq!(by(&eve, resumed.clone()).send(guarded.test_server.address).await.status, 404);
    // In a session of her own, another's place leads nowhere: she gets a stream that begins.
    let hers = session(&guarded, &eve).await;
    let elsewhere = bodiless("GET").of(&hers).header("Last-Event-ID", &place);
    let mut beginning = by(&eve, elsewhere).send(guarded.test_server.address).await;
    let first = beginning.event().await.expect("a stream tells its first place");
    assert_eq!(first.data.as_deref().unwrap_or_default(), "", "{first:?}");
    let mut again = by(&ada, resumed).send(guarded.test_server.address).await;
    assert_eq!(again.status, 200);
    assert!(again.message().await.is_some(), "its owner comes back to it");
    assert_eq!(by(&ada, ping(&own)).ask(guarded.test_server.address).await["result"], json!({}));
}

#[tokio::test]
async fn calls_that_wait_for_an_answer() {
    let guarded = Guarded::open().await;
    let (ada, eve) = (guarded.token("ada").await, guarded.token("eve").await);
    let asking = || call("ask_name", json!({})).can(json!({"elicitation": {}}));
    let asked = by(&ada, asking()).ask(guarded.test_server.address).await;
    let state = asked["result"]["requestState"].as_str().expect("a state").to_owned();
    let retry: fn(&str) -> Request = |state| {
        let answer = json!({"elicitation-1": {"action": "accept", "content": {"name": "Eve"}}});
        let asking = call("ask_name", json!({})).can(json!({"elicitation": {}}));
        asking.set("/params/requestState", json!(state)).set("/params/inputResponses", answer)
    };
    is_unknown(&guarded, &eve, &state, &[retry]).await;
    let answered = by(&ada, retry(&state)).ask(guarded.test_server.address).await;
    assert_eq!(answered["result"]["content"][0]["text"], "accept Eve", "{answered}");
}

#[tokio::test]
async fn tasks_of_requests_that_stand_alone() {
    let guarded = Guarded::open().await;
    let (ada, eve) = (guarded.token("ada").await, guarded.token("eve").await);
    let begun = by(&ada, begin("long_wait", json!({}))).ask(guarded.test_server.address).await;
    let task = begun["result"]["taskId"].as_str().expect("a task").to_owned();
    is_unknown(
        &guarded,
        &eve,
        &task,
        &[
            |id| about("tasks/get", json!(id)),
            |id| update(json!(id), json!({"a": {"action": "decline"}})),
            |id| about("tasks/cancel", json!(id)),
        ],
    )
    .await;
    for (token, expected) in [(&ada, json!([task])), (&eve, Value::Null)] {
        let listen = json!({"notifications": {"taskIds": [task]}});
        let listen = by(token, request("subscriptions/listen", listen).can(able()));
        let mut stream = listen.send(guarded.test_server.address).await;
        let acknowledged = stream.message().await.expect("an acknowledgement");
        let honoured = &acknowledged["params"]["notifications"]["taskIds"];
        assert_eq!(*honoured, expected, "{acknowledged}");
    }
    guarded.test_server.latch.open();
    let found = by(&ada, about("tasks/get", json!(task))).ask(guarded.test_server.address).await;
    assert_ne!(found["result"]["status"], "cancelled", "{found}");
}

#[tokio::test]
async fn tasks_of_sessions() {
    let guarded = Guarded::open().await;
    let (ada, eve) = (guarded.token("ada").await, guarded.token("eve").await);
    let (own, hers) = (session(&guarded, &ada).await, session(&guarded, &eve).await);
    let ask = async |token: &str, session: &str, method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": params});
        by(token, message(body).of(session)).ask(guarded.test_server.address).await
    };
    let params = json!({"name": "long_wait", "arguments": {}, "task": {}});
    let begun = ask(&ada, &own, "tools/call", params).await;
    let task = begun["result"]["task"]["taskId"].as_str().expect("a task").to_owned();
    let made_up = "A".repeat(task.len());
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let of_other = ask(&eve, &hers, method, json!({"taskId": task})).await;
        let of_nobody = ask(&eve, &hers, method, json!({"taskId": made_up})).await;
        let of_other = of_other.to_string().replace(&task, &made_up);
        assert_eq!(of_other, of_nobody.to_string(), "{method}");
    }
    let listed = ask(&eve, &hers, "tasks/list", json!({})).await;
    assert_eq!(listed["result"]["tasks"], json!([]), "{listed}");
    let found = ask(&ada, &own, "tasks/get", json!({"taskId": task})).await;
    assert_eq!(found["result"]["status"], "working", "{found}");
}

#[tokio::test]
async fn connections_of_sse() {
    let guarded = Guarded::open().await;
    let (ada, eve) = (guarded.token("ada").await, guarded.token("eve").await);
    let mut stream = by(&ada, bodiless("GET").to("/sse")).send(guarded.test_server.address).await;
    let endpoint = stream.event().await.and_then(|event| event.data).expect("an endpoint");
    let name = endpoint.split_once('=').expect("a name").1;
    is_unknown(
        &guarded,
        &eve,
        name,
        &[|name| initialize("2024-11-05").to(&format!("/message?session={name}"))],
    )
    .await;
    let posted =
        by(&ada, initialize("2024-11-05").to(&endpoint)).send(guarded.test_server.address).await;
    assert_eq!(posted.status, 202);
    let answer = stream.message().await.expect("an answer");
    assert_eq!(answer["id"], 0, "it answers its owner alone: {answer}");
}
