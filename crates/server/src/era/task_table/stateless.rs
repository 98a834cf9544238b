//! `tasks/get`, `tasks/update` and `tasks/cancel` of clients without a handshake.

use std::sync::Arc;

use gantry_gateway::{Call, CallError, CallStream, Outcome, Reply};
use gantry_protocol::{Method, RawJson, compat};

use super::Found;
use crate::era::request_context::RequestContext;
use crate::server_state::ServerState;

const ACKNOWLEDGED: RawJson = RawJson::from_static(r#"{"resultType":"complete"}"#);

/// Serves a request about a task.
pub(in crate::era) fn attend(
    server_state: &Arc<ServerState>,
    request_context: &RequestContext,
    call: &Call,
) -> CallStream {
    let (own, request_context) = (server_state.clone(), request_context.clone());
    server_state
        .gateway
        .start_local(call, move |_| async move { answer(&own, &request_context).await })
}

async fn answer(server_state: &ServerState, request_context: &RequestContext) -> Outcome {
    let id = named(&request_context.params)?;
    let responses = match request_context.method {
        Method::TasksUpdate => Some(responses(&request_context.params)?),
        _ => None,
    };
    let book = &server_state.task_table;
    let found = book.find(&request_context.caller.principal, &id).await?;
    let result = match (&request_context.method, &found) {
        (Method::TasksGet, _) => shown(request_context, &found.detail()),
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
fn shown(request_context: &RequestContext, detail: &RawJson) -> RawJson {
    let edit = detail.edit().set("resultType", RawJson::from_static("\"complete\""));
    match detail.get("result").filter(|_| request_context.json_content) {
        Some(result) => edit.set("result", compat::with_json_block(&result, &result)).apply(),
        None => edit.apply(),
    }
}
