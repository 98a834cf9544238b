//! The driver of a task: runs its call in the background to its end.

use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::{CallEvent, CallNotification, CallStream, Outcome, Reply};
use gantry_protocol::{Method, Revision, RpcError, code, compat};

use crate::error_codes;
use crate::server_state::ServerState;
use crate::tasks::TaskPermits;
use crate::tasks::task::{Task, TaskEnd};

/// The pause before a write to the task log is retried.
const SAVE_RETRY: Duration = Duration::from_secs(5);

/// Runs a task until it ends, expires, is revoked, or the server stops. From then on it is found in
/// the log.
pub(super) async fn run_task(
    server_state: Arc<ServerState>,
    task: Arc<Task>,
    stream: CallStream,
    mut permits: TaskPermits,
) {
    let table = &server_state.task_table;
    tokio::select! {
        biased;
        () = task.revoked() => {
            let text = "the token that started this task was revoked or has expired";
            task.finish(TaskEnd::Error(RpcError::new(code::REFUSED, text)));
            table.announce(&task);
            // Tried once only: its quota is needed by others, and no client can ask for it any more.
            if let Err(error) = table.save(&task).await {
                tracing::warn!(%error, "cannot write the end of a task with a revoked token to the task log");
            }
        }
        () = run_call(&server_state, &task, stream, &mut permits) => {
            table.announce(&task);
            save_end(&server_state, &task).await;
        }
        () = tokio::time::sleep_until(task.expires) => {
            let text = "the task ran longer than its time to live, and was cancelled";
            task.finish(TaskEnd::Error(RpcError::new(code::TIMEOUT, text)));
            table.announce(&task);
        }
        () = stopped_without_input(&server_state, &task) => {}
    }
    table.remove(&task.id);
    drop(permits);
}

/// Completes when the server stops while the task needs input: no client can send it any more.
async fn stopped_without_input(server_state: &ServerState, task: &Task) {
    server_state.stopping.cancelled().await;
    let mut changes = task.changes();
    while !task.needs_input() && changes.changed().await.is_ok() {}
}

async fn run_call(
    server_state: &ServerState,
    task: &Task,
    mut stream: CallStream,
    permits: &mut TaskPermits,
) {
    stream.run_by_itself();
    loop {
        let event = tokio::select! {
            biased;
            () = task.cancelled.cancelled() => return,
            event = stream.next_event() => event,
        };
        match event {
            CallEvent::Notification(notification) => {
                handle_notification(server_state, task, notification);
            }
            CallEvent::InputRequests(input_requests) => {
                task.add_input_requests(input_requests);
                server_state.task_table.announce(task);
            }
            CallEvent::Done(outcome) => {
                task.finish(end(outcome, server_state.settings.task_result, permits));
                return;
            }
        }
    }
}

/// The last message of progress is the status message of the task.
fn handle_notification(server_state: &ServerState, task: &Task, notification: CallNotification) {
    let message = match notification {
        CallNotification::Progress(params) => {
            params.get("message").and_then(|message| message.to_text())
        }
        CallNotification::Task { message, .. } => {
            task.set_runs_long();
            message
        }
        CallNotification::Log(..) | CallNotification::HangUp { .. } => None,
    };
    if let Some(message) = message {
        task.set_message(message);
        server_state.task_table.announce(task);
    }
}

fn end(outcome: Outcome, limit: usize, permits: &mut TaskPermits) -> TaskEnd {
    let internal = |text: String| TaskEnd::Error(RpcError::new(code::INTERNAL_ERROR, text));
    let result = match outcome {
        Ok(Reply::Result(result)) => result.into_raw(),
        Ok(Reply::Page(page)) => page.result().clone(),
        Ok(Reply::InputRequired(_)) => {
            return internal("the provider asked for input in a way a task cannot take".to_owned());
        }
        Err(error) => return TaskEnd::Error(error_codes::to_rpc(Revision::LATEST, error)),
    };
    let size = result.bytes().len();
    if size > limit {
        return internal(format!("the result has {size} bytes; a task may keep {limit}"));
    }
    if let Err(exceeded) = permits.bytes.grow(size) {
        return TaskEnd::Error(exceeded.into());
    }
    TaskEnd::Result(compat::lower_result(Revision::LATEST, &Method::ToolsCall, &result))
}

/// Writes the end of a task to the log. It stays in memory until that is done.
async fn save_end(server_state: &ServerState, task: &Task) {
    let mut is_logged = false;
    while let Err(error) = server_state.task_table.save(task).await {
        if !std::mem::replace(&mut is_logged, true) {
            tracing::warn!(%error, "cannot write the end of a task to the task log; retrying");
        }
        tokio::select! {
            () = server_state.stopping.cancelled() => return,
            () = tokio::time::sleep_until(task.expires) => return,
            () = tokio::time::sleep(SAVE_RETRY) => {}
        }
    }
}
