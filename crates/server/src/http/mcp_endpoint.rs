//! `/mcp`: the Streamable HTTP endpoint for clients of both eras, which are told apart message by
//! message: `_meta` that names a revision, then the header `MCP-Protocol-Version`, then
//! `initialize`, then the session id.

use std::sync::Arc;

use gantry_protocol::{Message, RpcError, jsonrpc};
use http::StatusCode;

use crate::authenticator::Identity;
use crate::era::{self, is_legacy, is_modern};
use crate::http::bearer_auth::AuthedRequest;
use crate::http::request_body::BodyResult;
use crate::http::request_head::RequestHead;
use crate::http::response::{self, HttpResponse};
use crate::http::timers::ReusableTimer;
use crate::http::{HttpState, session_call, session_endpoint, stateless_endpoint};
use crate::request::{ParsedMessage, ParsedRequest, parse};
use crate::request_headers::{Accept, PROTOCOL_VERSION, is_json};
use crate::settings::Eras;
use crate::virtual_servers;

/// Handles a request to the endpoint, whose method is an allowed one.
pub(super) async fn handle(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    keep_alive: &mut ReusableTimer,
    head: &RequestHead,
    body: BodyResult,
) -> HttpResponse {
    let authed = AuthedRequest { headers: &head.headers, identity };
    match head.method {
        http::Method::GET => session_endpoint::get(http_state, authed),
        http::Method::DELETE => session_endpoint::delete(http_state, authed),
        _ => post(http_state, authed, keep_alive, body).await,
    }
}

/// Handles a request to the endpoint of a virtual server, `/mcp/NAME`.
pub(super) async fn handle_virtual_server(
    http_state: &HttpState,
    identity: &Identity,
    keep_alive: &mut ReusableTimer,
    head: &RequestHead,
    body: BodyResult,
) -> HttpResponse {
    let (name, server_state) = (virtual_servers::name_in(head.path()), &http_state.server_state);
    let Some(found) = server_state.virtual_servers.find(&name) else {
        let text = server_state.virtual_servers.not_found(&name);
        return response::text(StatusCode::NOT_FOUND, text);
    };
    let http_state = http_state.for_virtual_server(found);
    handle(&http_state, identity, keep_alive, head, body).await
}

/// Parses the message of a POST, and hands it to the endpoint of its era.
async fn post(
    http_state: &Arc<HttpState>,
    authed: AuthedRequest<'_>,
    keep_alive: &mut ReusableTimer,
    body: BodyResult,
) -> HttpResponse {
    if !is_json(authed.headers) {
        let error = RpcError::invalid_request("the Content-Type must be application/json");
        return response::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    let accept = Accept::read(authed.headers);
    if !accept.json && !accept.events {
        let text = "the Accept header must list application/json and text/event-stream";
        return response::error(StatusCode::NOT_ACCEPTABLE, &RpcError::invalid_request(text));
    }
    let text = match body {
        Ok(text) => text,
        Err(error) => {
            return response::error(error.status, &RpcError::invalid_request(error.reason));
        }
    };
    match parse(text, http_state.server_state.settings.message).await {
        Ok(ParsedMessage::Request(mut request)) => {
            request.take_trace_from(authed.headers);
            match era_of(http_state, authed, &request) {
                Ok(RequestEra::Modern) => {
                    stateless_endpoint::handle(http_state, authed, accept, keep_alive, request)
                        .await
                }
                Ok(RequestEra::Legacy) => {
                    session_endpoint::handle(http_state, authed, accept, keep_alive, request).await
                }
                Err(error) => response::rpc_error(&request.id, StatusCode::BAD_REQUEST, &error),
            }
        }
        Ok(ParsedMessage::Notification(notification)) => {
            accept_message(http_state, authed, Message::Notification(notification))
        }
        Ok(ParsedMessage::Response(response)) => {
            accept_message(http_state, authed, Message::Response(response))
        }
        Ok(ParsedMessage::Batch(batch)) => {
            Box::pin(session_call::run_batch(http_state, authed, accept, batch)).await
        }
        Err(malformed) => {
            let error = malformed.to_error();
            let reply = match malformed.id() {
                Some(id) => jsonrpc::error(id, &error),
                None => {
                    let null_id = session_endpoint::wants_null_id(http_state, authed);
                    jsonrpc::error_without_id(&error, null_id)
                }
            };
            response::reply(StatusCode::BAD_REQUEST, reply)
        }
    }
}

enum RequestEra {
    Legacy,
    Modern,
}

/// The era of a request, or the error for one that is not served.
fn era_of(
    http_state: &HttpState,
    authed: AuthedRequest<'_>,
    request: &ParsedRequest,
) -> Result<RequestEra, RpcError> {
    let server_state = &http_state.server_state;
    let eras = server_state.settings.eras;
    let version = authed.headers.get(PROTOCOL_VERSION);
    let claims_modern = request.is_stateless() || version.is_some_and(is_modern);
    if claims_modern && eras != Eras::Legacy {
        return Ok(RequestEra::Modern);
    }
    if let Some(version) = version
        && !is_legacy(version)
        && !claims_modern
    {
        return Err(era::unsupported(server_state, version));
    }
    match eras {
        Eras::Modern => Err(era::not_initialized(server_state, request)),
        Eras::Legacy | Eras::Both => Ok(RequestEra::Legacy),
    }
}

/// Accepts a notification or response.
fn accept_message(
    http_state: &HttpState,
    authed: AuthedRequest<'_>,
    message: Message,
) -> HttpResponse {
    let version = authed.headers.get(PROTOCOL_VERSION);
    match version.is_some_and(is_modern) && http_state.server_state.settings.eras != Eras::Legacy {
        true => stateless_endpoint::accept_message(&message),
        false => session_endpoint::accept_message(http_state, authed, message),
    }
}
