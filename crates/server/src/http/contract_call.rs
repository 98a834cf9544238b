//! `/call`: a tool call of the contract as request, a tool result of the contract as response, also
//! for every error.

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

use crate::authenticator::Identity;
use crate::http::request_body::BodyResult;
use crate::http::request_head::RequestHead;
use crate::http::response::HttpResponse;
use crate::http::{HttpState, response};
use crate::request::trace_from_headers;
use crate::request_headers::{Accept, Headers, is_json};

const HEADER: HeaderName = HeaderName::from_static(CONTRACT_HEADER);

/// Handles one request. When the client closes the connection, this is dropped, which cancels the
/// call.
pub(super) async fn handle(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    head: &RequestHead,
    body: BodyResult,
) -> HttpResponse {
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

/// Reads the call, or the status and reason of the rejection.
async fn read(
    http_state: &HttpState,
    headers: &Headers,
    body: BodyResult,
) -> Result<(RawJson, ParamsHead, Option<Trace>), (StatusCode, String)> {
    let settings = &http_state.server_state.settings;
    let wrong = |error: ContractError| (StatusCode::BAD_REQUEST, error.to_string());
    check_headers(headers)?;
    check_versions(headers).map_err(wrong)?;
    let text = body.map_err(|error| (error.status, error.reason))?;
    let text_size = text.len();
    let limits = settings.message;
    let parse = move || {
        let params = ToolCall::parse(text, limits)?.to_params();
        let head = ParamsHead::read(&params);
        Ok((params, head))
    };
    let (params, head) = offload(text_size, parse).await.map_err(wrong)?;
    Ok((params, head, trace_from_headers(headers)))
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
            "the response is application/json, which the Accept header must list".to_owned(),
        )),
    }
}

/// Checks every version of the contract that the headers name.
fn check_versions(headers: &Headers) -> Result<(), ContractError> {
    let mut versions = headers.all(CONTRACT_HEADER);
    versions.try_for_each(|version| check_version(&String::from_utf8_lossy(version)))
}

/// Runs the call. Notifications are dropped, and so are input requests that the caller's lack of
/// capabilities does not stop, which tells the tool that no response will come.
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
    let mut stream = server_state.gateway.start(call);
    loop {
        if let CallEvent::Done(outcome) = stream.next_event().await {
            return outcome;
        }
    }
}

/// The response with a result. Its status follows from the error type, unless one is given.
pub(super) fn respond(result: &ToolResult, status: Option<StatusCode>) -> HttpResponse {
    let failure = result.error().filter(|_| result.status() == Status::Failure);
    let status = status.unwrap_or_else(|| failure.map_or(StatusCode::OK, status_of));
    let json = result.to_json().bytes().clone();
    let response = with_version(response::json(status, json));
    match failure.and_then(retry_after) {
        Some(seconds) => response.with(RETRY_AFTER, HeaderValue::from(seconds)),
        None => response,
    }
}

/// The value of `Retry-After` in seconds, if the error has one.
fn retry_after(error: &ErrorDetail) -> Option<u64> {
    let wait: u64 = error.error_details.as_ref()?.get("retryAfterMs")?.read()?;
    (error.error_type == ErrorType::ApiLimitExceeded).then_some(wait.div_ceil(1000))
}

/// Adds the version of the contract, which every response has.
pub(super) fn with_version(response: HttpResponse) -> HttpResponse {
    response.with(HEADER, HeaderValue::from_static(CONTRACT_VERSION))
}

/// The HTTP status of a failure. 401 is only for the gateway's own authentication: for a tool's
/// missing credentials it would make a client send its own to the gateway.
fn status_of(error: &ErrorDetail) -> StatusCode {
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
