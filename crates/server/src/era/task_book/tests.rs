//! Whose tasks are whose, how long they are known, and what becomes of them when time is over.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_gateway::{
    Ask, Exchange, Gateway, Identity, Listing, Outcome, Provider, Reply, Resolved, ToolEntry,
};
use gantry_protocol::json::JsonLimits;
use gantry_protocol::{Method, RawJson};
use serde_json::{Value, json};

use crate::lobby::Lobby;
use crate::memory::Link;
use crate::settings::Settings;

/// Says that it runs long; then asks for folders, waits for ever, or gives what it was given.
struct Long;

impl Provider for Long {
    fn name(&self) -> &str {
        "long"
    }

    fn serve(&self, call: &Resolved, exchange: &Exchange) -> BoxFuture<'static, Outcome> {
        let (name, exchange) = (call.target.name().to_owned(), exchange.clone());
        let wish = call.call.head.arguments.as_ref().and_then(|it| it.get("ttl")?.read());
        Box::pin(async move {
            exchange.become_task(None, None, wish.map(Duration::from_millis));
            match &*name {
                "asks" => drop(exchange.ask("roots", Ask::new(Method::RootsList, raw("{}"))).await),
                "hangs" => std::future::pending().await,
                _ => {}
            }
            Ok(Reply::result(raw(r#"{"content":[]}"#)))
        })
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}

fn lobby(settings: Settings) -> Arc<Lobby> {
    let gateway = Gateway::builder(Identity::new("tasks", "1")).build();
    let tools = ["asks", "hangs", "ends"].map(|name| {
        let definition = json!({"name": name, "inputSchema": {"type": "object"}});
        Arc::new(ToolEntry::new(raw(&definition.to_string())).unwrap())
    });
    gateway.attach(Arc::new(Long)).publish(Listing { tools: tools.into(), ..Listing::default() });
    Lobby::new(gateway, settings)
}

/// What one principal is answered.
async fn ask(lobby: &Arc<Lobby>, principal: &str, method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":
            {"roots": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut link = Link::open(lobby, principal);
    assert!(link.send(request.to_string()).await);
    serde_json::from_slice(&link.receive().await.unwrap()).unwrap()
}

async fn begin(lobby: &Arc<Lobby>, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    ask(lobby, "ada", "tools/call", params).await["result"].clone()
}

/// The status of a task, or the code of the error.
async fn status(lobby: &Arc<Lobby>, principal: &str, task: &Value) -> Value {
    let answer = ask(lobby, principal, "tasks/get", json!({"taskId": task})).await;
    answer.pointer("/result/status").or(answer.pointer("/error/code")).unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_task_is_its_principals_alone() {
    let lobby = lobby(Settings::default());
    for (tool, expected) in [("hangs", "working"), ("ends", "completed")] {
        let task = begin(&lobby, tool, json!({})).await["taskId"].clone();
        while status(&lobby, "ada", &task).await != expected {}
        // Where it is kept makes no difference: in memory first, then in the log.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(status(&lobby, "eve", &task).await, -32602);
        for method in ["tasks/cancel", "tasks/update"] {
            let params = json!({"taskId": task, "inputResponses": {}});
            let answer = ask(&lobby, "eve", method, params).await;
            assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        }
        assert_eq!(status(&lobby, "ada", &task).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_given_up_when_its_time_is_over() {
    let task_ttl_limit = Duration::from_secs(60);
    let lobby = lobby(Settings { task_ttl_limit, ..Settings::default() });
    for (wish, granted) in [(json!(10_000), 10_000), (json!(90_000), 60_000), (json!(null), 60_000)]
    {
        let created = begin(&lobby, "hangs", json!({"ttl": wish})).await;
        assert_eq!(created["ttlMs"], granted, "{created}");
        tokio::time::sleep(Duration::from_millis(granted - 1)).await;
        assert_eq!(lobby.task_book.count(), 1, "it is known for as long as was said");
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(lobby.task_book.count(), 0, "and not longer");
        assert_eq!(lobby.gateway.calls_in_flight(), 0, "its call is over");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_task_is_not_that_of_a_call() {
    let lobby = lobby(Settings::default());
    let task = begin(&lobby, "hangs", json!({})).await["taskId"].clone();
    // Thirty seconds are usual; an hour is a task's, and also how long it is known.
    tokio::time::sleep(Duration::from_secs(3500)).await;
    assert_eq!(status(&lobby, "ada", &task).await, "working");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_answers_does_not_keep_the_server_from_stopping() {
    let lobby = lobby(Settings { drain: Duration::from_secs(9), ..Settings::default() });
    let task = begin(&lobby, "asks", json!({})).await["taskId"].clone();
    while status(&lobby, "ada", &task).await != "input_required" {}
    let began = tokio::time::Instant::now();
    lobby.stop();
    lobby.drained(async {}).await;
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_waits_for_is_gone() {
    let lobby = lobby(Settings::default());
    let task = begin(&lobby, "asks", json!({})).await["taskId"].clone();
    while status(&lobby, "ada", &task).await != "input_required" {}
    // The middle waits ten minutes for an answer.
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(status(&lobby, "ada", &task).await, "completed");
}
