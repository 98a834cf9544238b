//! Reads responses: results and errors of every revision, in the newest form.

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{
    ClientCapabilities, Method, RawJson, ResultObject, Revision, RpcError, code, compat,
};
use gantry_transport::{LARGE, Offload, offload};

use crate::error::ClientError;
use crate::request::{Answer, InputRequired, Request};

/// Reads the response to a request. `task` is whether it may be a task of 2025-11-25.
pub(super) fn read(
    revision: Revision,
    request: &Request,
    task: bool,
    outcome: Result<RawJson, RawJson>,
) -> Offload<Result<Answer, ClientError>> {
    let (Ok(value) | Err(value)) = &outcome;
    match value.bytes().len() {
        ..=LARGE => Offload::Done(Some(read_now(revision, request, task, outcome))),
        large => {
            let request = request.clone();
            offload(large, move || read_now(revision, &request, task, outcome))
        }
    }
}

fn read_now(
    revision: Revision,
    request: &Request,
    task: bool,
    outcome: Result<RawJson, RawJson>,
) -> Result<Answer, ClientError> {
    match outcome {
        Ok(result) if !result.is_object() => {
            Err(ClientError::Malformed("the server's result is not an object".to_owned()))
        }
        Ok(result) if revision.is_stateless() => read_stateless(revision, request, result.into()),
        Ok(result) => Ok(read_legacy(revision, request, task, result)),
        Err(error) => read_error(revision, request, &error),
    }
}

fn read_stateless(
    revision: Revision,
    request: &Request,
    result: ResultObject,
) -> Result<Answer, ClientError> {
    let result = compat::lift(revision, &request.method, result);
    if result.is_complete() {
        return Ok(Answer::Complete(result));
    }
    let result = result.into_raw();
    let kind = result.get("resultType").and_then(|kind| kind.to_text());
    match kind.as_deref() {
        Some("complete") => Ok(Answer::Complete(result.into())),
        Some("task") => Ok(Answer::Task(result)),
        Some("input_required") if request.method.takes_input() => {
            let (entries, state) = (result.get("inputRequests"), result.get("requestState"));
            if entries.is_none() && state.is_none() {
                let text = "the server requires input without `inputRequests`".to_owned();
                return Err(ClientError::Malformed(text));
            }
            Ok(Answer::InputRequired(InputRequired { entries, state }))
        }
        _ => {
            let kind = kind.unwrap_or_else(|| "none".to_owned());
            Err(ClientError::Malformed(format!(
                "the server's result has the unknown type `{kind}`"
            )))
        }
    }
}

fn read_legacy(revision: Revision, request: &Request, task: bool, result: RawJson) -> Answer {
    let created = if task { result.get("task") } else { None };
    if let Some(created) = created.filter(RawJson::is_object) {
        let kind = RawJson::string("task");
        let flat = lift_task(&created).edit().set("resultType", kind).apply();
        return Answer::Task(flat.edit().set_some("_meta", result.get("_meta")).apply());
    }
    let lifted = compat::lift(revision, &request.method, result.into());
    match request.method.as_str() {
        "tasks/get" | "tasks/cancel" => Answer::Complete(lift_task(&lifted).into()),
        _ => Answer::Complete(lifted),
    }
}

/// A task of 2025-11-25 with the member names of the tasks extension.
fn lift_task(task: &RawJson) -> RawJson {
    let mut edit = task.edit();
    for (old, new) in [("ttl", "ttlMs"), ("pollInterval", "pollIntervalMs")] {
        edit = edit.remove(old).set_some(new, task.get(old));
    }
    edit.apply()
}

fn read_error(
    revision: Revision,
    request: &Request,
    error: &RawJson,
) -> Result<Answer, ClientError> {
    let error = rpc_error(error)?;
    match error.code {
        code::URL_ELICITATION_REQUIRED if revision == Revision::V2025_11_25 => {
            url_elicitations(request, error)
        }
        // For anything but a resource the code is the server's own.
        code::RESOURCE_NOT_FOUND
            if !revision.is_stateless() && request.method == Method::ResourcesRead =>
        {
            Err(ClientError::Answered(RpcError { code: code::INVALID_PARAMS, ..error }))
        }
        _ => Err(ClientError::Answered(error)),
    }
}

/// An error object.
pub(super) fn rpc_error(error: &RawJson) -> Result<RpcError, ClientError> {
    let code = error.get("code").and_then(|code| code.read());
    let code = code.ok_or_else(|| {
        ClientError::Malformed("the server answered with an error without a code".to_owned())
    })?;
    let message = error.get("message").and_then(|message| message.to_text()).unwrap_or_default();
    Ok(RpcError { code, message, data: error.get("data") })
}

/// The URL elicitations that must precede a retry of the call (error -32042 of 2025-11-25), as
/// input requests of the newest revision.
fn url_elicitations(request: &Request, error: RpcError) -> Result<Answer, ClientError> {
    let listed = error.data.as_ref().and_then(|data| data.get("elicitations"));
    let url_elicitations: Vec<_> =
        listed.iter().flat_map(RawJson::elements).filter(RawJson::is_object).collect();
    if url_elicitations.is_empty()
        || request.method != Method::ToolsCall && !request.method.takes_input()
    {
        return Err(ClientError::Answered(error));
    }
    if !ClientCapabilities::read(request.capabilities.clone()).elicitation_url {
        let needed = r#"{"requiredCapabilities":{"elicitation":{"url":{}}}}"#;
        let error = RpcError::new(code::MISSING_CLIENT_CAPABILITY, error.message);
        return Err(ClientError::Answered(error.with_data(RawJson::from_static(needed))));
    }
    let mut entries = ObjectWriter::new();
    for (index, visit) in url_elicitations.iter().enumerate() {
        let visit =
            visit.edit().remove("elicitationId").set("mode", RawJson::string("url")).apply();
        let input_request = ObjectWriter::new()
            .value("method", Method::Elicit.as_str())
            .raw("params", &visit)
            .finish();
        entries = entries.raw(&format!("visit-{}", index + 1), &input_request);
    }
    Ok(Answer::InputRequired(InputRequired { entries: Some(entries.finish()), state: None }))
}
