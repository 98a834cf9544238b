//! Calls that need an approval and that nobody answers: over every transport the caller is told
//! within the wait what to do, and following it works.

use std::time::{Duration, Instant};

use gantry_tests::request::{Request, initialize, message, request, text};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

use crate::fixture::{ApprovalFixture, TOOL, refusal, wipe};

/// The ways to make a call.
const WAYS: [&str; 6] = ["newest", "session", "contract", "batch", "task", "stdio"];

/// One way to make calls of one gateway.
struct Way {
    name: &'static str,
    fixture: ApprovalFixture,
    session: String,
}

/// What a caller is told.
#[derive(Debug)]
struct Told {
    /// The text of the result that is marked as an error; empty for one that is not.
    failure: String,
    /// The whole answer.
    whole: Value,
}

impl Way {
    async fn open(name: &'static str) -> Self {
        let policy = json!({"approvals": {"wait": 100}});
        let mut fixture = match name {
            "stdio" => ApprovalFixture::open_stdio("unanswered-stdio", policy).await,
            _ => ApprovalFixture::open(&format!("unanswered-{name}"), policy).await,
        };
        let greeting = hello(json!({}));
        let session = match name {
            "stdio" => {
                let body = serde_json::from_str(&greeting.body()).expect("JSON");
                let answer = fixture.ask_on_stdio(&body).await;
                assert!(answer["result"].is_object(), "{answer}");
                String::new()
            }
            "session" | "task" => session(&fixture, &greeting).await,
            _ => String::new(),
        };
        Self { name, fixture, session }
    }

    async fn call(&mut self, path: &str) -> Told {
        let arguments = json!({"path": path});
        let params = json!({"name": TOOL, "arguments": arguments});
        let of_session = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": path, "method": method, "params": params});
        let address = self.fixture.address;
        let whole = match self.name {
            "newest" => wipe(path).ask(address).await,
            "session" => {
                let body = of_session("tools/call", params);
                message(body).of(&self.session).ask(address).await
            }
            "contract" => {
                let body = json!({"tool_name": TOOL, "arguments": arguments});
                let mut answer = text(&body.to_string()).to("/call").send(address).await;
                let status = answer.status;
                let told: Value = serde_json::from_str(&answer.text().await).expect("JSON");
                assert_eq!(status == 403, told["status"] == "failure", "{told}");
                let error = &told["error"];
                let is_refused = error["error_type"] == "PermissionError";
                assert!(error.is_null() || is_refused, "{told}");
                let failure = error["error_message"].as_str().unwrap_or_default().to_owned();
                return Told { failure, whole: told };
            }
            "batch" => {
                let call = json!({"id": "one", "name": TOOL, "arguments": arguments});
                let answer = request("gantry/batch", json!({"calls": [call]})).ask(address).await;
                json!({"result": answer["result"]["results"][0]["result"]})
            }
            "task" => self.task(params).await,
            _ => self.fixture.ask_on_stdio(&of_session("tools/call", params)).await,
        };
        assert!(whole["error"].is_null(), "{}: a result, not an error: {whole}", self.name);
        Told { failure: refusal(&whole), whole }
    }

    /// Makes the call a task, and waits for its result.
    async fn task(&self, mut params: Value) -> Value {
        params["task"] = json!({"ttl": 60_000});
        let ask = async |method: &str, params: Value| {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            message(body).of(&self.session).ask(self.fixture.address).await
        };
        let created = ask("tools/call", params).await;
        let id = &created["result"]["task"]["taskId"];
        assert!(id.is_string(), "{created}");
        soon("the task", ask("tasks/result", json!({"taskId": id}))).await
    }

    async fn approve(&self, path: &str, decision: &str) -> String {
        let open = self.fixture.open_for(path).await;
        assert_eq!(open.len(), 1, "{}: {open:?}", self.name);
        let (status, said) =
            self.fixture.answer(&open[0]["id"], json!({"decision": decision})).await;
        assert_eq!(status, 200, "{said}");
        open[0]["id"].as_str().expect("an id").to_owned()
    }
}

/// A greeting of a client that can do this.
fn hello(capabilities: Value) -> Request {
    initialize("2025-11-25").set("/params/capabilities", capabilities)
}

async fn session(fixture: &ApprovalFixture, greeting: &Request) -> String {
    let mut answer = greeting.send(fixture.address).await;
    let session = answer.header("mcp-session-id").expect("a session").to_owned();
    answer.messages().await;
    session
}

#[tokio::test]
async fn the_caller_is_told_what_to_do_and_it_works() {
    for name in WAYS {
        let mut way = Way::open(name).await;
        let since = Instant::now();
        let first = way.call("a").await;
        assert!(since.elapsed() < Duration::from_secs(10), "{name}");
        let open = way.fixture.open_for("a").await;
        assert_eq!((open.len(), &open[0]["waiting"]), (1, &json!(false)), "{name}: {open:?}");
        let id = open[0]["id"].as_str().expect("an id");
        let page = format!("http://{}/ui/approvals", way.fixture.address);
        let told = [
            "nobody has approved it yet",
            &format!("`gantry approve {id}`"),
            &page,
            "within 15 minutes",
            &format!("`gantry trust grant {TOOL}`"),
        ];
        for told in told {
            assert!(first.failure.contains(told), "{name}: {told}: {first:?}");
        }
        let again = way.call("a").await;
        assert!(again.failure.contains(id), "{name}: the same approval: {again:?}");

        assert_eq!(way.approve("a", "approve").await, id);
        assert_eq!(way.fixture.runs(), 0, "{name}: a grant runs nothing by itself");
        let third = way.call("a").await;
        assert_eq!((third.failure.as_str(), way.fixture.runs()), ("", 1), "{name}: {third:?}");
        assert!(third.whole.to_string().contains("wiped"), "{name}: {third:?}");
        let fourth = way.call("a").await;
        assert!(fourth.failure.contains("nobody has approved it yet"), "{name}: {fourth:?}");
        assert!(!fourth.failure.contains(id), "{name}: not the old approval: {fourth:?}");

        way.approve("a", "deny").await;
        let fifth = way.call("a").await;
        let denied = fifth.failure.contains("the administrator denied it");
        assert!(denied && way.fixture.runs() == 1, "{name}: {fifth:?}");
    }
}

/// A client hangs up while its call waits; somebody approves the call afterwards.
#[tokio::test]
async fn a_grant_for_an_abandoned_call_lets_the_repeated_one_through() {
    let fixture = ApprovalFixture::open("abandoned", json!({})).await;
    let request = wipe("a");
    let calling = request.ask(fixture.address);
    let open = async {
        let pending = fixture.pending().await;
        assert_eq!(pending["waiting"], true);
        pending
    };
    let pending = tokio::select! {
        answer = calling => panic!("{answer}"),
        pending = open => pending,
    };
    let left = async { while fixture.open_for("a").await[0]["waiting"] == true {} };
    soon("the end of the wait", left).await;
    assert_eq!(fixture.answer(&pending["id"], json!({"decision": "approve"})).await.0, 200);
    assert_eq!(fixture.runs(), 0);
    assert_eq!(refusal(&wipe("a").ask(fixture.address).await), "");
    assert_eq!(fixture.runs(), 1);
}

/// Where nobody can be asked, a client with a progress token hears what its call waits for.
#[tokio::test]
async fn progress_says_what_the_call_waits_for() {
    let fixture = ApprovalFixture::open("progress", json!({"approvals": {"wait": 100}})).await;
    let messages = wipe("a").set("/params/_meta/progressToken", json!("p"));
    let messages = messages.send(fixture.address).await.messages().await;
    let progress = &messages[0];
    let id = fixture.open_for("a").await[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    let told = progress["params"]["message"].as_str().unwrap_or_default();
    assert!(told.contains(&format!("`gantry approve {id}`")), "{progress}");
    assert!(messages.len() > 1 && refusal(&messages[messages.len() - 1]).contains(&id));
}
