//! Who may approve: the local user in their own client, approvers, administrators; not the caller.

use gantry_tests::request::{Request, initialize, message};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

use crate::fixture::{ApprovalFixture, TOOL, refusal, wipe};

const WAIT: u64 = 100;

fn able(request: Request) -> Request {
    request.can(json!({"elicitation": {}}))
}

/// Whether a client of the newest revision that declares elicitation is asked about its call.
async fn is_asked(fixture: &ApprovalFixture, request: Request) -> bool {
    let answer = able(request).ask(fixture.address).await;
    let asked = answer["result"]["resultType"] == "input_required";
    let told = refusal(&answer).contains("nobody has approved it yet");
    assert!(asked || told, "{answer}");
    asked
}

/// The same of a client with a session, which would be asked on the stream of its call.
async fn is_asked_in_session(fixture: &ApprovalFixture, token: &str) -> bool {
    let mut greeting = initialize("2025-11-25").by(token).send(fixture.address).await;
    let session = greeting.header("mcp-session-id").expect("a session").to_owned();
    greeting.messages().await;
    let params = json!({"name": TOOL, "arguments": {"path": "session"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut answer = message(body).by(token).of(&session).send(fixture.address).await;
    loop {
        let heard = answer.message().await.expect("a message");
        if heard["method"] == "elicitation/create" || heard["result"]["isError"] == true {
            return heard["result"].is_null();
        }
        assert_eq!(heard["method"], "notifications/message", "{heard}");
    }
}

/// The clients of whom are asked, by kind of principal and setting.
#[tokio::test]
async fn a_caller_with_a_token_does_not_approve_its_own_calls() {
    let cases = [
        (json!(true), [true, false, false]),
        (json!(["ci"]), [true, true, false]),
        (json!(false), [false, false, false]),
    ];
    for (elicitation, expected) in cases {
        let policy = json!({"approvals": {"wait": WAIT, "elicitation": elicitation}});
        let fixture = ApprovalFixture::open_with_tokens("own", policy).await;
        let ci = fixture.make_token("ci", "caller").await;
        let ann = fixture.make_token("ann", "approver").await;
        let newest = [
            is_asked(&fixture, fixture.own(wipe("a"))).await,
            is_asked(&fixture, wipe("a").by(&ci)).await,
            is_asked(&fixture, wipe("a").by(&ann)).await,
        ];
        assert_eq!(newest, expected, "{elicitation}");
        for (token, expected) in [(&ci, expected[1]), (&ann, expected[2])] {
            assert_eq!(is_asked_in_session(&fixture, token).await, expected, "{elicitation}");
        }
        assert_eq!(fixture.runs(), 0);
    }
    let fixture = ApprovalFixture::open("own", json!({"approvals": {"wait": WAIT}})).await;
    assert!(is_asked(&fixture, wipe("a")).await, "without tokens everyone is the local user");
}

/// Opens an approval of this caller's call: its id.
async fn open(fixture: &ApprovalFixture, token: &str, path: &str) -> String {
    let answer = wipe(path).by(token).ask(fixture.address).await;
    assert!(refusal(&answer).contains("nobody has approved it yet"), "{answer}");
    let open = fixture.open_for(path).await;
    assert_eq!(open.len(), 1, "{open:?}");
    open[0]["id"].as_str().expect("an id").to_owned()
}

async fn approve(fixture: &ApprovalFixture, token: &str, id: &str) -> u16 {
    let yes = json!({"decision": "approve", "by": "the administrator"});
    fixture.admin_as(token, "POST", &format!("/api/approvals/{id}"), &yes).await.0
}

/// The status that each token gets for its answer to the same approval; the last one that is
/// entitled decides.
#[tokio::test]
async fn approvers_answer_for_others_and_nobody_else_does() {
    let fixture =
        ApprovalFixture::open_with_tokens("approver", json!({"approvals": {"wait": WAIT}})).await;
    let ci = fixture.make_token("ci", "caller").await;
    let ann = fixture.make_token("ann", "approver").await;
    let bea = fixture.make_token("bea", "approver").await;
    let id = open(&fixture, &ci, "a").await;
    assert_eq!(approve(&fixture, &ci, &id).await, 401, "the caller itself");
    let mine = open(&fixture, &ann, "b").await;
    assert_eq!(approve(&fixture, &ann, &mine).await, 403, "an approver's own call");
    let (status, shown) = fixture.admin_as(&ann, "GET", "/api/approvals", &Value::Null).await;
    let ids: Vec<&Value> =
        shown["pending"].as_array().expect("a list").iter().map(|it| &it["id"]).collect();
    assert_eq!((status, ids), (200, vec![&json!(id)]), "what she may answer");
    for page in ["/api/tokens", "/api/trust", "/api/tools", "/api/servers"] {
        assert_eq!(fixture.admin_as(&ann, "GET", page, &Value::Null).await.0, 401, "{page}");
    }
    assert_eq!(approve(&fixture, &ann, &id).await, 200);
    assert_eq!(approve(&fixture, &bea, &mine).await, 200);
    assert_eq!(fixture.runs(), 0);
    for (token, path) in [(&ci, "a"), (&ann, "b")] {
        assert_eq!(refusal(&wipe(path).by(token).ask(fixture.address).await), "", "{path}");
    }
    assert_eq!(fixture.runs(), 2);

    let taken_back = open(&fixture, &ci, "c").await;
    assert_eq!(approve(&fixture, &ann, &taken_back).await, 200);
    let page = format!("/api/approvals/{taken_back}");
    assert_eq!(fixture.admin_as(&bea, "DELETE", &page, &Value::Null).await.0, 404, "not hers");
    assert_eq!(fixture.admin_as(&ann, "DELETE", &page, &Value::Null).await.0, 200);
    assert_eq!(open(&fixture, &ci, "c").await.len(), 8, "it has to be approved again");

    // The answers, and the calls. Records are written a moment after what they are about.
    let recorded = async {
        loop {
            let (code, audit) = fixture.gantry(&["audit", "search", "--json"]).await;
            assert_eq!(code, 0, "{audit}");
            let by = |name: &str| format!("approved by `{name}` (approver)");
            let lines = |name: &str| audit.lines().filter(|it| it.contains(&by(name))).count();
            if (lines("ann"), lines("bea")) == (3, 2) {
                return;
            }
        }
    };
    soon("all on record", recorded).await;
    let (code, listed) = fixture.gantry(&["token", "list"]).await;
    assert!(code == 0 && listed.contains("approver") && listed.contains("user"), "{listed}");
}

/// Who may approve what a rule stops, and what the settings add.
#[tokio::test]
async fn rules_and_settings_name_approvers() {
    let rule = json!({"name": "wipes", "effect": "approve", "approvers": ["ops"]});
    let named = json!({"wait": WAIT, "approvers": ["ops"], "selfApproval": true});
    // The policy; what `ann`, `ops` and the caller `ops` for its own call are answered.
    let cases = [
        (json!({"approvals": {"wait": WAIT}}), [200, 401, 401]),
        (json!({"approvals": {"wait": WAIT}, "rules": [rule]}), [403, 200, 403]),
        (json!({"approvals": named}), [200, 200, 200]),
    ];
    for (policy, expected) in cases {
        let fixture = ApprovalFixture::open_with_tokens("named", policy.clone()).await;
        let ci = fixture.make_token("ci", "caller").await;
        let ann = fixture.make_token("ann", "approver").await;
        let ops = fixture.make_token("ops", "caller").await;
        let (first, second) = (open(&fixture, &ci, "a").await, open(&fixture, &ci, "b").await);
        let own = open(&fixture, &ops, "c").await;
        let found = [
            approve(&fixture, &ann, &first).await,
            approve(&fixture, &ops, &second).await,
            approve(&fixture, &ops, &own).await,
        ];
        assert_eq!(found, expected, "{policy}");
    }
}
