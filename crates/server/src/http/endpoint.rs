//! `/mcp`: Streamable HTTP for clients of both eras, told apart message by message.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gantry_gateway::Call;
use gantry_protocol::jsonrpc;
use gantry_protocol::{Id, Message, Method, RpcError};
use http::StatusCode;
use tokio::time::Instant;

use super::accept::Accept;
use super::answer::Answer;
use super::auth::AuthedRequest;
use super::body::Given;
use super::timer::ReusableTimer;
use super::{Head, HttpState, answer, batch, session, session_call, stateless};
use crate::authenticator::Identity;
use crate::duplex::stranger;
use crate::era::{
    HttpSession, ParsedRequest, Received, RequestContext, StatelessCall, names_stateful,
    names_stateless, receive, unsupported,
};
use crate::headers::{Headers, PROTOCOL_VERSION};
use crate::settings::Eras;

/// What is left of a request when its head and its message have been read.
pub(super) enum Dispatch {
    /// It is answered.
    Answered(Answer),
    /// A call that stands alone.
    Alone(Box<StatelessCall>),
    /// A call of a session.
    SessionCall(Arc<HttpSession>, RequestContext, Box<Call>),
}

/// Serves one request to the endpoint, whose method is one of those that it has.
pub(crate) async fn serve(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    silence: &mut ReusableTimer,
    head: &Head,
    body: Given,
) -> Answer {
    let authed = AuthedRequest { headers: &head.headers, identity };
    match head.method {
        http::Method::GET => session::get(http_state, authed),
        http::Method::DELETE => session::delete(http_state, authed),
        _ => post(http_state, authed, silence, body).await,
    }
}

async fn post(
    http_state: &Arc<HttpState>,
    authed: AuthedRequest<'_>,
    silence: &mut ReusableTimer,
    body: Given,
) -> Answer {
    if !is_json(authed.headers) {
        let error = RpcError::invalid_request("the Content-Type must be application/json");
        return answer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    let accept = Accept::read(authed.headers);
    if !accept.json && !accept.events {
        let text = "the Accept header must list application/json and text/event-stream";
        return answer::error(StatusCode::NOT_ACCEPTABLE, &RpcError::invalid_request(text));
    }
    let text = match body {
        Ok(text) => text,
        Err(unread) => {
            return answer::error(unread.status, &RpcError::invalid_request(unread.reason));
        }
    };
    let dispatched = match receive(text, http_state.server_state.settings.message).await {
        Ok(Received::Request(mut request)) => {
            if let Some(listed) = awaited(http_state, authed, &request) {
                let came = Instant::now();
                listed.await;
                request.waited = came.elapsed();
            }
            dispatch(http_state, authed, accept, *request)
        }
        Ok(Received::Notification(notification)) => {
            Dispatch::Answered(take(http_state, authed, Message::Notification(notification)))
        }
        Ok(Received::Response(response)) => {
            Dispatch::Answered(take(http_state, authed, Message::Response(response)))
        }
        Ok(Received::Batch(messages)) => {
            Dispatch::Answered(Box::pin(batch::serve(http_state, authed, accept, messages)).await)
        }
        Err(malformed) => {
            let error = malformed.to_error();
            let reply = match malformed.id() {
                Some(id) => jsonrpc::error(id, &error),
                None => {
                    jsonrpc::error_without_id(&error, session::wants_null_id(http_state, authed))
                }
            };
            Dispatch::Answered(answer::reply(StatusCode::BAD_REQUEST, reply))
        }
    };
    let identity = authed.identity;
    match dispatched {
        Dispatch::Answered(answer) => answer,
        Dispatch::Alone(live) => stateless::run(http_state, identity, silence, accept, live).await,
        Dispatch::SessionCall(session, request_context, call) => {
            session_call::run(
                http_state,
                identity,
                silence,
                &session,
                accept,
                request_context,
                *call,
            )
            .await
        }
    }
}

/// Takes what is no request.
fn take(http_state: &HttpState, authed: AuthedRequest<'_>, message: Message) -> Answer {
    let version = authed.headers.get(PROTOCOL_VERSION);
    match version.is_some_and(names_stateless)
        && http_state.server_state.settings.eras != Eras::Legacy
    {
        true => stateless::take(&message),
        false => session::take(http_state, authed, message),
    }
}

/// Tells the eras apart: a request that says it stands alone does; then the header may say so;
/// everything else belongs to a session, or opens one.
fn dispatch(
    http_state: &Arc<HttpState>,
    authed: AuthedRequest<'_>,
    accept: Accept,
    request: ParsedRequest,
) -> Dispatch {
    let request = request.traced_by(authed.headers);
    let eras = http_state.server_state.settings.eras;
    let version = authed.headers.get(PROTOCOL_VERSION);
    let by_header = version.is_some_and(names_stateless);
    let alone = request.is_stateless() || by_header;
    if alone && eras != Eras::Legacy {
        return stateless::begin(http_state, authed, request);
    }
    let bad = |error| Dispatch::Answered(refuse(&request.id, StatusCode::BAD_REQUEST, &error));
    if let Some(version) = version
        && !names_stateful(version)
        && !alone
    {
        return bad(unsupported(&http_state.server_state, version));
    }
    match request.method {
        _ if eras == Eras::Modern => bad(stranger(&http_state.server_state, &request)),
        Method::Initialize => {
            Dispatch::Answered(session::initialize(http_state, authed.identity, &request))
        }
        _ => session::begin(http_state, authed, accept, request),
    }
}

/// Waits for the tool that a request which stands alone calls, if that is about to be listed: its
/// headers are checked against the definition.
fn awaited(
    http_state: &HttpState,
    authed: AuthedRequest<'_>,
    request: &ParsedRequest,
) -> Option<BoxFuture<'static, ()>> {
    let by_header = || authed.headers.get(PROTOCOL_VERSION).is_some_and(names_stateless);
    if request.method != Method::ToolsCall || !(request.is_stateless() || by_header()) {
        return None;
    }
    let name = request.head.name.as_ref()?;
    let listed = match name.as_text() {
        Some(name) => http_state.server_state.gateway.awaited_tool(name),
        None => http_state.server_state.gateway.awaited_tool(&name.to_text()?),
    };
    listed.map(FutureExt::boxed)
}

/// Answers a request with an error.
pub(crate) fn refuse(id: &Id, status: StatusCode, error: &RpcError) -> Answer {
    answer::reply(status, jsonrpc::error(id, error))
}

/// Whether the body says that it is JSON.
pub(crate) fn is_json(headers: &Headers) -> bool {
    let kind = headers.get("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}
