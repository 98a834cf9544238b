//! Questions of a server with handshake: asking whoever can answer, and telling the server.

use bytes::Bytes;
use gantry_protocol::meta::key;
use gantry_protocol::{Method, RawJson, Revision, RpcError, code, compat, jsonrpc};

use super::mailbox::ServerRequest;
use crate::request_handler::{InputRefusal, InputRequest};

/// The code for a user who refuses that a model is asked; the one that all revisions show.
const REJECTED: i64 = -1;

/// A server's request as a question in the newest form.
pub(super) fn input_request(revision: Revision, asked: &ServerRequest) -> InputRequest {
    let params = compat::lift_input_request(revision, &asked.method, asked.params.as_ref());
    let (params, key) = match params {
        Some(params) => take_hint(params),
        None => (None, None),
    };
    InputRequest { method: asked.method.clone(), params, key }
}

fn take_hint(params: RawJson) -> (Option<RawJson>, Option<String>) {
    let Some(meta) = params.get(key::META) else { return (Some(params), None) };
    let Some(hint) = meta.get(key::QUESTION) else { return (Some(params), None) };
    let meta = meta.edit().remove(key::QUESTION).apply();
    let rest = match meta.members().next() {
        Some(_) => params.edit().set(key::META, meta).apply(),
        None => params.edit().remove(key::META).apply(),
    };
    (Some(rest), hint.to_text())
}

/// The response to a server's request.
pub(super) fn reply(
    revision: Revision,
    asked: &ServerRequest,
    answer: Result<RawJson, InputRefusal>,
) -> Bytes {
    let result = match answer {
        Ok(answer) => Ok(compat::lower_answer(revision, &asked.method, &answer)),
        Err(refusal) => refused(&asked.method, &refusal),
    };
    match result {
        Ok(result) => jsonrpc::result(&asked.id, &result).into_bytes(),
        Err(error) => jsonrpc::error(&asked.id, &error).into_bytes(),
    }
}

/// How each kind of question says that it has no answer.
fn refused(method: &Method, refusal: &InputRefusal) -> Result<RawJson, RpcError> {
    let unsupported = matches!(refusal, InputRefusal::Unsupported(_));
    let code = match (method, unsupported) {
        (Method::Elicit, false) => return Ok(RawJson::from_static(r#"{"action":"cancel"}"#)),
        (Method::Elicit, true) => code::INVALID_PARAMS,
        (Method::CreateMessage, false) => REJECTED,
        (_, true) => code::METHOD_NOT_FOUND,
        (_, false) => code::INTERNAL_ERROR,
    };
    Err(RpcError::new(code, refusal.to_string()))
}
