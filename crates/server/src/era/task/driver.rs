//! Runs a task's call to its end, with no client waiting.

use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::{Notice, Outcome, Reply, Running, Step};
use gantry_protocol::{Method, Revision, RpcError, code, wire};

use super::{End, Task};
use crate::era::errors;
use crate::era::task_book::TaskPermits;
use crate::lobby::Lobby;

/// Between two tries to write down how a task ended.
const AGAIN: Duration = Duration::from_secs(5);

/// Runs a task until it ends, expires, or the server stops; then it is found in the log.
pub(in crate::era) async fn drive(
    lobby: Arc<Lobby>,
    task: Arc<Task>,
    running: Running,
    mut permits: TaskPermits,
) {
    let book = &lobby.task_book;
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
        () = run(&lobby, &task, running, &mut permits) => {
            book.announce(&task);
            keep(&lobby, &task).await;
        }
        () = tokio::time::sleep_until(task.until) => {
            let text = "the task ran longer than it may be known, and was given up";
            task.finish(End::Error(RpcError::new(code::TIMEOUT, text)));
            book.announce(&task);
        }
        () = stopped_waiting(&lobby, &task) => {}
    }
    book.forget(&task.id);
    drop(permits);
}

/// Ends when the server stops while the task waits for answers: they can no longer come.
async fn stopped_waiting(lobby: &Lobby, task: &Task) {
    lobby.stopping.cancelled().await;
    let mut changes = task.changes();
    while !task.is_asking() && changes.changed().await.is_ok() {}
}

async fn run(lobby: &Lobby, task: &Task, mut running: Running, permits: &mut TaskPermits) {
    running.run_by_itself();
    loop {
        let step = tokio::select! {
            biased;
            () = task.cancelled.cancelled() => return,
            step = running.step() => step,
        };
        match step {
            Step::Notice(notice) => hear(lobby, task, notice),
            Step::Questions(questions) => {
                task.ask(questions);
                lobby.task_book.announce(task);
            }
            Step::Done(outcome) => {
                task.finish(end(outcome, lobby.settings.task_result, permits));
                return;
            }
        }
    }
}

/// Of what a call says, the last message for people is shown with its status.
fn hear(lobby: &Lobby, task: &Task, notice: Notice) {
    let message = match notice {
        Notice::Progress(params) => params.get("message").and_then(|message| message.to_text()),
        Notice::Task { message, .. } => {
            task.run_long();
            message
        }
        Notice::Log(..) | Notice::HangUp { .. } => None,
    };
    if let Some(message) = message {
        task.say(message);
        lobby.task_book.announce(task);
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
    End::Result(wire::lower_result(Revision::LATEST, &Method::ToolsCall, &result))
}

/// Writes down how a task ended. Until that is done it is kept in memory.
async fn keep(lobby: &Lobby, task: &Task) {
    let mut told = false;
    while let Err(error) = lobby.task_book.save(task).await {
        if !std::mem::replace(&mut told, true) {
            tracing::warn!(%error, "the end of a task is not written down yet; it is tried again");
        }
        tokio::select! {
            () = lobby.stopping.cancelled() => return,
            () = tokio::time::sleep_until(task.until) => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}
