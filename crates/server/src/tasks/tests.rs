//! Whose tasks are whose, how long they are known, and what becomes of them when time is over.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_gateway::filter::{
    CallEnd, CallFilter, CallObserver, CallSummary, Decision, Recorded, View, VisibilityFilter,
};
use gantry_gateway::{
    Call, CallContext, CallError, Caller, ErrorKind, Gateway, GatewayBuilder, InputRequest,
    Listing, Outcome, Provider, Reply, Resolved, ServerInfo, Target, TokenLease, ToolEntry,
};
use gantry_protocol::json::JsonLimits;
use gantry_protocol::{Method, RawJson};
use serde_json::{Value, json};

use crate::in_process::Link;
use crate::quota::Resource;
use crate::server_state::ServerState;
use crate::settings::Settings;
use crate::tasks::task_log::{TaskLog, TaskLogError, TaskLogLimits, TaskRecord};
use crate::tasks::{TaskOptions, TaskTable};

/// Says that it runs long; then asks for folders, waits for ever, or gives what it was given.
struct Long;

impl Provider for Long {
    fn name(&self) -> &str {
        "long"
    }

    fn serve(&self, call: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome> {
        let (name, context) = (call.target.name().to_owned(), context.clone());
        let wish = call.call.head.arguments.as_ref().and_then(|it| it.get("ttl")?.read());
        Box::pin(async move {
            context.become_task(None, None, wish.map(Duration::from_millis));
            match &*name {
                "asks" => drop(
                    context.ask("roots", InputRequest::new(Method::RootsList, raw("{}"))).await,
                ),
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

fn server_state(settings: Settings) -> Arc<ServerState> {
    over(Gateway::builder(ServerInfo::new("tasks", "1")), settings)
}

fn over(builder: GatewayBuilder, settings: Settings) -> Arc<ServerState> {
    let gateway = builder.build();
    let tool = |name: &str, support: &str| {
        let (schema, execution) = (json!({"type": "object"}), json!({"taskSupport": support}));
        let definition = json!({"name": name, "inputSchema": schema, "execution": execution});
        Arc::new(ToolEntry::new(raw(&definition.to_string())).unwrap())
    };
    let tools = ["asks", "hangs", "ends", "denied_long"].map(|name| tool(name, "optional"));
    let plain = ["plain", "denied"].map(|name| tool(name, "forbidden"));
    let tools = tools.into_iter().chain(plain).collect();
    gateway.attach(Arc::new(Long)).publish(Listing { tools, ..Listing::default() });
    ServerState::new(gateway, settings)
}

/// What one principal is answered.
async fn ask(
    server_state: &Arc<ServerState>,
    principal: &str,
    method: &str,
    params: Value,
) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":
            {"roots": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut link = Link::open(server_state, principal);
    assert!(link.send(request.to_string()).await);
    serde_json::from_slice(&link.receive().await.unwrap()).unwrap()
}

async fn begin(server_state: &Arc<ServerState>, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    ask(server_state, "ada", "tools/call", params).await["result"].clone()
}

/// The status of a task, or the code of the error.
async fn status(server_state: &Arc<ServerState>, principal: &str, task: &Value) -> Value {
    let answer = ask(server_state, principal, "tasks/get", json!({"taskId": task})).await;
    answer.pointer("/result/status").or(answer.pointer("/error/code")).unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_task_is_its_principals_alone() {
    let server_state = server_state(Settings::default());
    for (tool, expected) in [("hangs", "working"), ("ends", "completed")] {
        let task = begin(&server_state, tool, json!({})).await["taskId"].clone();
        while status(&server_state, "ada", &task).await != expected {}
        // Where it is kept makes no difference: in memory first, then in the log.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(status(&server_state, "eve", &task).await, -32602);
        for method in ["tasks/cancel", "tasks/update"] {
            let params = json!({"taskId": task, "inputResponses": {}});
            let answer = ask(&server_state, "eve", method, params).await;
            assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        }
        assert_eq!(status(&server_state, "ada", &task).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_given_up_when_its_time_is_over() {
    let task_ttl_limit = Duration::from_secs(60);
    let server_state = server_state(Settings { task_ttl_limit, ..Settings::default() });
    for (wish, granted) in [(json!(10_000), 10_000), (json!(90_000), 60_000), (json!(null), 60_000)]
    {
        let created = begin(&server_state, "hangs", json!({"ttl": wish})).await;
        assert_eq!(created["ttlMs"], granted, "{created}");
        tokio::time::sleep(Duration::from_millis(granted - 1)).await;
        assert_eq!(server_state.task_table.count(), 1, "it is known for as long as was said");
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(server_state.task_table.count(), 0, "and not longer");
        assert_eq!(server_state.gateway.calls_in_flight(), 0, "its call is over");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_task_is_not_that_of_a_call() {
    let server_state = server_state(Settings::default());
    let task = begin(&server_state, "hangs", json!({})).await["taskId"].clone();
    // Thirty seconds are usual; an hour is a task's, and also how long it is known.
    tokio::time::sleep(Duration::from_secs(3500)).await;
    assert_eq!(status(&server_state, "ada", &task).await, "working");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_answers_does_not_keep_the_server_from_stopping() {
    let server_state =
        server_state(Settings { drain: Duration::from_secs(9), ..Settings::default() });
    let task = begin(&server_state, "asks", json!({})).await["taskId"].clone();
    while status(&server_state, "ada", &task).await != "input_required" {}
    let began = tokio::time::Instant::now();
    server_state.stop();
    server_state.drained(async {}).await;
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_waits_for_is_gone() {
    let server_state = server_state(Settings::default());
    let task = begin(&server_state, "asks", json!({})).await["taskId"].clone();
    while status(&server_state, "ada", &task).await != "input_required" {}
    // The middle waits ten minutes for an answer.
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(status(&server_state, "ada", &task).await, "completed");
}

/// Refuses and hides every tool whose name begins with `denied`.
struct Denying;

fn is_denied(target: &Target) -> bool {
    target.name().starts_with("denied")
}

impl CallFilter for Denying {
    fn check<'a>(&'a self, call: &'a Resolved, _: &'a CallContext) -> Decision<'a> {
        match is_denied(&call.target) {
            true => Decision::refused(CallError::new(ErrorKind::ToolNotFound, "no such tool")),
            false => Decision::GRANTED,
        }
    }
}

impl VisibilityFilter for Denying {
    fn view(&self, _: &Caller) -> Option<View> {
        Some(View { key: 1, is_secret: true, sees: Arc::new(|target| !is_denied(target)) })
    }
}

/// Notes the tool of every call that has ended, and whether it ended well.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>);

impl CallObserver for Noting {
    fn ended(&self, call: &CallSummary<'_>, end: &CallEnd<'_>) -> Recorded {
        let name = call.call.head.name.as_ref().and_then(RawJson::to_text).unwrap_or_default();
        let how = if end.outcome.is_ok() { "ran" } else { "refused" };
        self.0.lock().unwrap().push(format!("{name} {how}"));
        None
    }
}

/// Calls a tool as a client of 2025-11-25 that asks for a task. Gives what it is answered.
async fn ask_for_task(server_state: &Arc<ServerState>, tool: &str, task: Value) -> Value {
    let mut link = Link::open(server_state, "ada");
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let params = json!({"name": tool, "arguments": {}, "task": task});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    for message in [hello, call] {
        assert!(link.send(message.to_string()).await);
    }
    link.receive().await.unwrap();
    serde_json::from_slice(&link.receive().await.unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_call_that_is_refused_is_audited() {
    let cases = [
        ("denied", json!({}), "denied refused"),
        ("denied_long", json!({}), "denied_long refused"),
        ("plain", json!({}), "plain refused"),
        ("hangs", json!(7), "hangs refused"),
        ("missing", json!({}), "missing refused"),
        ("hangs", json!({}), ""),
    ];
    for (tool, task, expected) in cases {
        let noted = Noting::default();
        let builder = Gateway::builder(ServerInfo::new("tasks", "1"));
        let builder =
            builder.call_filter(Denying).visibility_filter(Denying).observer(noted.clone());
        let server_state = over(builder, Settings { tasks: 1, ..Settings::default() });
        let answer = ask_for_task(&server_state, tool, task.clone()).await;
        assert_eq!(answer["error"].is_null(), expected.is_empty(), "{tool}: {answer}");
        assert_eq!(noted.0.lock().unwrap().join(","), expected, "{tool} with {task}");
        if expected.is_empty() {
            let full = ask_for_task(&server_state, "ends", json!({})).await;
            assert_eq!(full["error"]["code"], -32010, "{full}");
            assert_eq!(noted.0.lock().unwrap().join(","), "ends refused");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_hidden_is_answered_like_one_that_is_not_there() {
    let builder = Gateway::builder(ServerInfo::new("tasks", "1"))
        .call_filter(Denying)
        .visibility_filter(Denying);
    let server_state = over(builder, Settings::default());
    let absent = ask_for_task(&server_state, "absent", json!({})).await.to_string();
    for tool in ["denied", "denied_long"] {
        let answer = ask_for_task(&server_state, tool, json!({})).await.to_string();
        assert_eq!(answer.replace(tool, "absent"), absent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_ends_with_the_credential_that_began_it() {
    let server_state = server_state(Settings::default());
    let lease = Arc::new(TokenLease::default());
    let caller = Caller { lease: Some(lease.clone()), ..Caller::new("ada") };
    let reservation =
        TaskTable::reserve(&server_state, &caller, 10, TaskOptions::default()).unwrap();
    reservation.persist().await.unwrap();
    let task = reservation.task().clone();
    let params = raw(r#"{"name":"hangs","arguments":{}}"#);
    let call = Call::new(Method::ToolsCall, params, Arc::new(caller));
    reservation.spawn(server_state.gateway.start(call));
    assert_eq!(status(&server_state, "ada", &json!(task.id)).await, "working");
    lease.end();
    while server_state.task_table.count() > 0 {
        tokio::task::yield_now().await;
    }
    let detail = server_state.task_table.find("ada", &task.id).await.unwrap().detail();
    assert!(detail.as_str().contains("was revoked or has expired"), "{detail}");
    tokio::task::yield_now().await;
    assert_eq!(server_state.gateway.calls_in_flight(), 0, "its call is over");
    assert_eq!(
        server_state.quota.used(Resource::Tasks) + server_state.quota.used(Resource::Held),
        0
    );
}

/// A log that notes by which limits it is told to keep tasks.
#[derive(Debug, Default)]
struct Limited(Mutex<Option<TaskLogLimits>>);

impl TaskLog for Limited {
    fn save(
        &self,
        _: TaskRecord,
        limits: TaskLogLimits,
    ) -> BoxFuture<'_, Result<(), TaskLogError>> {
        *self.0.lock().unwrap() = Some(limits);
        Box::pin(async { Ok(()) })
    }

    fn load<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, TaskLogError>> {
        Box::pin(async { Ok(None) })
    }

    fn remove_expired(&self, _: u64) -> BoxFuture<'_, Result<(), TaskLogError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_is_told_what_to_keep() {
    for (shared, per_principal) in [(false, 4000), (true, 1000)] {
        let server_state = server_state(Settings { task_store: 4000, ..Settings::default() });
        let log = Arc::new(Limited::default());
        server_state.set_task_log(log.clone());
        if shared {
            server_state.quota.share_among_principals();
        }
        begin(&server_state, "hangs", json!({})).await;
        let expected = TaskLogLimits { total: 4000, per_principal };
        assert_eq!(*log.0.lock().unwrap(), Some(expected), "shared: {shared}");
    }
}
