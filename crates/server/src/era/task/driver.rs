//! Runs a task's call to its end, with no client waiting.

use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::{CallEvent, CallNotification, CallStream, Outcome, Reply};
use gantry_protocol::{Method, Revision, RpcError, code, compat};

use super::{End, Task};
use crate::era::errors;
use crate::era::task_table::TaskPermits;
use crate::server_state::ServerState;

/// Between two tries to write down how a task ended.
const AGAIN: Duration = Duration::from_secs(5);

/// Runs a task until it ends, expires, or the server stops; then it is found in the log.
pub(in crate::era) async fn drive(
    server_state: Arc<ServerState>,
    task: Arc<Task>,
    running: CallStream,
    mut permits: TaskPermits,
) {
    let book = &server_state.task_table;
    tokio::select! {
        biased;
        () = task.revoked() => {
            let text = "the credential that began this task was revoked or has expired";
            task.finish(End::Error(RpcError::new(code::REFUSED, text)));
            book.announce(&task);
            // Once only: what it holds is needed by others, and nobody can ask for it any more.
            if let Err(error) = book.save(&task).await {
                tracing::warn!(%error, "the end of a task whose credential is over was not saved");
            }
        }
        () = run(&server_state, &task, running, &mut permits) => {
            book.announce(&task);
            keep(&server_state, &task).await;
        }
        () = tokio::time::sleep_until(task.until) => {
            let text = "the task ran longer than it may be known, and was given up";
            task.finish(End::Error(RpcError::new(code::TIMEOUT, text)));
            book.announce(&task);
        }
        () = stopped_waiting(&server_state, &task) => {}
    }
    book.forget(&task.id);
    drop(permits);
}

/// Ends when the server stops while the task waits for answers: they can no longer come.
async fn stopped_waiting(server_state: &ServerState, task: &Task) {
    server_state.stopping.cancelled().await;
    let mut changes = task.changes();
    while !task.is_asking() && changes.changed().await.is_ok() {}
}

async fn run(
    server_state: &ServerState,
    task: &Task,
    mut running: CallStream,
    permits: &mut TaskPermits,
) {
    running.run_by_itself();
    loop {
        let step = tokio::select! {
            biased;
            () = task.cancelled.cancelled() => return,
            step = running.next_event() => step,
        };
        match step {
            CallEvent::Notification(notification) => hear(server_state, task, notification),
            CallEvent::InputRequests(input_requests) => {
                task.ask(input_requests);
                server_state.task_table.announce(task);
            }
            CallEvent::Done(outcome) => {
                task.finish(end(outcome, server_state.settings.task_result, permits));
                return;
            }
        }
    }
}

/// Of what a call says, the last message for people is shown with its status.
fn hear(server_state: &ServerState, task: &Task, notification: CallNotification) {
    let message = match notification {
        CallNotification::Progress(params) => {
            params.get("message").and_then(|message| message.to_text())
        }
        CallNotification::Task { message, .. } => {
            task.run_long();
            message
        }
        CallNotification::Log(..) | CallNotification::HangUp { .. } => None,
    };
    if let Some(message) = message {
        task.say(message);
        server_state.task_table.announce(task);
    }
}

fn end(outcome: Outcome, limit: usize, permits: &mut TaskPermits) -> End {
    let internal = |text: String| End::Error(RpcError::new(code::INTERNAL_ERROR, text));
    let result = match outcome {
        Ok(Reply::Result(result)) => result.into_raw(),
        Ok(Reply::Page(page)) => page.result().clone(),
        Ok(Reply::InputRequired(_)) => {
            return internal("the provider asked for input in a way a task cannot take".to_owned());
        }
        Err(error) => return End::Error(errors::to_rpc(Revision::LATEST, error)),
    };
    let size = result.bytes().len();
    if size > limit {
        return internal(format!("the result has {size} bytes; a task may keep {limit}"));
    }
    if let Err(exceeded) = permits.bytes.grow(size) {
        return End::Error(exceeded.into());
    }
    End::Result(compat::lower_result(Revision::LATEST, &Method::ToolsCall, &result))
}

/// Writes down how a task ended. Until that is done it is kept in memory.
async fn keep(server_state: &ServerState, task: &Task) {
    let mut told = false;
    while let Err(error) = server_state.task_table.save(task).await {
        if !std::mem::replace(&mut told, true) {
            tracing::warn!(%error, "the end of a task is not written down yet; it is tried again");
        }
        tokio::select! {
            () = server_state.stopping.cancelled() => return,
            () = tokio::time::sleep_until(task.until) => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}
