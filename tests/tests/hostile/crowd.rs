//! What the hostile tests have in common: well-behaved clients beside the bad one, and a tool
//! that never stops talking.

use std::sync::Arc;
use std::time::Duration;

use gantry::{Failure, Level, Tool, ToolResult};
use gantry_tests::request::{call, initialize, message};
use gantry_tests::test_server::{TestServer, soon};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Calls as any client does, in both eras, on connections of their own.
pub(crate) async fn others_are_served(test_server: &TestServer, after: &str) {
    let answer = call("echo", json!({"text": "still here"})).ask(test_server.address).await;
    assert_eq!(text(&answer), "still here", "alone, after {after}: {answer}");
    let session = session(test_server, "2025-11-25").await;
    let answer = message(tool_call(1, "echo", &json!({"text": "here too"})));
    let answer = answer.of(&session).ask(test_server.address).await;
    assert_eq!(text(&answer), "here too", "in a session, after {after}: {answer}");
}

/// The id of a fresh session.
pub(crate) async fn session(test_server: &TestServer, revision: &str) -> String {
    let answer = initialize(revision).send(test_server.address).await;
    answer.header("mcp-session-id").expect("a session has an id").to_owned()
}

/// A call of a tool without anything around it.
pub(crate) fn tool_call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// The first text of a tool's result.
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or("no text")
}

/// How much a tool has been able to say, and whether it is still at it.
#[derive(Clone, Default)]
pub(crate) struct Torrent(Arc<Flow>);

#[derive(Default)]
struct Flow {
    said: watch::Sender<usize>,
    over: watch::Sender<bool>,
}

/// How large one notice of a torrent is.
pub(crate) const NOTICE: usize = 16 * 1024;

impl Torrent {
    /// Adds the tool `torrent`, which says `count` notices as fast as they are taken.
    pub(crate) fn add(test_server: &TestServer, count: usize) -> Self {
        Self::add_as(test_server, "torrent", count)
    }

    /// Adds the same under another name.
    pub(crate) fn add_as(test_server: &TestServer, name: &str, count: usize) -> Self {
        let torrent = Self::default();
        let flow = torrent.0.clone();
        let tool = Tool::new(name, "Talks.").input_schema(json!({"type": "object"}));
        let tool = tool.run(move |_: Value, context| {
            let flow = flow.clone();
            async move {
                let _over = Over(flow.clone());
                let words = "x".repeat(NOTICE);
                for _ in 0..count {
                    context.log(Level::Emergency, &words).await;
                    flow.said.send_modify(|said| *said += 1);
                    tokio::task::yield_now().await;
                }
                Ok::<_, Failure>(ToolResult::text("said it all"))
            }
        });
        test_server.server.handlers().add_tool(tool).expect("the name is free");
        torrent
    }

    /// Waits until nothing more is taken, and says how much was.
    pub(crate) async fn stalls(&self) -> usize {
        const QUIET: Duration = Duration::from_millis(300);
        let mut said = self.0.said.subscribe();
        let started = said.wait_for(|said| *said > 0);
        soon("the first notice", started).await.expect("the tool lives");
        while tokio::time::timeout(QUIET, said.changed()).await.is_ok() {}
        *said.borrow()
    }

    /// Waits until the tool has ended or was cancelled.
    pub(crate) async fn ends(&self) {
        let mut over = self.0.over.subscribe();
        soon("the end of the torrent", over.wait_for(|over| *over)).await.expect("it lives");
    }

    /// How much was taken so far.
    pub(crate) fn said(&self) -> usize {
        *self.0.said.borrow()
    }
}

struct Over(Arc<Flow>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over.send_replace(true);
    }
}
