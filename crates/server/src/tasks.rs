//! Tasks: calls that run in the background and whose client polls for the result. Running tasks are
//! in the table in memory; those that have ended are in the task log. A record of a running task
//! that is not in the table was lost in a restart, and is reported as such.
//!
//! Clients of both eras see the same task, each in the form of its revision (`task_requests`).

pub(crate) mod task;
mod task_driver;
pub(crate) mod task_log;
pub(crate) mod task_requests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use gantry_gateway::{CallError, CallStream, Caller, ErrorKind};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{RawJson, code};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::quota::{Permit, QuotaTable, Resource};
use crate::seal::random_name;
use crate::server_state::ServerState;
use crate::settings::Settings;
use crate::tasks::task::{Task, TaskTerms, millis};
use crate::tasks::task_driver::run_task;
use crate::tasks::task_log::{MemoryLog, TaskLog, TaskLogError, TaskLogLimits};

/// Changes that a slow listen stream may be behind. One that is further behind misses some.
const CHANGES_QUEUED: usize = 256;
/// The length of a task id.
const ID_LENGTH: usize = 22;

/// The running tasks of all clients.
#[derive(Debug)]
pub(crate) struct TaskTable {
    running: Mutex<HashMap<String, Arc<Task>>>,
    /// The log, and its limit in bytes.
    log: OnceLock<(Arc<dyn TaskLog>, usize)>,
    quota: Arc<QuotaTable>,
    /// The limit of the log in memory, and of any other.
    memory_limit: usize,
    store_limit: usize,
    changes: broadcast::Sender<TaskChange>,
}

/// A task has changed. The receiver looks its state up: a result may be large, and must not be queued
/// for slow clients.
#[derive(Debug, Clone)]
pub(crate) struct TaskChange {
    pub(crate) id: String,
    /// Whether it has ended. That is announced once.
    ended: bool,
}

/// What a task id leads to.
pub(crate) enum TaskLookup {
    Running(Arc<Task>),
    /// Its last state, in the newest form.
    Ended(RawJson),
}

/// The next change. A receiver that is too far behind has missed some.
pub(crate) async fn next_change(changes: &mut broadcast::Receiver<TaskChange>) -> TaskChange {
    loop {
        match changes.recv().await {
            Ok(change) => return change,
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// The options of a task that a client or provider gives.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskOptions {
    pub(crate) message: Option<String>,
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) ttl: Option<Duration>,
}

impl TaskTable {
    /// An empty table. The task log is in memory unless another one is set.
    pub(crate) fn new(settings: &Settings, quota: Arc<QuotaTable>) -> Self {
        Self {
            running: Mutex::default(),
            log: OnceLock::new(),
            quota,
            memory_limit: settings.task_memory,
            store_limit: settings.task_store,
            changes: broadcast::Sender::new(CHANGES_QUEUED),
        }
    }

    /// Sets the task log, once.
    pub(crate) fn set_log(&self, log: Arc<dyn TaskLog>) {
        let _ = self.log.set((log, self.store_limit));
    }

    fn log(&self) -> &dyn TaskLog {
        &*self.log_with_limit().0
    }

    fn log_with_limit(&self) -> &(Arc<dyn TaskLog>, usize) {
        self.log.get_or_init(|| (Arc::new(MemoryLog::default()), self.memory_limit))
    }

    /// Writes a task to the log, within its principal's share.
    async fn save(&self, task: &Task) -> Result<(), TaskLogError> {
        let (log, total) = self.log_with_limit();
        let limits = TaskLogLimits { total: *total, per_principal: self.quota.share_of(*total) };
        log.save(task.record(), limits).await
    }

    /// Reserves a task for a request of so many bytes. Its quota is released when the task ends, or
    /// when the reservation is dropped.
    pub(crate) fn reserve(
        server_state: &Arc<ServerState>,
        caller: &Caller,
        request: usize,
        options: TaskOptions,
    ) -> Result<TaskReservation, CallError> {
        let account = server_state.quota.account(&caller.principal);
        let number = account.acquire(Resource::Tasks, 1)?;
        let bytes = account.acquire(Resource::Held, request)?;
        let task =
            Arc::new(Task::new(random_name(), caller, terms(&server_state.settings, options)));
        server_state.task_table.running().insert(task.id.clone(), task.clone());
        let permits = Some(TaskPermits { _number: number, bytes });
        Ok(TaskReservation { server_state: server_state.clone(), task, permits })
    }

    /// Whether a task with this id runs.
    fn is_running(&self, id: &str) -> bool {
        self.running().contains_key(id)
    }

    /// Finds a task of this principal. Any other principal gets the same error as for an id that
    /// never existed.
    pub(crate) async fn find(&self, principal: &str, id: &str) -> Result<TaskLookup, CallError> {
        if let Some(task) = self.running_task(principal, id) {
            return Ok(TaskLookup::Running(task));
        }
        let unknown =
            || CallError::invalid_params(format!("there is no task `{id}`, or it has expired"));
        // Most ids that were never issued need no read of the log.
        if id.len() != ID_LENGTH {
            return Err(unknown());
        }
        let record = self.log().load(id).await.map_err(|error| unreadable(&error))?;
        let record = record.filter(|record| record.expires >= millis(SystemTime::now()));
        let record = record.ok_or_else(unknown)?;
        let owner = record.text.get("principal").and_then(|owner| owner.to_text());
        match record.text.get("task").filter(|_| owner.as_deref() == Some(principal)) {
            // It may have started or ended meanwhile.
            Some(task) => match self.running_task(principal, id) {
                Some(task) => Ok(TaskLookup::Running(task)),
                None => Ok(TaskLookup::Ended(lost_if_running(&task))),
            },
            None => Err(unknown()),
        }
    }

    /// A running task of this principal.
    pub(crate) fn running_task(&self, principal: &str, id: &str) -> Option<Arc<Task>> {
        self.running().get(id).filter(|task| *task.principal == *principal).cloned()
    }

    /// Subscribes to every change of every task.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<TaskChange> {
        self.changes.subscribe()
    }

    /// Announces that a task has changed.
    pub(crate) fn announce(&self, task: &Task) {
        let ended = task.outcome().is_some();
        // There may be no receiver.
        let _ = self.changes.send(TaskChange { id: task.id.clone(), ended });
    }

    /// The state of a changed task of this principal, in the newest form; none if it is gone, or if a
    /// later change follows.
    pub(crate) async fn changed(&self, principal: &str, change: &TaskChange) -> Option<RawJson> {
        let detail = self.find(principal, &change.id).await.ok()?.detail();
        (is_running(&detail) != change.ended).then_some(detail)
    }

    /// The number of running tasks.
    pub(crate) fn count(&self) -> usize {
        self.running().len()
    }

    fn remove(&self, id: &str) {
        self.running().remove(id);
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that is not started yet, removed from the table when dropped.
#[derive(Debug)]
pub(crate) struct TaskReservation {
    server_state: Arc<ServerState>,
    task: Arc<Task>,
    /// None when the task was started.
    permits: Option<TaskPermits>,
}

/// The quota of a running task.
#[derive(Debug)]
pub(crate) struct TaskPermits {
    _number: Permit,
    /// The bytes of its request and, until it is in the log, of its result.
    bytes: Permit,
}

impl TaskReservation {
    pub(crate) fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Writes the task to the log, which must be done before its client is sent its id. May be
    /// repeated.
    pub(crate) async fn persist(&self) -> Result<(), TaskLogError> {
        let log = self.server_state.task_table.log();
        log.remove_expired(millis(SystemTime::now())).await?;
        self.server_state.task_table.save(&self.task).await
    }

    /// Spawns the task.
    pub(crate) fn spawn(mut self, stream: CallStream) {
        if let Some(permits) = self.permits.take() {
            let running = run_task(self.server_state.clone(), self.task.clone(), stream, permits);
            self.server_state.tasks.spawn(running);
        }
    }
}

impl Drop for TaskReservation {
    fn drop(&mut self) {
        if self.permits.is_some() {
            self.server_state.task_table.remove(&self.task.id);
        }
    }
}

impl TaskLookup {
    /// The full state of the task, in the newest form.
    pub(crate) fn detail(&self) -> RawJson {
        match self {
            Self::Running(task) => task.detail(),
            Self::Ended(detail) => detail.clone(),
        }
    }
}

fn terms(settings: &Settings, options: TaskOptions) -> TaskTerms {
    let least = Duration::from_millis(1);
    TaskTerms {
        message: options.message,
        poll_interval: options.poll_interval.unwrap_or(settings.task_poll).max(least),
        ttl: options.ttl.unwrap_or(settings.task_ttl).min(settings.task_ttl_limit).max(least),
    }
}

/// The state of a task that is not in the table. One that is running in the log was lost with the
/// process that ran it.
fn lost_if_running(task: &RawJson) -> RawJson {
    if !is_running(task) {
        return task.clone();
    }
    let text = "the gateway was restarted while this task was running; its tool may have run, so \
                check before you call it again";
    let error =
        ObjectWriter::new().value("code", &code::INTERNAL_ERROR).value("message", text).finish();
    let lost = task.edit().set("status", RawJson::string("failed")).remove("inputRequests");
    lost.set("error", error).apply()
}

fn is_running(detail: &RawJson) -> bool {
    let status = detail.get("status");
    matches!(status.as_ref().and_then(RawJson::as_text), Some("working" | "input_required"))
}

fn unreadable(error: &TaskLogError) -> CallError {
    CallError::new(ErrorKind::Internal, "the task log cannot be read; retry later")
        .with_private(error.to_string())
}

#[cfg(test)]
mod tests;
