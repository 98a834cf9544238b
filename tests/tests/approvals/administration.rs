//! Approvals and trust over HTTP.

use gantry_tests::http::Outgoing;
use gantry_tests::request::{call, request};
use serde_json::{Value, json};

use crate::fixture::{ApprovalFixture, TOOL, refusal, wipe};

#[tokio::test]
async fn a_call_is_answered_over_http_and_once() {
    let fixture = ApprovalFixture::open("http", json!({})).await;
    let answers = async {
        let pending = fixture.pending().await;
        assert_eq!(pending["arguments"], json!({"path": "a", "token": "…"}));
        assert_eq!((&pending["tool"], &pending["client"]), (&json!(TOOL), &json!("test")));
        let id = &pending["id"];
        let path = format!("/api/approvals/{}", id.as_str().expect("a name"));
        let yes = json!({"decision": "approve"});
        for token in ["", "wrong", &fixture.token()[1..]] {
            assert_eq!(fixture.admin_as(token, "POST", &path, &yes).await.0, 401, "`{token}`");
        }
        for body in [json!({}), json!({"decision": "perhaps"}), json!([]), Value::Null] {
            assert_eq!(fixture.answer(id, body).await.0, 400);
        }
        assert_eq!(
            fixture.answer(id, json!({"decision": "approve", "scope": "session"})).await.0,
            400
        );
        assert_eq!(fixture.answer(&json!("nothing"), yes.clone()).await.0, 404);
        let (status, said) = fixture.answer(id, yes.clone()).await;
        assert_eq!((status, &said["verdict"]), (200, &json!("approved")));
        let (status, said) = fixture.answer(id, json!({"decision": "deny"})).await;
        assert_eq!(status, 409);
        let told = said["error"]["error_message"].as_str().expect("a text");
        assert!(told.ends_with("the administrator approved it"), "{told}");
    };
    let secret = call(TOOL, json!({"path": "a", "token": "hunter2"}));
    let (answer, ()) = fixture.during(&secret, answers).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"wiped": true}), "{answer}");
    assert_eq!(fixture.runs(), 1);
    assert!(!fixture.log().contains("hunter2"), "{}", fixture.log());
}

#[tokio::test]
async fn two_answers_at_once_have_one_winner() {
    let fixture = ApprovalFixture::open("race", json!({})).await;
    for round in 0..5 {
        let before = fixture.runs();
        let answers = async {
            let pending = fixture.pending().await;
            let say = |word: &str| fixture.answer(&pending["id"], json!({"decision": word}));
            let (yes, no) = tokio::join!(say("approve"), say("deny"));
            (yes.0, no.0)
        };
        let (answer, statuses) = fixture.during(&wipe("a"), answers).await;
        match statuses {
            (200, 409) => assert_eq!(fixture.runs(), before + 1, "round {round}: {answer}"),
            (409, 200) => {
                assert!(refusal(&answer).contains("denied it"), "round {round}: {answer}");
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn grants_and_decisions_outlive_the_gateway() {
    let fixture = ApprovalFixture::open("kept", json!({})).await;
    let answers = async {
        let id = fixture.pending().await["id"].clone();
        fixture
            .answer(&id, json!({"decision": "approve", "scope": {"matching": true, "for": "1h"}}))
            .await
    };
    let (_, (status, granted)) = fixture.during(&wipe("a"), answers).await;
    assert_eq!(status, 200);
    let fixture = fixture.reopen(json!({"approvals": {"wait": 200}})).await;
    let again = wipe("a").ask(fixture.address).await;
    assert_eq!((refusal(&again).as_str(), fixture.runs()), ("", 2), "the grant");
    assert!(refusal(&wipe("b").ask(fixture.address).await).contains("nobody has approved it yet"));
    let path = format!("/api/approvals/{}", granted["id"].as_str().expect("a name"));
    assert_eq!(fixture.admin("DELETE", &path, &Value::Null).await.0, 200);
    assert_eq!(fixture.admin("DELETE", &path, &Value::Null).await.0, 404);
    assert!(refusal(&wipe("a").ask(fixture.address).await).contains("nobody has approved it yet"));

    let trusted = json!({"subject": TOOL, "level": "trusted"});
    assert_eq!(fixture.admin("POST", "/api/trust", &trusted).await.0, 200);
    assert_eq!(
        fixture
            .admin("POST", "/api/trust", &json!({"subject": "server:x", "level": "trusted"}))
            .await
            .0,
        404
    );
    assert_eq!(fixture.admin("POST", "/api/trust", &json!({"subject": TOOL})).await.0, 400);
    let fixture = fixture.reopen(json!({})).await;
    assert_eq!(refusal(&wipe("c").ask(fixture.address).await), "", "the decision");
    let (_, shown) = fixture.admin("GET", "/api/trust", &Value::Null).await;
    assert_eq!(
        (&shown["level"], &shown["rulings"][0]["level"]),
        (&json!("verified"), &json!("trusted"))
    );
}

#[tokio::test]
async fn the_page_is_served_with_nothing_in_it() {
    let fixture = ApprovalFixture::open("page", json!({})).await;
    for (path, status) in [
        ("/ui/approvals", 200),
        ("/ui/approvals.js", 200),
        ("/ui/approvals.css", 200),
        ("/ui", 404),
    ] {
        let headers = vec![("Host".to_owned(), fixture.address.to_string())];
        let (method, path) = ("GET".to_owned(), path.to_owned());
        let mut answer =
            Outgoing { method, path, headers, body: Vec::new() }.send(fixture.address).await;
        let policy = answer.header("content-security-policy").unwrap_or_default().to_owned();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.status, status);
        assert!(!answer.text().await.contains(&fixture.token()));
    }
}

/// What a client cannot call, it cannot use to approve: no tool of the gateway answers approvals.
#[tokio::test]
async fn no_tool_answers_approvals() {
    let fixture = ApprovalFixture::open("tools", json!({})).await;
    let listed = request("tools/list", json!({})).ask(fixture.address).await;
    let names: Vec<_> =
        listed["result"]["tools"].as_array().expect("tools").iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["file_wipe"]);
}
