//! Requests about tasks. In 2025-11-25 a client asks for a task with its call, lists its session's
//! tasks, and waits for the result with `tasks/result`. In 2026-07-28 it polls with `tasks/get` and
//! sends input with `tasks/update`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use gantry_gateway::{
    Call, CallContext, CallError, CallStream, Caller, ErrorKind, InputRequestError, Outcome, Reply,
    TaskSupport,
};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{Method, RawJson, RpcError, code, compat};
use tokio::time::Instant;

use crate::request::RequestContext;
use crate::server_state::ServerState;
use crate::tasks::task::{Task, to_call_error};
use crate::tasks::{TaskLookup, TaskOptions, TaskReservation, TaskTable};

/// The tasks that one session has started.
#[derive(Debug, Default)]
pub(crate) struct SessionTasks(Mutex<Vec<(String, Instant)>>);

impl SessionTasks {
    /// Whether one of them runs.
    pub(crate) fn is_running(&self, tasks: &TaskTable) -> bool {
        self.known().iter().any(|(id, _)| tasks.is_running(id))
    }

    /// Whether this is one of them.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.known().iter().any(|(known, _)| known == id)
    }

    /// Adds one. Beyond the limit the oldest is no longer listed, but still found by its id.
    fn add(&self, task: &Task, limit: usize) {
        let mut known = self.known();
        if known.len() >= limit.max(1) {
            known.remove(0);
        }
        known.push((task.id.clone(), task.expires));
    }

    fn allowed_hosts(&self) -> Vec<String> {
        self.known().iter().map(|(id, _)| id.clone()).collect()
    }

    /// Those that have not expired, with the time when they do.
    fn known(&self) -> MutexGuard<'_, Vec<(String, Instant)>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, expires)| *expires > Instant::now());
        known
    }
}

/// Starts a call of a session: directly, as a task, or as a request about tasks.
pub(crate) fn start_session_call(
    server_state: &Arc<ServerState>,
    tasks: &Arc<SessionTasks>,
    request_context: &RequestContext,
    call: Call,
) -> CallStream {
    let wants_task = request_context.task.is_some();
    if !wants_task && call.method.is_call() {
        return server_state.gateway.start(call);
    }
    let request = SessionRequest {
        server_state: server_state.clone(),
        tasks: tasks.clone(),
        request_context: request_context.clone(),
    };
    match wants_task {
        true => match task_support(server_state, &call) {
            // The pipeline has the error for a tool that does not exist for this caller.
            None => server_state.gateway.start(Call { wants_task: true, ..call }),
            Some(support) => {
                let own = call.clone();
                server_state.gateway.start_local(&call, |_| request.create_task(support, own))
            }
        },
        false => server_state.gateway.start_local(&call, |context| request.handle(context)),
    }
}

/// The task support of the tool of a call; none if the caller sees no such tool.
fn task_support(server_state: &ServerState, call: &Call) -> Option<TaskSupport> {
    let name = call.head.name.as_ref().and_then(RawJson::to_text)?;
    Some(server_state.gateway.visible_tool(&name, &call.caller)?.task_support)
}

/// A request of a session.
struct SessionRequest {
    server_state: Arc<ServerState>,
    tasks: Arc<SessionTasks>,
    request_context: RequestContext,
}

impl SessionRequest {
    /// Starts a task, and returns without waiting for its call.
    async fn create_task(self, support: TaskSupport, mut call: Call) -> Outcome {
        let reservation = match self.reserve(support).await {
            Ok(reservation) => reservation,
            // Audited like a call that the pipeline refuses.
            Err(error) => return self.server_state.gateway.refuse(call, error).await,
        };
        let task = reservation.task().clone();
        self.tasks.add(&task, self.server_state.settings.tasks_listed);
        call.wants_progress = true;
        // In the newest form, a client that wants a task declares that it supports them.
        let caller = Caller::clone(&call.caller);
        let capabilities = caller.capabilities.with_tasks();
        call.caller = Arc::new(Caller { capabilities, ..caller });
        reservation.spawn(self.server_state.gateway.start(call));
        let created = compat::lower_task(&task.summary().finish());
        let created = ObjectWriter::new().raw("task", &created).finish();
        Ok(Reply::result(without_runs_long(&created)))
    }

    /// Reserves a task, and writes it to the log.
    async fn reserve(&self, support: TaskSupport) -> Result<TaskReservation, CallError> {
        if support == TaskSupport::Forbidden {
            return Err(CallError::no_task());
        }
        let RequestContext { task, caller, params, .. } = &self.request_context;
        let options = task.as_ref().map_or(Ok(TaskOptions::default()), read_options)?;
        let reservation =
            TaskTable::reserve(&self.server_state, caller, params.bytes().len(), options)?;
        reservation.persist().await.map_err(|error| {
            let text = "the task log cannot be written; call the tool without `task`";
            CallError::new(ErrorKind::Internal, text).with_private(error.to_string())
        })?;
        Ok(reservation)
    }

    async fn handle(self, context: CallContext) -> Outcome {
        if self.request_context.method == Method::TasksList {
            return self.list().await;
        }
        let found = self.find(&task_id(&self.request_context.params)?).await?;
        match self.request_context.method {
            Method::TasksResult => match found {
                TaskLookup::Running(task) => wait_for_outcome(&task, &context).await,
                TaskLookup::Ended(detail) => ended_outcome(&detail),
            },
            Method::TasksCancel => match &found {
                TaskLookup::Running(task) if task.cancel() => Ok(Reply::result(lowered(&found))),
                _ => Err(CallError::invalid_params("the task has ended and cannot be cancelled")),
            },
            _ => Ok(Reply::result(lowered(&found))),
        }
    }

    async fn list(&self) -> Outcome {
        if self.request_context.params.get("cursor").is_some() {
            return Err(CallError::invalid_params("`cursor` was not issued by this server"));
        }
        let mut tasks = Vec::new();
        for id in self.tasks.allowed_hosts() {
            if let Ok(found) = self.find(&id).await {
                tasks.push(lowered(&found));
            }
        }
        Ok(Reply::result(ObjectWriter::new().array("tasks", &tasks).finish()))
    }

    async fn find(&self, id: &str) -> Result<TaskLookup, CallError> {
        self.server_state.task_table.find(&self.request_context.caller.principal, id).await
    }
}

fn read_options(task: &RawJson) -> Result<TaskOptions, CallError> {
    if !task.is_object() {
        return Err(CallError::invalid_params("`task` must be an object"));
    }
    let ttl = task.get("ttl").filter(|ttl| !ttl.is_null());
    let ttl = ttl.map(|ttl| {
        let millis: Option<u64> = ttl.read();
        millis.ok_or_else(|| CallError::invalid_params("`task.ttl` must be whole milliseconds"))
    });
    Ok(TaskOptions { ttl: ttl.transpose()?.map(Duration::from_millis), ..TaskOptions::default() })
}

fn lowered(found: &TaskLookup) -> RawJson {
    let lowered = compat::lower_task(&found.detail());
    match found {
        TaskLookup::Running(task) if !task.runs_long() => without_runs_long(&lowered),
        _ => lowered,
    }
}

/// Marks a task whose provider has not said that the call runs long. In the newest revision it would
/// not be a task yet.
fn without_runs_long(result: &RawJson) -> RawJson {
    let mark = ObjectWriter::new().value(key::RUNS_LONG, &false).finish();
    result.edit().set(key::META, mark).apply()
}

/// Waits for the end of a task. Meanwhile its input requests are sent on this request's stream.
async fn wait_for_outcome(task: &Task, context: &CallContext) -> Outcome {
    let mut changes = task.changes();
    let mut sent = HashSet::new();
    let mut waiting = FuturesUnordered::new();
    loop {
        changes.borrow_and_update();
        if let Some(outcome) = task.outcome() {
            return outcome;
        }
        for (key, ask) in task.input_requests() {
            if sent.insert(key.clone()) {
                waiting.push(async move { (context.ask(&key, ask).await, key) });
            }
        }
        tokio::select! {
            // The sender lives as long as the task.
            _ = changes.changed() => {}
            Some((response, key)) = waiting.next() => match response {
                // This stream has no reader. The request stays open for the next `tasks/result`.
                Err(InputRequestError::Gone) => {}
                response => task.add_response(&key, response),
            },
        }
    }
}

/// The outcome in the record of a task that has ended.
fn ended_outcome(detail: &RawJson) -> Outcome {
    if let Some(result) = detail.get("result") {
        return Ok(Reply::result(result));
    }
    let Some(error) = detail.get("error") else {
        return Err(CallError::new(ErrorKind::Cancelled, "the task was cancelled"));
    };
    let number = error.get("code").and_then(|code| code.read());
    let message = error.get("message").and_then(|message| message.to_text()).unwrap_or_default();
    let read = RpcError::new(number.unwrap_or(code::INTERNAL_ERROR), message);
    Err(to_call_error(RpcError { data: error.get("data"), ..read }))
}

const ACKNOWLEDGED: RawJson = RawJson::from_static(r#"{"resultType":"complete"}"#);

/// Starts a request of a stateless client about a task.
pub(crate) fn start_task_request(
    server_state: &Arc<ServerState>,
    request_context: &RequestContext,
    call: &Call,
) -> CallStream {
    let (own, request_context) = (server_state.clone(), request_context.clone());
    server_state
        .gateway
        .start_local(call, move |_| async move { handle_stateless(&own, &request_context).await })
}

async fn handle_stateless(server_state: &ServerState, request_context: &RequestContext) -> Outcome {
    let id = task_id(&request_context.params)?;
    let responses = match request_context.method {
        Method::TasksUpdate => Some(responses(&request_context.params)?),
        _ => None,
    };
    let table = &server_state.task_table;
    let found = table.find(&request_context.caller.principal, &id).await?;
    let result = match (&request_context.method, &found) {
        (Method::TasksGet, _) => get_result(request_context, &found.detail()),
        (Method::TasksCancel, TaskLookup::Running(task)) => {
            task.cancel();
            ACKNOWLEDGED
        }
        (_, TaskLookup::Running(task)) => {
            if let Some(responses) = responses {
                task.add_responses(&responses)?;
                table.announce(task);
            }
            ACKNOWLEDGED
        }
        // A task that has ended needs neither input nor cancellation.
        (_, TaskLookup::Ended(_)) => ACKNOWLEDGED,
    };
    Ok(Reply::result(result))
}

/// The id of the task that a request is about.
fn task_id(params: &RawJson) -> Result<String, CallError> {
    let id = params.get("taskId").and_then(|id| id.to_text());
    id.ok_or_else(|| CallError::invalid_params("`taskId` must be a string"))
}

fn responses(params: &RawJson) -> Result<RawJson, CallError> {
    let responses = params.get("inputResponses").filter(RawJson::is_object);
    responses.ok_or_else(|| CallError::invalid_params("`inputResponses` must be an object"))
}

/// The result of `tasks/get`, with the content blocks that this client wants.
fn get_result(request_context: &RequestContext, detail: &RawJson) -> RawJson {
    let edit = detail.edit().set("resultType", RawJson::from_static("\"complete\""));
    match detail.get("result").filter(|_| request_context.json_content) {
        Some(result) => edit.set("result", compat::with_json_block(&result, &result)).apply(),
        None => edit.apply(),
    }
}
