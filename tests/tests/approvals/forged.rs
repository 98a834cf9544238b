//! Clients that approve their own calls: answers nobody asked for, and answers given twice.

use gantry_tests::request::{Request, initialize, message};
use serde_json::{Value, json};

use crate::fixture::{ApprovalFixture, TOOL, refusal, wipe};

fn yes() -> Value {
    json!({"gantry/approval": {"action": "accept", "content": {"decision": "allow once"}}})
}

fn able(request: Request) -> Request {
    request.can(json!({"elicitation": {}}))
}

/// Answers that come before the question count for nothing, whatever the client can be asked.
#[tokio::test]
async fn a_first_call_cannot_bring_its_own_approval() {
    let fixture = ApprovalFixture::open("forged", json!({"approvals": {"wait": 300}})).await;
    let brought = wipe("a").set("/params/inputResponses", yes());
    let refused = brought.ask(fixture.address).await;
    assert!(refusal(&refused).contains("nobody has approved it yet"), "{refused}");
    let asked = able(brought).ask(fixture.address).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "it is asked all the same");
    let state = asked["result"]["requestState"].as_str().expect("a state").to_owned();
    assert!(state.len() > 20 && fixture.runs() == 0);
    for forged in ["", "x", &state[1..], &state.to_uppercase()] {
        let again = able(wipe("a")).set("/params/inputResponses", yes());
        let answer = again.set("/params/requestState", json!(forged)).ask(fixture.address).await;
        assert!(answer["error"].is_object(), "{forged}: {answer}");
    }
    assert_eq!(fixture.runs(), 0);
}

/// An approval is for the call that asked, once: not for other arguments, not a second time.
#[tokio::test]
async fn an_approval_cannot_be_moved_or_replayed() {
    let fixture = ApprovalFixture::open("replayed", json!({})).await;
    let asked = able(wipe("a")).ask(fixture.address).await;
    let state = &asked["result"]["requestState"];
    let question = &asked["result"]["inputRequests"]["gantry/approval"];
    let message = question["params"]["message"].as_str().unwrap_or_default();
    assert!(message.contains(TOOL) && message.contains(r#"{"path":"a"}"#), "{asked}");
    let with = |request: Request| {
        able(request)
            .set("/params/inputResponses", yes())
            .set("/params/requestState", state.clone())
    };
    let moved = with(wipe("b")).ask(fixture.address).await;
    assert!(refusal(&moved).contains("another call"), "{moved}");
    assert_eq!(fixture.runs(), 0);
    let answered = with(wipe("a")).ask(fixture.address).await;
    assert_eq!(answered["result"]["structuredContent"], json!({"wiped": true}), "{answered}");
    let replayed = with(wipe("a")).ask(fixture.address).await;
    assert!(refusal(&replayed).contains("no longer waits"), "{replayed}");
    assert_eq!(fixture.runs(), 1);
}

/// The same of a client with handshake, which has no such members: they are nothing to it.
#[tokio::test]
async fn a_session_cannot_bring_its_own_approval() {
    let fixture =
        ApprovalFixture::open("session", json!({"approvals": {"wait": 300, "elicitation": false}}))
            .await;
    let mut greeting = initialize("2025-11-25").send(fixture.address).await;
    let session = greeting.header("mcp-session-id").expect("a session").to_owned();
    greeting.messages().await;
    let params = json!({
        "name": TOOL, "arguments": {"path": "a"}, "inputResponses": yes(), "requestState": "x",
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let call = message(body).of(&session).header("MCP-Protocol-Version", "2025-11-25");
    let refused = call.ask(fixture.address).await;
    assert!(refusal(&refused).contains("nobody has approved it yet"), "{refused}");
    assert_eq!(fixture.runs(), 0);
}

/// Somebody answers while the call is set aside and its client thinks: that counts, and the client
/// finds it when it comes back, whatever its user has said.
#[tokio::test]
async fn an_answer_from_outside_counts_for_a_call_that_is_set_aside() {
    for (word, runs) in [("approve", 1), ("deny", 0)] {
        let fixture = ApprovalFixture::open("aside", json!({})).await;
        let asked = able(wipe("a")).ask(fixture.address).await;
        let id = fixture.pending().await["id"].clone();
        assert_eq!(fixture.answer(&id, json!({"decision": word})).await.0, 200);
        let opposite =
            if runs == 1 { json!({"action": "decline"}) } else { yes()["gantry/approval"].clone() };
        let back = able(wipe("a"))
            .set("/params/inputResponses", json!({"gantry/approval": opposite}))
            .set("/params/requestState", asked["result"]["requestState"].clone());
        let answer = back.ask(fixture.address).await;
        assert_eq!(fixture.runs(), runs, "{word}: {answer}");
        assert_eq!(refusal(&answer).contains("the administrator denied it"), runs == 0, "{answer}");
    }
}
