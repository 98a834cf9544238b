//! One principal cannot use up what all share, and a revoked token gives back what it held.

use gantry::ServerSettings;
use gantry_tests::http::Answer;
use gantry_tests::request::{Request, bodiless, call, initialize, message, request};
use gantry_tests::tasks::begin;
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

use crate::{Guarded, by};

/// The total of everything that is counted here: a quarter of it is one principal's share.
const TOTAL: usize = 20;
const SHARE: usize = TOTAL / 4;

async fn guarded() -> Guarded {
    Guarded::with(ServerSettings {
        sessions: TOTAL,
        streams: TOTAL,
        parked: TOTAL,
        tasks: TOTAL,
        ..ServerSettings::default()
    })
    .await
}

/// A client that holds a token.
struct Client<'a> {
    guarded: &'a Guarded,
    token: String,
}

impl<'a> Client<'a> {
    async fn new(guarded: &'a Guarded, name: &str) -> Self {
        Self { guarded, token: guarded.token(name).await }
    }

    async fn send(&self, request: Request) -> Answer {
        by(&self.token, request).send(self.guarded.test_server.address).await
    }

    async fn ask(&self, request: Request) -> Value {
        by(&self.token, request).ask(self.guarded.test_server.address).await
    }

    async fn session(&self) -> String {
        let opened = self.send(initialize("2025-11-25")).await;
        opened.header("mcp-session-id").expect("a session").to_owned()
    }

    /// One request in a session of its own, which leaves something behind there.
    async fn hold(&self, method: &str, params: &Value) -> (u16, Value) {
        let session = self.session().await;
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut answer = self.send(message(body).of(&session)).await;
        (answer.status, answer.message().await.unwrap_or_default())
    }

    async fn park(&self) -> Value {
        self.ask(call("ask_name", json!({})).can(json!({"elicitation": {}}))).await
    }

    async fn begin(&self) -> Value {
        self.ask(begin("long_wait", json!({}))).await
    }

    async fn listen(&self) -> Answer {
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        self.send(request("subscriptions/listen", wanted)).await
    }

    /// The gauges of what is counted, by name.
    async fn gauges(&self) -> Vec<(String, u64)> {
        let names = ["calls_in_flight", "calls_parked", "tasks", "sessions", "streams"];
        let text = self.send(bodiless("GET").to("/metrics")).await.text().await;
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("gantry_{name} ")));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
        };
        names.into_iter().map(|name| (name.to_owned(), value(name))).collect()
    }
}

/// Checks that a refusal names the limit, the setting and what to do.
fn names_the_limit(refused: &Value, setting: &str) {
    let text = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert_eq!(refused["error"]["code"], -32010, "{refused}");
    for part in [setting, "share", &SHARE.to_string()] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

#[tokio::test]
async fn idle_sessions_of_one_principal_leave_room_for_others() {
    let cases = [
        ("logging/setLevel", json!({"level": "debug"})),
        ("resources/subscribe", json!({"uri": "test://watched"})),
        ("ping", json!({})),
    ];
    for (method, params) in &cases {
        let guarded = guarded().await;
        let (eve, bob) = (Client::new(&guarded, "eve").await, Client::new(&guarded, "bob").await);
        let kept = bob.session().await;
        let level = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(bob.send(message(level.clone()).of(&kept)).await.status, 200, "{method}");
        for round in 0..2 * TOTAL {
            let (status, answer) = eve.hold(method, params).await;
            assert_eq!(status, 200, "{method} {round}: its oldest gives way: {answer}");
        }
        let (status, answer) = bob.hold(method, params).await;
        assert_eq!(status, 200, "{method}: another is not locked out: {answer}");
        assert_eq!(bob.send(message(level).of(&kept)).await.status, 200, "{method}");
        let gauges = bob.gauges().await;
        let sessions = gauges.iter().find(|(name, _)| name == "sessions").expect("a gauge").1;
        assert!(sessions <= (SHARE + 2) as u64, "{method}: {gauges:?}");
    }
}

#[tokio::test]
async fn busy_sessions_of_one_principal_leave_room_for_others() {
    let guarded = guarded().await;
    let (eve, bob) = (Client::new(&guarded, "eve").await, Client::new(&guarded, "bob").await);
    let task = json!({"name": "long_wait", "arguments": {}, "task": {}});
    for _ in 0..SHARE {
        let (_, created) = eve.hold("tools/call", &task).await;
        assert_eq!(created["result"]["task"]["status"], "working", "{created}");
    }
    let (status, refused) = eve.hold("ping", &json!({})).await;
    assert_eq!(status, 429, "a session with a running task is not idle: {refused}");
    names_the_limit(&refused, "`sessions`");
    let (status, answer) = bob.hold("logging/setLevel", &json!({"level": "debug"})).await;
    assert_eq!(status, 200, "{answer}");
}

#[tokio::test]
async fn calls_tasks_and_streams_of_one_principal_leave_room_for_others() {
    let guarded = guarded().await;
    let (eve, bob) = (Client::new(&guarded, "eve").await, Client::new(&guarded, "bob").await);
    let mut streams = Vec::new();
    let session = eve.session().await;
    let task = json!({"name": "long_wait", "arguments": {}, "task": {}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": task});
    let task = message(body).of(&session);
    for round in 0..TOTAL {
        let (parked, begun, mut stream) =
            (eve.park().await, eve.ask(task.clone()).await, eve.listen().await);
        if round < SHARE {
            assert_eq!(parked["result"]["resultType"], "input_required", "{round}: {parked}");
            assert_eq!(begun["result"]["task"]["status"], "working", "{round}: {begun}");
            assert_eq!(stream.status, 200, "{round}");
            streams.push(stream);
        } else {
            names_the_limit(&parked, "`parked`");
            names_the_limit(&begun, "`tasks`");
            assert_eq!(stream.status, 429, "{round}");
            names_the_limit(&stream.message().await.expect("an error"), "`streams`");
        }
    }
    assert_eq!(bob.park().await["result"]["resultType"], "input_required");
    assert_eq!(bob.begin().await["result"]["resultType"], "task");
    assert_eq!(bob.listen().await.status, 200);
    let echo = bob.ask(call("echo", json!({"text": "hi"}))).await;
    assert!(echo["result"].is_object(), "{echo}");
}

#[tokio::test]
async fn a_revoked_token_gives_back_all_that_it_held() {
    let guarded = guarded().await;
    let (eve, bob) = (Client::new(&guarded, "eve").await, Client::new(&guarded, "bob").await);
    let mut streams = Vec::new();
    for _ in 0..2 {
        eve.hold("logging/setLevel", &json!({"level": "debug"})).await;
        eve.hold("resources/subscribe", &json!({"uri": "test://watched"})).await;
        assert_eq!(eve.park().await["result"]["resultType"], "input_required");
        assert_eq!(eve.begin().await["result"]["resultType"], "task");
        streams.push(eve.listen().await);
    }
    // A call of a session, whose connection is lost: only the client's word or the token's end
    // stops it.
    let session = eve.session().await;
    let params = json!({"name": "wait", "arguments": {}});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let request = by(&eve.token, message(body).of(&session));
    let address = guarded.test_server.address;
    let waiting = tokio::spawn(async move { request.send(address).await.status });
    guarded.test_server.latch.started(3).await;
    waiting.abort();
    let gauges = bob.gauges().await;
    assert!(gauges.iter().all(|(_, value)| *value > 0), "{gauges:?}");
    guarded.tokens.revoke("eve").await.expect("it is there");
    let freed = async {
        while !bob.gauges().await.iter().all(|(_, value)| *value == 0) {
            tokio::task::yield_now().await;
        }
    };
    soon("the end of all that the token held", freed).await;
    guarded.test_server.latch.cancelled(3).await;
}
