//! Tasks of 2025-11-25: a client asks for one, follows it, and fetches what it came to.

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

use super::stateless::named;
use super::{Found, TaskReservation, TaskTable, Wish};
use crate::era::request_context::RequestContext;
use crate::era::task::{Task, failed};
use crate::server_state::ServerState;

/// The tasks that one session has begun.
#[derive(Debug, Default)]
pub(crate) struct SessionTasks(Mutex<Vec<(String, Instant)>>);

impl SessionTasks {
    /// Whether one of them runs.
    pub(in crate::era) fn is_running(&self, tasks: &TaskTable) -> bool {
        self.known().iter().any(|(id, _)| tasks.is_live(id))
    }

    /// Whether this is one of them.
    pub(in crate::era) fn contains(&self, id: &str) -> bool {
        self.known().iter().any(|(known, _)| known == id)
    }

    /// Adds one. Beyond the limit the oldest is no longer listed, but still found by its name.
    fn add(&self, task: &Task, limit: usize) {
        let mut known = self.known();
        if known.len() >= limit.max(1) {
            known.remove(0);
        }
        known.push((task.id.clone(), task.until));
    }

    fn names(&self) -> Vec<String> {
        self.known().iter().map(|(id, _)| id.clone()).collect()
    }

    /// Those that have not expired.
    fn known(&self) -> MutexGuard<'_, Vec<(String, Instant)>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, until)| *until > Instant::now());
        known
    }
}

/// Starts a call of a session, or what it wants of a task.
pub(crate) fn start(
    server_state: &Arc<ServerState>,
    tasks: &Arc<SessionTasks>,
    request_context: &RequestContext,
    call: Call,
) -> CallStream {
    let asks_for_task = request_context.task.is_some();
    if !asks_for_task && call.method.is_call() {
        return server_state.gateway.start(call);
    }
    let request = Request {
        server_state: server_state.clone(),
        tasks: tasks.clone(),
        request_context: request_context.clone(),
    };
    match asks_for_task {
        true => match support(server_state, &call) {
            // The pipeline says best what is wrong with a tool that is not there for this caller.
            None => server_state.gateway.start(Call { wants_task: true, ..call }),
            Some(support) => {
                let own = call.clone();
                server_state.gateway.start_local(&call, |_| request.create(support, own))
            }
        },
        false => server_state.gateway.start_local(&call, |context| request.answer(context)),
    }
}

/// Whether the tool of a call runs as a task; none if there is no tool that this caller sees.
fn support(server_state: &ServerState, call: &Call) -> Option<TaskSupport> {
    let name = call.head.name.as_ref().and_then(RawJson::to_text)?;
    Some(server_state.gateway.visible_tool(&name, &call.caller)?.task_support)
}

/// One request, with all that answering it takes.
struct Request {
    server_state: Arc<ServerState>,
    tasks: Arc<SessionTasks>,
    request_context: RequestContext,
}

impl Request {
    /// Begins a task. What becomes of its call is not waited for.
    async fn create(self, support: TaskSupport, mut call: Call) -> Outcome {
        let reservation = match self.reserve(support).await {
            Ok(reservation) => reservation,
            // A call that is refused here is audited like one that is refused later.
            Err(error) => return self.server_state.gateway.refuse(call, error).await,
        };
        let task = reservation.task().clone();
        self.tasks.add(&task, self.server_state.settings.tasks_listed);
        call.wants_progress = true;
        // In the newest form who asks for a task is who declares that it takes them.
        let caller = Caller::clone(&call.caller);
        let capabilities = caller.capabilities.with_tasks();
        call.caller = Arc::new(Caller { capabilities, ..caller });
        reservation.begin(self.server_state.gateway.start(call));
        let created = compat::lower_task(&task.brief().finish());
        let created = ObjectWriter::new().raw("task", &created).finish();
        Ok(Reply::result(marked(&created)))
    }

    /// Takes a place for a task, and writes it down.
    async fn reserve(&self, support: TaskSupport) -> Result<TaskReservation, CallError> {
        if support == TaskSupport::Forbidden {
            return Err(CallError::no_task());
        }
        let RequestContext { task, caller, params, .. } = &self.request_context;
        let wish = task.as_ref().map_or(Ok(Wish::default()), read_wish)?;
        let reservation =
            TaskTable::reserve(&self.server_state, caller, params.bytes().len(), wish)?;
        reservation.write_down().await.map_err(|error| {
            let text = "the task cannot be written down; call the tool without `task`";
            CallError::new(ErrorKind::Internal, text).with_private(error.to_string())
        })?;
        Ok(reservation)
    }

    async fn answer(self, context: CallContext) -> Outcome {
        if self.request_context.method == Method::TasksList {
            return self.list().await;
        }
        let found = self.find(&named(&self.request_context.params)?).await?;
        match self.request_context.method {
            Method::TasksResult => match found {
                Found::Live(task) => follow(&task, &context).await,
                Found::Kept(detail) => outcome(&detail),
            },
            Method::TasksCancel => match &found {
                Found::Live(task) if task.cancel() => Ok(Reply::result(lowered(&found))),
                _ => Err(CallError::invalid_params("the task has ended and cannot be cancelled")),
            },
            _ => Ok(Reply::result(lowered(&found))),
        }
    }

    async fn list(&self) -> Outcome {
        if self.request_context.params.get("cursor").is_some() {
            return Err(CallError::invalid_params("`cursor` is not one that this server gave"));
        }
        let mut tasks = Vec::new();
        for id in self.tasks.names() {
            if let Ok(found) = self.find(&id).await {
                tasks.push(lowered(&found));
            }
        }
        Ok(Reply::result(ObjectWriter::new().array("tasks", &tasks).finish()))
    }

    async fn find(&self, id: &str) -> Result<Found, CallError> {
        self.server_state.task_table.find(&self.request_context.caller.principal, id).await
    }
}

fn read_wish(task: &RawJson) -> Result<Wish, CallError> {
    if !task.is_object() {
        return Err(CallError::invalid_params("`task` must be an object"));
    }
    let ttl = task.get("ttl").filter(|ttl| !ttl.is_null());
    let ttl = ttl.map(|ttl| {
        let millis: Option<u64> = ttl.read();
        millis.ok_or_else(|| CallError::invalid_params("`task.ttl` must be whole milliseconds"))
    });
    Ok(Wish { ttl: ttl.transpose()?.map(Duration::from_millis), ..Wish::default() })
}

fn lowered(found: &Found) -> RawJson {
    let lowered = compat::lower_task(&found.detail());
    match found {
        Found::Live(task) if !task.runs_long() => marked(&lowered),
        _ => lowered,
    }
}

/// Says that the call behind a task has not said that it runs long. In the newest revision it would
/// not be a task yet.
fn marked(result: &RawJson) -> RawJson {
    let mark = ObjectWriter::new().value(key::RUNS_LONG, &false).finish();
    result.edit().set(key::META, mark).apply()
}

/// Waits for the end of a task. Meanwhile what its call asks is asked on this request's stream.
async fn follow(task: &Task, context: &CallContext) -> Outcome {
    let mut changes = task.changes();
    let mut asked = HashSet::new();
    let mut asking = FuturesUnordered::new();
    loop {
        changes.borrow_and_update();
        if let Some(outcome) = task.outcome() {
            return outcome;
        }
        for (key, ask) in task.input_requests() {
            if asked.insert(key.clone()) {
                asking.push(async move { (context.ask(&key, ask).await, key) });
            }
        }
        tokio::select! {
            // It lives as long as the task does.
            _ = changes.changed() => {}
            Some((answer, key)) = asking.next() => match answer {
                // Nobody listens here. The question stays open for who follows the task next.
                Err(InputRequestError::Gone) => {}
                answer => task.answer(&key, answer),
            },
        }
    }
}

/// What a task came to that is no longer under way.
fn outcome(detail: &RawJson) -> Outcome {
    if let Some(result) = detail.get("result") {
        return Ok(Reply::result(result));
    }
    let Some(error) = detail.get("error") else {
        return Err(CallError::new(ErrorKind::Cancelled, "the task was cancelled"));
    };
    let number = error.get("code").and_then(|code| code.read());
    let message = error.get("message").and_then(|message| message.to_text()).unwrap_or_default();
    let read = RpcError::new(number.unwrap_or(code::INTERNAL_ERROR), message);
    Err(failed(RpcError { data: error.get("data"), ..read }))
}
