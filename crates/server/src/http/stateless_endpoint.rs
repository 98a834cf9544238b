//! Stateless requests over HTTP: one POST, one response. When the client closes its connection, the
//! response is dropped, and with it the call.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gantry_protocol::{Message, Method, RpcError, jsonrpc};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use tokio::time::Instant;

use crate::authenticator::ClientIdentity;
use crate::error_codes::HttpStatus;
use crate::http::HttpState;
use crate::http::bearer_auth::AuthedRequest;
use crate::http::event_stream::{self, CallEvents, ListenEvents};
use crate::http::response::{self, HttpResponse};
use crate::http::timers::ReusableTimer;
use crate::request::ParsedRequest;
use crate::request_headers::Accept;
use crate::stateless::{self, Outbound, Started, StatelessCall};

/// Accepts a notification or response.
pub(super) fn accept_message(message: &Message) -> HttpResponse {
    match message {
        Message::Response(_) => {
            let error = RpcError::invalid_request("this revision knows no responses from clients");
            response::error(StatusCode::BAD_REQUEST, &error)
        }
        // Calls are cancelled by closing the connection, and no other notification is defined.
        _ => response::accepted(),
    }
}

/// Checks, starts and runs a request. The response is plain JSON if the call sends no message before
/// its result, and an event stream if it does, or if it is silent for so long that the connection
/// might be taken for dead.
pub(super) async fn handle(
    http_state: &Arc<HttpState>,
    authed: AuthedRequest<'_>,
    accept: Accept,
    keep_alive: &mut ReusableTimer,
    mut request: Box<ParsedRequest>,
) -> HttpResponse {
    let (server_state, identity) = (&http_state.server_state, authed.identity);
    if let Some(listed) = tool_listed(http_state, &request) {
        let received = Instant::now();
        listed.await;
        request.waited = received.elapsed();
    }
    // The block keeps what only the checks need out of the future, which every connection has room
    // for.
    let mut call = {
        let (id, client) = (request.id.clone(), ClientIdentity::stateless(identity));
        match stateless::start(server_state, &client, *request, Some(authed.headers)) {
            Ok(Started::Call(call)) => call,
            Ok(Started::Replied(text)) => return response::json(StatusCode::OK, text),
            Ok(Started::Listen(stream)) => {
                return match server_state.open_stream(&identity.principal) {
                    Ok(permit) => {
                        let source = ListenEvents::new(*stream);
                        response::events(event_stream::body(server_state, identity, source, permit))
                    }
                    Err(exceeded) => response::too_many_streams(Some(&id), exceeded),
                };
            }
            Err(rejection) => {
                return response::rpc_error(&id, status(rejection.status), &rejection.error);
            }
        }
    };
    let mut silent = keep_alive.after(server_state.settings.keep_alive);
    let first = loop {
        tokio::select! {
            // Most calls are complete at the first poll, and need no timer.
            biased;
            message = call.next() => match message {
                Some(Outbound::Response(reply, status)) if accept.json => {
                    return json_response(reply, status);
                }
                Some(Outbound::Notification(_)) if !accept.events => {}
                message => break message,
            },
            () = &mut silent, if accept.events => break None,
        }
    };
    match server_state.open_stream(&identity.principal) {
        Ok(permit) => {
            let source = CallEvents { first, call };
            response::events(event_stream::body(server_state, identity, source, permit))
        }
        Err(_) => Box::pin(run_without_stream(call, first)).await,
    }
}

/// Runs a started call to its response, also when the quota leaves no stream for its notifications.
async fn run_without_stream(mut call: Box<StatelessCall>, first: Option<Outbound>) -> HttpResponse {
    let mut next = first;
    loop {
        if let Some(Outbound::Response(reply, status)) = next {
            return json_response(reply, status);
        }
        next = call.next().await;
        if next.is_none() {
            return response::accepted();
        }
    }
}

/// Waits for the tool of a call if its server is about to list it: the headers of the request are
/// checked against the definition.
fn tool_listed(http_state: &HttpState, request: &ParsedRequest) -> Option<BoxFuture<'static, ()>> {
    if request.method != Method::ToolsCall {
        return None;
    }
    let name = request.head.name.as_ref()?;
    let listed = match name.as_text() {
        Some(name) => http_state.server_state.gateway.awaited_tool(name),
        None => http_state.server_state.gateway.awaited_tool(&name.to_text()?),
    };
    listed.map(FutureExt::boxed)
}

fn json_response(reply: jsonrpc::Reply, http_status: HttpStatus) -> HttpResponse {
    let response = response::reply(status(http_status.code), reply);
    match http_status.retry_after {
        Some(seconds) => response.with(RETRY_AFTER, HeaderValue::from(seconds)),
        None => response,
    }
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::OK)
}
