//! `/call`: a tool call of the contract in, a tool result of the contract out, whatever happens.

use std::sync::Arc;

use gantry_gateway::contract::{
    CONTRACT_HEADER, CONTRACT_VERSION, ContractError, ErrorType, Status, ToolCall, ToolResult,
    ValidationKind, check_version,
};
use gantry_gateway::{Call, CallEvent, Caller, ErrorDetail, Outcome, Reply, Trace};
use gantry_protocol::{Method, ParamsHead, RawJson};
use gantry_transport::offload;
use http::header::{HeaderName, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

use super::accept::Accept;
use super::answer::Answer;
use super::body::Given;
use super::endpoint::is_json;
use super::{Head, HttpState, answer};
use crate::authenticator::Identity;
use crate::era::named_trace;
use crate::headers::Headers;

const HEADER: HeaderName = HeaderName::from_static(CONTRACT_HEADER);

/// Serves one request. When the client hangs up, this is dropped, and with it the call.
pub(crate) async fn serve(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    head: &Head,
    body: Given,
) -> Answer {
    match read(http_state, &head.headers, body).await {
        Ok((params, head, trace)) => {
            let outcome = run(http_state, identity, (params, head), trace).await;
            let size = match &outcome {
                Ok(Reply::Result(result)) => result.bytes().len(),
                _ => 0,
            };
            offload(size, move || respond(&ToolResult::from_outcome(&outcome), None)).await
        }
        Err((status, reason)) => {
            let detail = ErrorDetail::new(ErrorType::ValidationError, reason);
            respond(&ToolResult::failure(detail), Some(status))
        }
    }
}

/// Reads the call, or says why there is none.
async fn read(
    http_state: &HttpState,
    headers: &Headers,
    body: Given,
) -> Result<(RawJson, ParamsHead, Option<Trace>), (StatusCode, String)> {
    let settings = &http_state.server_state.settings;
    let wrong = |error: ContractError| (StatusCode::BAD_REQUEST, error.to_string());
    check_headers(headers)?;
    check_asked(headers).map_err(wrong)?;
    let text = body.map_err(|unread| (unread.status, unread.reason))?;
    let text_size = text.len();
    let limits = settings.message;
    let parse = move || {
        let params = ToolCall::parse(text, limits)?.to_params();
        let head = ParamsHead::read(&params);
        Ok((params, head))
    };
    let (params, head) = offload(text_size, parse).await.map_err(wrong)?;
    Ok((params, head, named_trace(headers)))
}

fn check_headers(headers: &Headers) -> Result<(), (StatusCode, String)> {
    if !is_json(headers) {
        let text = "the Content-Type must be application/json".to_owned();
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    match Accept::read(headers).json {
        true => Ok(()),
        false => Err((
            StatusCode::NOT_ACCEPTABLE,
            "the answer is application/json, which the Accept header must list".to_owned(),
        )),
    }
}

/// Checks every version of the contract that is asked for.
fn check_asked(headers: &Headers) -> Result<(), ContractError> {
    let mut asked = headers.all(CONTRACT_HEADER);
    asked.try_for_each(|asked| check_version(&String::from_utf8_lossy(asked)))
}

/// Runs the call. There is nobody to tell of progress or to ask: a question that the caller's
/// lack of capabilities does not stop is dropped, which tells the tool that no answer will come.
async fn run(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    (params, head): (RawJson, ParamsHead),
    trace: Option<Trace>,
) -> Outcome {
    let server_state = &http_state.server_state;
    let (scope, lease) = (identity.scope.clone(), identity.lease.clone());
    let caller = Caller { scope, lease, ..Caller::new(identity.principal.clone()) };
    let mut call = Call::with_head(Method::ToolsCall, params, head, Arc::new(caller));
    call.trace = trace.map(Arc::new);
    let mut running = server_state.gateway.start(call);
    loop {
        if let CallEvent::Done(outcome) = running.next_event().await {
            return outcome;
        }
    }
}

/// The result with the status that fits it, unless there is a better one.
pub(super) fn respond(result: &ToolResult, better: Option<StatusCode>) -> Answer {
    let failure = result.error().filter(|_| result.status() == Status::Failure);
    let fitting = failure.map_or(StatusCode::OK, status);
    let json = result.to_json().bytes().clone();
    let answer = marked(answer::json(better.unwrap_or(fitting), json));
    match failure.and_then(retry_after) {
        Some(seconds) => answer.with(RETRY_AFTER, HeaderValue::from(seconds)),
        None => answer,
    }
}

/// The whole seconds after which it is worth trying again, where that is known.
fn retry_after(error: &ErrorDetail) -> Option<u64> {
    let wait: u64 = error.error_details.as_ref()?.get("retryAfterMs")?.read()?;
    (error.error_type == ErrorType::ApiLimitExceeded).then_some(wait.div_ceil(1000))
}

/// Every answer names the contract.
pub(super) fn marked(answer: Answer) -> Answer {
    answer.with(HEADER, HeaderValue::from_static(CONTRACT_VERSION))
}

/// The HTTP status of a failure. 401 is left to the door itself: it would make a client give its
/// credentials to the gateway for what a tool lacks.
fn status(error: &ErrorDetail) -> StatusCode {
    let details = error.error_details.as_ref();
    match &error.error_type {
        // The result of the tool is wrong, and not what its caller sent.
        ErrorType::ValidationError
            if details.and_then(ValidationKind::read).is_some_and(ValidationKind::is_of_tool) =>
        {
            StatusCode::BAD_GATEWAY
        }
        ErrorType::ValidationError => StatusCode::BAD_REQUEST,
        ErrorType::AuthenticationError | ErrorType::PermissionError => StatusCode::FORBIDDEN,
        ErrorType::FileNotFoundError
        | ErrorType::ResourceNotFound
        | ErrorType::ToolNotFoundError => StatusCode::NOT_FOUND,
        ErrorType::RegistrationError => StatusCode::CONFLICT,
        ErrorType::ApiLimitExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorType::ToolExecutionError | ErrorType::Custom(_) => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorType::SchemaError | ErrorType::SerializationError | ErrorType::TransportError => {
            StatusCode::BAD_GATEWAY
        }
        ErrorType::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        ErrorType::TimeoutError => StatusCode::GATEWAY_TIMEOUT,
    }
}
