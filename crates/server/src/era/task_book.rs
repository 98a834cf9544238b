//! The tasks of all clients: those under way in memory, those that ended in the log.

mod stateful;
mod stateless;

pub(super) use stateful::{SessionTasks, start};
pub(super) use stateless::attend;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use gantry_gateway::{CallError, ErrorKind, Running};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{RawJson, code};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::task::{Task, Terms, drive, millis};
use crate::lobby::Lobby;
use crate::seal::random_name;
use crate::settings::Settings;
use crate::task_log::{MemoryLog, TaskLog, TaskLogError};

/// Changes that a slow listener may be behind. One that is further behind misses some.
const BEHIND: usize = 256;
/// The length of a task's name.
const NAME: usize = 22;

/// The tasks of all clients.
#[derive(Debug)]
pub(crate) struct TaskBook {
    live: Mutex<HashMap<String, Arc<Task>>>,
    log: OnceLock<Arc<dyn TaskLog>>,
    memory: usize,
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

impl TaskBook {
    /// A book that remembers ended tasks in memory, unless it is given a better log.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            live: Mutex::default(),
            log: OnceLock::new(),
            memory: settings.task_memory,
            changes: broadcast::Sender::new(BEHIND),
        }
    }

    /// Sets where tasks are written down. Only the first word counts.
    pub(crate) fn set_log(&self, log: Arc<dyn TaskLog>) {
        let _ = self.log.set(log);
    }

    pub(super) fn log(&self) -> &dyn TaskLog {
        &**self.log.get_or_init(|| Arc::new(MemoryLog::new(self.memory)))
    }

    /// Takes a place for a task. It is given back unless the task begins.
    pub(super) fn admit(
        lobby: &Arc<Lobby>,
        principal: &Arc<str>,
        wish: Wish,
    ) -> Result<Admission, CallError> {
        let settings = &lobby.settings;
        let mut live = lobby.task_book.live();
        let of_principal = live.values().filter(|task| task.principal == *principal).count();
        if live.len() >= settings.tasks || of_principal >= settings.tasks_of_principal {
            let kind = ErrorKind::LimitExceeded { retry_after: None };
            let text = "too many tasks are under way; wait for one to end, or cancel it";
            return Err(CallError::new(kind, text));
        }
        let task = Arc::new(Task::new(random_name(), principal.clone(), terms(settings, wish)));
        live.insert(task.id.clone(), task.clone());
        drop(live);
        Ok(Admission { lobby: lobby.clone(), task, begun: false })
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
pub(super) struct Admission {
    lobby: Arc<Lobby>,
    task: Arc<Task>,
    begun: bool,
}

impl Admission {
    pub(super) fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Writes the task down, which must be done before its client hears of it. May be repeated.
    pub(super) async fn write_down(&self) -> Result<(), TaskLogError> {
        let log = self.lobby.task_book.log();
        log.remove_expired(millis(SystemTime::now())).await?;
        log.save(self.task.record()).await
    }

    /// Lets the call run by itself.
    pub(super) fn begin(mut self, running: Running) {
        self.begun = true;
        let driving = drive(self.lobby.clone(), self.task.clone(), running);
        self.lobby.tasks.spawn(driving);
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if !self.begun {
            self.lobby.task_book.forget(&self.task.id);
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
