//! `tasks/get`, `tasks/update` and `tasks/cancel` of clients without a handshake.

use std::sync::Arc;

use gantry_gateway::{Call, CallError, Outcome, Reply, Running};
use gantry_protocol::{Method, RawJson, wire};

use super::Found;
use crate::era::ticket::Ticket;
use crate::lobby::Lobby;

const ACKNOWLEDGED: RawJson = RawJson::from_static(r#"{"resultType":"complete"}"#);

/// Serves a request about a task.
pub(in crate::era) fn attend(lobby: &Arc<Lobby>, ticket: &Ticket, call: &Call) -> Running {
    let (own, ticket) = (lobby.clone(), ticket.clone());
    lobby.gateway.attend(call, move |_| async move { answer(&own, &ticket).await })
}

async fn answer(lobby: &Lobby, ticket: &Ticket) -> Outcome {
    let id = named(&ticket.params)?;
    let responses = match ticket.method {
        Method::TasksUpdate => Some(responses(&ticket.params)?),
        _ => None,
    };
    let book = &lobby.task_book;
    let found = book.find(&ticket.caller.principal, &id).await?;
    let result = match (&ticket.method, &found) {
        (Method::TasksGet, _) => shown(ticket, &found.detail()),
        (Method::TasksCancel, Found::Live(task)) => {
            task.cancel();
            ACKNOWLEDGED
        }
        (_, Found::Live(task)) => {
            if let Some(responses) = responses {
                task.answer_all(&responses)?;
                book.announce(task);
            }
            ACKNOWLEDGED
        }
        // What has ended needs neither answers nor an end.
        (_, Found::Kept(_)) => ACKNOWLEDGED,
    };
    Ok(Reply::result(result))
}

/// The name of the task that a request is about.
pub(super) fn named(params: &RawJson) -> Result<String, CallError> {
    let id = params.get("taskId").and_then(|id| id.to_text());
    id.ok_or_else(|| CallError::invalid_params("`taskId` must be a string"))
}

fn responses(params: &RawJson) -> Result<RawJson, CallError> {
    let responses = params.get("inputResponses").filter(RawJson::is_object);
    responses.ok_or_else(|| CallError::invalid_params("`inputResponses` must be an object"))
}

/// A task as the result of `tasks/get`, with the blocks that this client asked for.
fn shown(ticket: &Ticket, detail: &RawJson) -> RawJson {
    let edit = detail.edit().set("resultType", RawJson::from_static("\"complete\""));
    match detail.get("result").filter(|_| ticket.json_content) {
        Some(result) => edit.set("result", wire::with_json_block(&result, &result)).apply(),
        None => edit.apply(),
    }
}
