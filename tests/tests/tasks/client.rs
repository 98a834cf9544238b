//! A client of an older revision, as far as tasks go.

use gantry_tests::request::initialize;
use gantry_tests::test_server::TestServer;
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};

/// Says that the call behind a task has not said that it runs long.
const RUNS_LONG: &str = "/_meta/gantry~1runs-long";
/// The task that a message belongs to.
pub(crate) const RELATED: &str = "/_meta/io.modelcontextprotocol~1related-task/taskId";

/// A client that has introduced itself.
pub(crate) struct Client {
    pub(crate) transport: ClientTransport,
    last: u64,
}

impl Client {
    pub(crate) async fn open(test_server: &TestServer, transport: &str, revision: &str) -> Self {
        let mut transport = ClientTransport::open(test_server, transport).await;
        transport.send(initialize(revision).body()).await;
        let answer = transport.receive().await.unwrap();
        let declared = answer["result"]["capabilities"].get("tasks");
        assert_eq!(declared.is_some(), revision == "2025-11-25", "{answer}");
        Self { transport, last: 0 }
    }

    pub(crate) async fn send(&mut self, method: &str, params: Value) {
        self.last += 1;
        let text = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.transport.send(text.to_string()).await;
    }

    /// Asks, and takes the answer; notifications before it are passed over.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await;
        loop {
            let message = self.transport.receive().await.unwrap();
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    pub(crate) async fn call(&mut self, tool: &str, task: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": {}, "task": task})).await
    }

    pub(crate) async fn begin(&mut self, tool: &str) -> Value {
        let created = self.call(tool, json!({})).await;
        assert_eq!(created["result"]["task"]["status"], "working", "{created}");
        assert_eq!(created["result"].pointer(RUNS_LONG), Some(&json!(false)), "{created}");
        created["result"]["task"]["taskId"].clone()
    }

    /// Waits until the call behind a task has said that it runs long.
    pub(crate) async fn until_long(&mut self, task: &Value) {
        for _ in 0..10_000 {
            let seen = self.ask("tasks/get", json!({"taskId": task})).await;
            assert_eq!(seen["result"]["status"], "working", "{seen}");
            if seen["result"].pointer(RUNS_LONG).is_none() {
                return;
            }
        }
        panic!("it is never shown");
    }

    /// The text that a task comes to when its questions are answered with these names.
    pub(crate) async fn fetch(&mut self, task: &Value, names: &[&str]) -> String {
        self.send("tasks/result", json!({"taskId": task})).await;
        let mut names = names.iter();
        loop {
            let message = self.transport.receive().await.unwrap();
            if message["method"] == "elicitation/create" {
                assert_eq!(message["params"].pointer(RELATED), Some(task), "{message}");
                let name = names.next().unwrap_or_else(|| panic!("one too many: {message}"));
                let result = json!({"action": "accept", "content": {"name": name}});
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                self.transport.send(answer.to_string()).await;
            } else if let Some(text) = message.pointer("/result/content/0/text") {
                assert!(names.next().is_none(), "one too few: {message}");
                return text.as_str().unwrap().to_owned();
            }
        }
    }
}
