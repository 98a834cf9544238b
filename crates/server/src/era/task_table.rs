//! The tasks of all clients: those under way in memory, those that ended in the log.

mod stateful;
mod stateless;

pub(super) use stateful::{SessionTasks, start};
pub(super) use stateless::attend;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use gantry_gateway::{CallError, CallStream, Caller, ErrorKind};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{RawJson, code};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::task::{Task, Terms, drive, millis};
use crate::quota::{Permit, QuotaTable, Resource};
use crate::seal::random_name;
use crate::server_state::ServerState;
use crate::settings::Settings;
use crate::task_log::{MemoryLog, TaskLog, TaskLogError, TaskLogLimits};

/// Changes that a slow listener may be behind. One that is further behind misses some.
const BEHIND: usize = 256;
/// The length of a task's name.
const NAME: usize = 22;

/// The tasks of all clients.
#[derive(Debug)]
pub(crate) struct TaskTable {
    live: Mutex<HashMap<String, Arc<Task>>>,
    /// The log, and how many bytes of tasks it keeps.
    log: OnceLock<(Arc<dyn TaskLog>, usize)>,
    quota: Arc<QuotaTable>,
    /// What the log in memory keeps, and any other.
    memory: usize,
    store: usize,
    changes: broadcast::Sender<TaskChange>,
}

/// A task has changed. How it is now is for the listener to find out: what a task came to may be
/// large, and must not wait here for those who are slow.
#[derive(Debug, Clone)]
pub(super) struct TaskChange {
    pub(super) id: String,
    /// Whether it has ended. That is told once.
    ended: bool,
}

/// What a task's name leads to.
pub(super) enum Found {
    Live(Arc<Task>),
    /// Its last state, in the newest form.
    Kept(RawJson),
}

/// The next change. One who is too far behind has missed some, and asks for the rest.
pub(super) async fn next_change(changes: &mut broadcast::Receiver<TaskChange>) -> TaskChange {
    loop {
        match changes.recv().await {
            Ok(change) => return change,
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// What a client or provider wishes for a task.
#[derive(Debug, Clone, Default)]
pub(super) struct Wish {
    pub(super) message: Option<String>,
    pub(super) poll_interval: Option<Duration>,
    pub(super) ttl: Option<Duration>,
}

impl TaskTable {
    /// A book that remembers ended tasks in memory, unless it is given a better log.
    pub(crate) fn new(settings: &Settings, quota: Arc<QuotaTable>) -> Self {
        Self {
            live: Mutex::default(),
            log: OnceLock::new(),
            quota,
            memory: settings.task_memory,
            store: settings.task_store,
            changes: broadcast::Sender::new(BEHIND),
        }
    }

    /// Sets where tasks are written down. Only the first word counts.
    pub(crate) fn set_log(&self, log: Arc<dyn TaskLog>) {
        let _ = self.log.set((log, self.store));
    }

    pub(super) fn log(&self) -> &dyn TaskLog {
        &*self.kept().0
    }

    fn kept(&self) -> &(Arc<dyn TaskLog>, usize) {
        self.log.get_or_init(|| (Arc::new(MemoryLog::default()), self.memory))
    }

    /// Writes a task down, within what its principal may have written down.
    pub(super) async fn save(&self, task: &Task) -> Result<(), TaskLogError> {
        let (log, total) = self.kept();
        let limits = TaskLogLimits { total: *total, per_principal: self.quota.share_of(*total) };
        log.save(task.record(), limits).await
    }

    /// Takes a place for a task whose request has so many bytes. It is given back when the task
    /// ends, or unless it begins.
    pub(super) fn reserve(
        server_state: &Arc<ServerState>,
        caller: &Caller,
        request: usize,
        wish: Wish,
    ) -> Result<TaskReservation, CallError> {
        let account = server_state.quota.account(&caller.principal);
        let number = account.take(Resource::Tasks, 1)?;
        let bytes = account.take(Resource::Held, request)?;
        let task = Arc::new(Task::new(random_name(), caller, terms(&server_state.settings, wish)));
        server_state.task_table.live().insert(task.id.clone(), task.clone());
        let permits = Some(TaskPermits { _number: number, bytes });
        Ok(TaskReservation { server_state: server_state.clone(), task, permits })
    }

    /// Whether a task of that name runs.
    fn is_live(&self, id: &str) -> bool {
        self.live().contains_key(id)
    }

    /// Finds a task of this principal. Those of others are as unknown as those that never were.
    pub(super) async fn find(&self, principal: &str, id: &str) -> Result<Found, CallError> {
        if let Some(task) = self.live_task(principal, id) {
            return Ok(Found::Live(task));
        }
        let unknown = || CallError::invalid_params(format!("there is no task `{id}`, or no more"));
        // Most names that were never given out need no look into the log.
        if id.len() != NAME {
            return Err(unknown());
        }
        let record = self.log().load(id).await.map_err(|error| unreadable(&error))?;
        let record = record.filter(|record| record.expires >= millis(SystemTime::now()));
        let record = record.ok_or_else(unknown)?;
        let owner = record.text.get("principal").and_then(|owner| owner.to_text());
        match record.text.get("task").filter(|_| owner.as_deref() == Some(principal)) {
            // It may have begun or ended meanwhile.
            Some(task) => match self.live_task(principal, id) {
                Some(task) => Ok(Found::Live(task)),
                None => Ok(Found::Kept(settled(&task))),
            },
            None => Err(unknown()),
        }
    }

    /// A task of this principal that is under way.
    pub(super) fn live_task(&self, principal: &str, id: &str) -> Option<Arc<Task>> {
        self.live().get(id).filter(|task| *task.principal == *principal).cloned()
    }

    /// Hears of every change of every task.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<TaskChange> {
        self.changes.subscribe()
    }

    /// Tells whoever listens that a task has changed.
    pub(super) fn announce(&self, task: &Task) {
        let ended = task.outcome().is_some();
        // Nobody may be listening.
        let _ = self.changes.send(TaskChange { id: task.id.clone(), ended });
    }

    /// The changed task of this principal as it is now, in the newest form; none when it is gone,
    /// or when a later change says more.
    pub(super) async fn changed(&self, principal: &str, change: &TaskChange) -> Option<RawJson> {
        let detail = self.find(principal, &change.id).await.ok()?.detail();
        (is_under_way(&detail) != change.ended).then_some(detail)
    }

    /// Tasks under way.
    pub(crate) fn count(&self) -> usize {
        self.live().len()
    }

    pub(super) fn forget(&self, id: &str) {
        self.live().remove(id);
    }

    fn live(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the tasks, given back when dropped.
#[derive(Debug)]
pub(super) struct TaskReservation {
    server_state: Arc<ServerState>,
    task: Arc<Task>,
    /// Gone when the task has begun.
    permits: Option<TaskPermits>,
}

/// What a running task is counted with.
#[derive(Debug)]
pub(super) struct TaskPermits {
    _number: Permit,
    /// The bytes of its request and, until it is written down, of its result.
    pub(super) bytes: Permit,
}

impl TaskReservation {
    pub(super) fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Writes the task down, which must be done before its client hears of it. May be repeated.
    pub(super) async fn write_down(&self) -> Result<(), TaskLogError> {
        let log = self.server_state.task_table.log();
        log.remove_expired(millis(SystemTime::now())).await?;
        self.server_state.task_table.save(&self.task).await
    }

    /// Lets the call run by itself.
    pub(super) fn begin(mut self, running: CallStream) {
        if let Some(permits) = self.permits.take() {
            let driving = drive(self.server_state.clone(), self.task.clone(), running, permits);
            self.server_state.tasks.spawn(driving);
        }
    }
}

impl Drop for TaskReservation {
    fn drop(&mut self) {
        if self.permits.is_some() {
            self.server_state.task_table.forget(&self.task.id);
        }
    }
}

impl Found {
    /// Everything about it, in the newest form.
    pub(super) fn detail(&self) -> RawJson {
        match self {
            Self::Live(task) => task.detail(),
            Self::Kept(detail) => detail.clone(),
        }
    }
}

fn terms(settings: &Settings, wish: Wish) -> Terms {
    let least = Duration::from_millis(1);
    Terms {
        message: wish.message,
        poll_interval: wish.poll_interval.unwrap_or(settings.task_poll).max(least),
        ttl: wish.ttl.unwrap_or(settings.task_ttl).min(settings.task_ttl_limit).max(least),
    }
}

/// A task that is written down as under way but is not was lost with the program that ran it.
fn settled(task: &RawJson) -> RawJson {
    if !is_under_way(task) {
        return task.clone();
    }
    let text = "the gateway was restarted while this task was under way; its tool may have run, \
                so look before you call it again";
    let error =
        ObjectWriter::new().value("code", &code::INTERNAL_ERROR).value("message", text).finish();
    let lost = task.edit().set("status", RawJson::string("failed")).remove("inputRequests");
    lost.set("error", error).apply()
}

fn is_under_way(detail: &RawJson) -> bool {
    let status = detail.get("status");
    matches!(status.as_ref().and_then(RawJson::as_text), Some("working" | "input_required"))
}

fn unreadable(error: &TaskLogError) -> CallError {
    CallError::new(ErrorKind::Internal, "what is written of tasks cannot be read; try again later")
        .with_private(error.to_string())
}

#[cfg(test)]
mod tests;
