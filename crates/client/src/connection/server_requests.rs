//! Requests of a legacy server (elicitation, sampling, roots) while it works on a call: each is
//! attributed to a call, passed to its handler as an `InputRequest` in the newest form, and
//! answered. When the call ends first, the server gets a refusal.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Method, RawJson, Revision, RpcError, code, compat, jsonrpc};
use tokio::time::timeout;

use super::connection_inner::ConnectionInner;
use super::pending_requests::{PendingRequest, ServerRequest};
use crate::error::ClientError;
use crate::request_handler::{InputRefusal, InputRequest, RequestHandler};

pub(super) struct OpenInputRequests<'a> {
    inner: &'a ConnectionInner,
    handler: &'a dyn RequestHandler,
    open: HashMap<Id, OpenInputRequest>,
    /// Created with the first request: most calls have none.
    answering: Option<FuturesUnordered<Abortable<BoxFuture<'a, Id>>>>,
}

/// An input request until its response has been sent.
struct OpenInputRequest {
    request: ServerRequest,
    handle: AbortHandle,
    /// The response, once it is being sent.
    answer: Arc<OnceLock<Bytes>>,
}

impl<'a> OpenInputRequests<'a> {
    pub(super) fn new(inner: &'a ConnectionInner, handler: &'a dyn RequestHandler) -> Self {
        Self { inner, handler, open: HashMap::new(), answering: None }
    }

    /// Whether no input request is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Starts to answer a server request.
    pub(super) fn ask(&mut self, request: ServerRequest) {
        let (handle, registration) = AbortHandle::new_pair();
        let open = OpenInputRequest { request, handle, answer: Arc::default() };
        let (id, request, answer) =
            (open.request.id.clone(), open.request.clone(), open.answer.clone());
        self.open.insert(id, open);
        let answering: BoxFuture<'a, Id> =
            Box::pin(respond(self.inner, self.handler, request, answer));
        let all = self.answering.get_or_insert_default();
        all.push(Abortable::new(answering, registration));
    }

    /// The server cancelled the request.
    pub(super) fn cancel(&mut self, id: &Id) {
        if let Some(open) = self.open.remove(id) {
            open.handle.abort();
        }
    }

    /// Waits until an input request is answered; for ever while none is open.
    pub(super) async fn next_finished(&mut self) {
        let Some(answering) = &mut self.answering else { return pending().await };
        match answering.next().await {
            Some(Ok(id)) => drop(self.open.remove(&id)),
            // It was cancelled.
            Some(Err(_)) => {}
            None => pending().await,
        }
    }

    /// Waits for responses that are being sent, and not for handlers.
    pub(super) async fn flush_responses(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let within = self.inner.settings.grace;
        let arrived = async {
            while self.open.values().any(|open| open.answer.get().is_some()) {
                self.next_finished().await;
            }
        };
        let _ = Box::pin(timeout(within, arrived)).await;
    }
}

/// Asks the handler and sends the response.
async fn respond(
    inner: &ConnectionInner,
    handler: &dyn RequestHandler,
    request: ServerRequest,
    answer: Arc<OnceLock<Bytes>>,
) -> Id {
    let revision = inner.revision().unwrap_or(Revision::LATEST_WITH_HANDSHAKE);
    let given = handler.ask(lift_request(revision, &request)).await;
    let sent = inner.say(answer.get_or_init(|| response(revision, &request, given)).clone());
    // The timeouts of the call are paused until this is done, so it has a timeout of its own.
    let within = inner.settings.silence;
    let sent = timeout(within, sent).await.unwrap_or(Err(ClientError::Timeout(within)));
    if let Err(error) = sent {
        tracing::debug!(%error, method = %request.method, "an answer did not reach the server");
    }
    request.id
}

impl Drop for OpenInputRequests<'_> {
    fn drop(&mut self) {
        let revision = self.inner.revision().unwrap_or(Revision::LATEST_WITH_HANDSHAKE);
        for OpenInputRequest { request, answer, .. } in self.open.values() {
            match answer.get() {
                // It may have arrived over HTTP already; a duplicate response does less harm than
                // none.
                Some(answer) => self.inner.tell(answer.clone()),
                None => {
                    let closed_error = InputRefusal::Gone("the call has ended".to_owned());
                    self.inner.tell(response(revision, request, Err(closed_error)));
                }
            }
        }
    }
}

/// The call that a server request belongs to, or the response if there is none. Over HTTP it came
/// on the stream of its call; over a pipe nothing names the call. It is the call of the related
/// task, or the only candidate, or, if one client made all of them, the one whose tool is known to
/// send requests, else the latest. In any other case the request is refused and those tools run one
/// at a time from now on: to ask the wrong user is worse than to fail.
pub(super) fn attribute(
    inner: &ConnectionInner,
    request: &ServerRequest,
) -> Result<Arc<PendingRequest>, Bytes> {
    let candidates = inner.pending_requests.candidates();
    match choose(inner, request, &candidates) {
        Some(call) => {
            inner.pending_requests.record_requester(&call.info);
            Ok(call)
        }
        None if candidates.is_empty() => Err(reply_outside_call(inner, request)),
        None => {
            inner.pending_requests.run_exclusively(&candidates);
            let text = format!(
                "the request cannot be attributed to one of the {} calls in flight; their tools run one at a time from now on, so call again",
                candidates.len()
            );
            Err(refuse(request, code::INTERNAL_ERROR, &text))
        }
    }
}

fn choose(
    inner: &ConnectionInner,
    request: &ServerRequest,
    candidates: &[Arc<PendingRequest>],
) -> Option<Arc<PendingRequest>> {
    let task = request
        .params
        .as_ref()
        .and_then(|params| params.at(&[key::META, key::RELATED_TASK, "taskId"])?.to_text());
    if task.is_some() {
        let of_task =
            |call: &&Arc<PendingRequest>| call.info.is_task_result() && call.info.name == task;
        return candidates.iter().rfind(of_task).cloned();
    }
    if let [only] = candidates {
        return Some(only.clone());
    }
    // What follows is a guess. A wrong guess between two users would show one of them a request of
    // the other's call, and continue that call with the wrong input.
    let latest = candidates.last()?;
    let identity = &latest.info.identity;
    if identity.is_empty() || !candidates.iter().all(|it| it.info.identity == *identity) {
        return None;
    }
    let mut requesters =
        candidates.iter().filter(|call| inner.pending_requests.is_requester(&call.info));
    match (requesters.next(), requesters.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => Some(latest.clone()),
    }
}

/// The response to a request outside of any call.
fn reply_outside_call(inner: &ConnectionInner, request: &ServerRequest) -> Bytes {
    match (&request.method, &inner.settings.roots) {
        (Method::RootsList, Some(roots)) => jsonrpc::result(&request.id, roots).into_bytes(),
        (Method::RootsList, None) => {
            refuse(request, code::METHOD_NOT_FOUND, "there are no roots outside of a call")
        }
        _ => refuse(
            request,
            code::INVALID_REQUEST,
            "there is no client to ask outside of a call; send the request during one",
        ),
    }
}

fn refuse(request: &ServerRequest, code: i64, text: &str) -> Bytes {
    jsonrpc::error(&request.id, &RpcError::new(code, text)).into_bytes()
}

/// The error code for a user who rejects a sampling request; the one in the examples of all
/// revisions.
const REJECTED: i64 = -1;

/// Lifts a server request to an input request of the newest form.
pub(super) fn lift_request(revision: Revision, request: &ServerRequest) -> InputRequest {
    let params = compat::lift_input_request(revision, &request.method, request.params.as_ref());
    let (params, key) = match params {
        Some(params) => take_key_hint(params),
        None => (None, None),
    };
    InputRequest { method: request.method.clone(), params, key }
}

fn take_key_hint(params: RawJson) -> (Option<RawJson>, Option<String>) {
    let Some(meta) = params.get(key::META) else { return (Some(params), None) };
    let Some(hint) = meta.get(key::QUESTION) else { return (Some(params), None) };
    let meta = meta.edit().remove(key::QUESTION).apply();
    let rest = match meta.members().next() {
        Some(_) => params.edit().set(key::META, meta).apply(),
        None => params.edit().remove(key::META).apply(),
    };
    (Some(rest), hint.to_text())
}

/// The response to a server request.
pub(super) fn response(
    revision: Revision,
    request: &ServerRequest,
    answer: Result<RawJson, InputRefusal>,
) -> Bytes {
    let result = match answer {
        Ok(answer) => Ok(compat::lower_answer(revision, &request.method, &answer)),
        Err(refusal) => refusal_response(&request.method, &refusal),
    };
    match result {
        Ok(result) => jsonrpc::result(&request.id, &result).into_bytes(),
        Err(error) => jsonrpc::error(&request.id, &error).into_bytes(),
    }
}

/// How each method reports that it was not answered.
fn refusal_response(method: &Method, refusal: &InputRefusal) -> Result<RawJson, RpcError> {
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
