//! More calls than may run at once on one connection.

use std::collections::BTreeSet;
use std::time::Duration;

use gantry::{GatewaySettings, ServerSettings};
use gantry_tests::request::{NEWEST, initialize, meta};
use gantry_tests::test_server::{TestOptions, TestServer, soon};
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};

use crate::test_server;

const PING: &str = r#"{"jsonrpc":"2.0","id":"ping","method":"ping"}"#;

/// A client on one connection.
struct Client {
    transport: ClientTransport,
    revision: &'static str,
}

impl Client {
    async fn open(test_server: &TestServer, transport: &str, revision: &'static str) -> Self {
        let mut transport = ClientTransport::open(test_server, transport).await;
        if revision != NEWEST {
            transport.send(initialize(revision).body()).await;
            transport.receive().await.expect("a greeting");
        }
        Self { transport, revision }
    }

    async fn call(&mut self, id: u64, tool: &str) {
        self.transport.send(self.calling(id, tool).to_string()).await;
    }

    fn calling(&self, id: u64, tool: &str) -> Value {
        let mut params = json!({"name": tool, "arguments": {}});
        if self.revision == NEWEST {
            params["_meta"] = meta();
        }
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    }

    async fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        self.transport.send(cancel.to_string()).await;
    }

    async fn receive(&mut self) -> Value {
        self.transport.receive().await.expect("the connection goes on")
    }

    /// Receives so many answers: their ids. None is an error, and none comes twice.
    async fn answers(&mut self, count: usize) -> BTreeSet<u64> {
        let mut ids = BTreeSet::new();
        while ids.len() < count {
            let answer = self.receive().await;
            assert_eq!(answer.get("error"), None, "{answer}");
            let id = answer["id"].as_u64().expect("an id");
            assert!(ids.insert(id), "{id} is answered twice");
        }
        ids
    }

    /// Receives a question, and accepts it.
    async fn accept(&mut self) {
        let question = self.receive().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let result = json!({"action": "accept", "content": {"name": "Ada"}});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        self.transport.send(answer.to_string()).await;
    }
}

#[tokio::test]
async fn two_thousand_wait_for_their_turn() {
    for (transport, revision) in [("link", "2025-11-25"), ("sse", "2024-11-05"), ("link", NEWEST)] {
        let test_server = TestServer::open().await;
        let mut client = Client::open(&test_server, transport, revision).await;
        // The first one asks the user, where it can.
        let asks = revision == "2025-11-25";
        client.call(1, if asks { "ask_name" } else { "wait" }).await;
        for id in 2..=2000 {
            client.call(id, "wait").await;
        }
        if asks {
            client.accept().await;
            assert_eq!(client.answers(1).await, BTreeSet::from([1]), "it is heard");
        }
        test_server.latch.started(256).await;
        // One that runs and one that waits.
        client.cancel(2).await;
        client.cancel(1500).await;
        test_server.latch.cancelled(1).await;
        test_server.latch.started(257).await;
        test_server.latch.open();
        let ids = client.answers(if asks { 1997 } else { 1998 }).await;
        assert!(!ids.contains(&2) && !ids.contains(&1500), "{transport}, {revision}");
        let started = if asks { 1998 } else { 1999 };
        assert_eq!(
            test_server.latch.starts(),
            started,
            "{transport}, {revision}: what waited never started"
        );
    }
}

#[tokio::test]
async fn all_that_run_ask_and_others_wait() {
    let test_server = TestServer::open().await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    for id in 1..=600 {
        client.call(id, "ask_name").await;
    }
    let (mut answered, mut asked) = (BTreeSet::new(), 0);
    while answered.len() < 600 {
        let heard = client.receive().await;
        if heard.get("method").is_none() {
            assert_eq!(heard["result"]["content"][0]["text"], "accept Ada", "{heard}");
            answered.insert(heard["id"].as_u64());
            continue;
        }
        asked += 1;
        let result = json!({"action": "accept", "content": {"name": "Ada"}});
        let answer = json!({"jsonrpc": "2.0", "id": heard["id"], "result": result});
        client.transport.send(answer.to_string()).await;
    }
    assert_eq!(asked, 600);
}

#[tokio::test]
pub(crate) async fn calls_of_connection() {
    let test_server =
        test_server(ServerSettings { calls_of_connection: 2, ..ServerSettings::default() }).await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    for id in 1..=3 {
        client.call(id, "wait").await;
    }
    client.transport.send(PING.to_owned()).await;
    assert_eq!(client.receive().await["id"], "ping", "what is no call is served");
    assert_eq!(test_server.latch.starts().max(2), 2);
    let mut other = Client::open(&test_server, "link", "2025-11-25").await;
    other.call(1, "wait").await;
    test_server.latch.started(3).await;
    client.cancel(1).await;
    test_server.latch.started(4).await;
    test_server.latch.open();
    assert_eq!(client.answers(2).await, BTreeSet::from([2, 3]));
}

#[tokio::test]
async fn a_batch_waits_too() {
    let test_server =
        test_server(ServerSettings { calls_of_connection: 2, ..ServerSettings::default() }).await;
    let mut client = Client::open(&test_server, "link", "2025-03-26").await;
    let batch: Vec<Value> = (1..=5).map(|id| client.calling(id, "wait")).collect();
    client.transport.send(Value::from(batch).to_string()).await;
    test_server.latch.started(2).await;
    test_server.latch.open();
    let answers = client.receive().await;
    let is_result = |answer: &Value| answer["result"].is_object();
    assert!(answers.as_array().is_some_and(|it| it.len() == 5 && it.iter().all(is_result)));
}

/// One call may run, and two may wait.
fn narrow() -> ServerSettings {
    ServerSettings {
        calls_of_connection: 1,
        waiting_of_connection: 5000,
        ..ServerSettings::default()
    }
}

#[tokio::test]
pub(crate) async fn waiting_of_connection() {
    let test_server = test_server(narrow()).await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    for id in 1..=4 {
        client.call(id, "wait").await;
    }
    let ClientTransport::Link(link) = &mut client.transport else { unreachable!("it is one") };
    // The fourth has no room, so that nothing is read after it: the queue fills up.
    let brief = Duration::from_millis(300);
    let mut sent = 0;
    while tokio::time::timeout(brief, link.send(PING)).await.is_ok() {
        sent += 1;
        assert!(sent <= 64, "it reads on");
    }
    test_server.latch.open();
    let mut heard = BTreeSet::new();
    let all = async {
        while heard.len() < 5 {
            heard.insert(client.receive().await["id"].to_string());
        }
    };
    soon("all answers", all).await;
    assert_eq!(heard, ["\"ping\"", "1", "2", "3", "4"].map(str::to_owned).into());
}

#[tokio::test]
async fn what_has_no_room_is_refused_while_a_call_asks() {
    let test_server = test_server(narrow()).await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    client.call(1, "ask_name").await;
    for id in 2..=4 {
        client.call(id, "wait").await;
    }
    let mut heard = [client.receive().await, client.receive().await];
    heard.sort_by_key(|message| message.get("error").is_some());
    let [question, refused] = heard;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(4), &json!(-32010)));
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    client.transport.send(answer.to_string()).await;
    test_server.latch.open();
    assert_eq!(client.answers(3).await, BTreeSet::from([1, 2, 3]));
}

#[tokio::test]
async fn nothing_waits_longer_than_a_call_may_take() {
    let doors = ServerSettings { calls_of_connection: 1, ..ServerSettings::default() };
    let deadline = Duration::from_millis(50);
    let middle = GatewaySettings { deadline, ..GatewaySettings::default() };
    let test_server =
        TestServer::with(TestOptions { doors, middle, ..TestOptions::default() }).await;
    let mut client = Client::open(&test_server, "link", "2025-11-25").await;
    // Its time stands still while it waits for the answer.
    client.call(1, "ask_name").await;
    assert_eq!(client.receive().await["method"], "elicitation/create");
    client.call(2, "echo").await;
    let refused = client.receive().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2), &json!(-32010)));
    let told = refused["error"]["message"].as_str().expect("text");
    assert!(told.contains("queued for 50ms without running: 1 calls are running"), "{told}");
}
