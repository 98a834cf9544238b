//! Tasks that were written down before a restart.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use gantry::{Context, Failure, Server, TaskLog, TaskLogError, TaskLogLimits, TaskRecord, Tool};
use gantry_tests::request::Request;
use gantry_tests::tasks::{about, begin};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

/// What is written down, which outlives the servers that write it. It may be out of order.
#[derive(Debug, Default)]
struct Paper {
    records: Mutex<HashMap<String, TaskRecord>>,
    broken: Mutex<bool>,
}

impl TaskLog for Paper {
    fn save(
        &self,
        record: TaskRecord,
        _: TaskLogLimits,
    ) -> BoxFuture<'_, Result<(), TaskLogError>> {
        if *self.broken.lock().unwrap() {
            return Box::pin(ready(Err(TaskLogError("no ink".to_owned()))));
        }
        self.records.lock().unwrap().insert(record.id.clone(), record);
        Box::pin(ready(Ok(())))
    }

    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, TaskLogError>> {
        Box::pin(ready(Ok(self.records.lock().unwrap().get(id).cloned())))
    }

    fn remove_expired(&self, now: u64) -> BoxFuture<'_, Result<(), TaskLogError>> {
        self.records.lock().unwrap().retain(|_, record| record.expires >= now);
        Box::pin(ready(Ok(())))
    }
}

fn server(paper: &Arc<Paper>) -> Server {
    let tool = |name: &str| Tool::new(name, "Runs long.").long_running();
    Server::new("restart", "1")
        .tool(tool("ends").run(async |_: Value, _| Ok::<_, Failure>("done")))
        .tool(tool("hangs").run(async |_: Value, context: Context| {
            context.cancelled().await;
            Ok::<_, Failure>("never")
        }))
        .task_log(paper.clone())
        .build()
        .unwrap()
}

async fn ask(server: &Server, request: Request) -> Value {
    let mut link = server.connect();
    assert!(link.send(request.body()).await);
    let answer = soon("an answer", link.receive()).await.unwrap();
    serde_json::from_slice(&answer).unwrap()
}

async fn status(server: &Server, task: &Value) -> Value {
    ask(server, about("tasks/get", task.clone())).await["result"].clone()
}

#[tokio::test]
async fn what_ended_is_still_there_and_what_ran_is_told_as_lost() {
    let paper = Arc::new(Paper::default());
    let before = server(&paper);
    let ended = ask(&before, begin("ends", json!({}))).await["result"]["taskId"].clone();
    let lost = ask(&before, begin("hangs", json!({}))).await["result"]["taskId"].clone();
    let finished = async { while status(&before, &ended).await["status"] != "completed" {} };
    soon("the end of a task", finished).await;
    assert_eq!(status(&before, &lost).await["status"], "working");
    // The end is written down a little after it is seen.
    let written = async {
        let id = ended.as_str().unwrap();
        while !paper.records.lock().unwrap()[id].text.as_str().contains("completed") {
            tokio::task::yield_now().await;
        }
    };
    soon("the record", written).await;

    let after = server(&paper);
    let found = status(&after, &ended).await;
    assert_eq!(found["result"]["content"][0]["text"], "done", "{found}");
    let found = status(&after, &lost).await;
    assert_eq!(found["status"], "failed", "{found}");
    let message = found["error"]["message"].as_str().unwrap();
    assert!(message.contains("restarted") && message.contains("may have run"), "{found}");
    for request in ["tasks/cancel", "tasks/get"] {
        let answer = ask(&after, about(request, lost.clone())).await;
        assert_eq!(answer["result"]["resultType"], "complete", "{request}: {answer}");
    }
}

#[tokio::test]
async fn what_cannot_be_written_down_stays_a_call() {
    let paper = Arc::new(Paper { broken: Mutex::new(true), ..Paper::default() });
    let server = server(&paper);
    let answer = ask(&server, begin("ends", json!({}))).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    *paper.broken.lock().unwrap() = false;
    let answer = ask(&server, begin("ends", json!({}))).await;
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
}
