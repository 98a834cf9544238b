//! Sessions over HTTP: `initialize`, requests, the GET stream and DELETE.

use std::sync::Arc;
use std::time::Duration;

use gantry_protocol::{Message, Method, RpcError, jsonrpc};
use gantry_transport::sse::Event;
use http::header::HeaderName;
use http::{HeaderValue, StatusCode};

use crate::authenticator::{ClientIdentity, Identity};
use crate::discover::Handshake;
use crate::http::bearer_auth::AuthedRequest;
use crate::http::response::{self, Body, HttpResponse};
use crate::http::timers::ReusableTimer;
use crate::http::{HttpState, event_stream, session_call};
use crate::message_sink::MessageSink;
use crate::quota::Permit;
use crate::request::ParsedRequest;
use crate::request_headers::{Accept, LAST_EVENT_ID, SESSION_ID};
use crate::server_state::ServerState;
use crate::session::http_session::HttpSession;
use crate::session::replay_log::{ReplayLog, ReplayReader};
use crate::session::session_id::seal_session_id;
use crate::session::session_table::SessionLookup;
use crate::session::{Dispatched, forward_changes};

/// Handles one request: opens a session, replies, or runs a call.
pub(super) async fn handle(
    http_state: &Arc<HttpState>,
    authed: AuthedRequest<'_>,
    accept: Accept,
    keep_alive: &mut ReusableTimer,
    request: Box<ParsedRequest>,
) -> HttpResponse {
    if request.method == Method::Initialize {
        return initialize(http_state, authed.identity, &request);
    }
    let session = match find(http_state, authed) {
        Ok(session) => session,
        Err((status, error)) => return response::rpc_error(&request.id, status, &error),
    };
    match session.session.dispatch(&http_state.server_state, *request) {
        Dispatched::Replied(reply) => reply_response(accept, reply),
        Dispatched::Call(request_context, call) => {
            let identity = authed.identity;
            let call = (request_context, call);
            session_call::run(http_state, identity, keep_alive, &session, accept, call).await
        }
    }
}

fn initialize(
    http_state: &HttpState,
    identity: &Identity,
    request: &ParsedRequest,
) -> HttpResponse {
    let client = ClientIdentity::with_session(identity);
    let handshake = Handshake::read(&http_state.server_state, &client, request);
    let Handshake { session, response } = match handshake {
        Ok(handshake) => handshake,
        Err(error) => return response::rpc_error(&request.id, StatusCode::OK, &error),
    };
    let response = response::json(StatusCode::OK, response);
    let id = seal_session_id(&http_state.server_state, &session)
        .and_then(|id| HeaderValue::from_maybe_shared(id).ok());
    match id {
        Some(id) => response.with(HeaderName::from_static(SESSION_ID), id),
        None => response,
    }
}

/// Accepts a notification or response.
pub(super) fn accept_message(
    http_state: &HttpState,
    authed: AuthedRequest<'_>,
    message: Message,
) -> HttpResponse {
    let session = match find(http_state, authed) {
        Ok(session) => session,
        Err((status, error)) => return response::error(status, &error),
    };
    match message {
        Message::Notification(notification)
            if session.session.handle_notification(&notification) =>
        {
            end(http_state, authed);
        }
        Message::Response(response) => session.session.handle_response(response),
        _ => {}
    }
    response::accepted()
}

/// Opens the GET stream, or resumes a stream from `Last-Event-ID`.
pub(super) fn get(http_state: &Arc<HttpState>, authed: AuthedRequest<'_>) -> HttpResponse {
    if !Accept::read(authed.headers).events {
        let error = RpcError::invalid_request("the Accept header must list text/event-stream");
        return response::error(StatusCode::NOT_ACCEPTABLE, &error);
    }
    let session = match find(http_state, authed) {
        Ok(session) => session,
        Err((status, error)) => return response::error(status, &error),
    };
    let permit = match http_state.server_state.open_stream(&authed.identity.principal) {
        Ok(permit) => permit,
        Err(exceeded) => return response::too_many_streams(None, exceeded),
    };
    let event_id = authed.headers.get(LAST_EVENT_ID);
    let resumed = event_id.and_then(|event_id| session.find_stream(event_id));
    let reader = match resumed {
        Some((log, after)) => log.read_from(after, priming(&http_state.server_state, &session)),
        None => read_general_stream(http_state, &session),
    };
    let body = event_stream::body(&http_state.server_state, authed.identity, reader, permit);
    response::events(body)
}

/// Ends a session.
pub(super) fn delete(http_state: &HttpState, authed: AuthedRequest<'_>) -> HttpResponse {
    match find(http_state, authed) {
        Ok(_) => {
            end(http_state, authed);
            response::text(StatusCode::OK, "")
        }
        Err((status, error)) => response::error(status, &error),
    }
}

/// Whether the error for a message whose id could not be read has a null id, as older revisions want.
pub(super) fn wants_null_id(http_state: &HttpState, authed: AuthedRequest<'_>) -> bool {
    find(http_state, authed).is_ok_and(|it| !it.session.revision.omits_unknown_id())
}

/// The session of a request.
pub(super) fn find(
    http_state: &HttpState,
    authed: AuthedRequest<'_>,
) -> Result<Arc<HttpSession>, (StatusCode, RpcError)> {
    let Some(id) = authed.headers.get(SESSION_ID) else {
        let text = "the header Mcp-Session-Id is missing; send `initialize` first, or give each \
                    request the headers and `_meta` of a stateless revision";
        return Err((StatusCode::BAD_REQUEST, RpcError::invalid_request(text)));
    };
    match http_state.server_state.sessions.find(&http_state.server_state, authed.identity, id) {
        SessionLookup::Found(session) => Ok(session),
        SessionLookup::Unknown => {
            let text = "this session is unknown or has ended; send `initialize` for a new one";
            Err((StatusCode::NOT_FOUND, RpcError::invalid_request(text)))
        }
        SessionLookup::Full(exceeded) => {
            let status = match exceeded.is_of_principal() {
                true => StatusCode::TOO_MANY_REQUESTS,
                false => StatusCode::SERVICE_UNAVAILABLE,
            };
            Err((status, exceeded.into()))
        }
    }
}

/// Ends the session of a request.
pub(super) fn end(http_state: &HttpState, authed: AuthedRequest<'_>) {
    if let Some(id) = authed.headers.get(SESSION_ID) {
        let server_state = &http_state.server_state;
        server_state.sessions.end(&server_state.settings, &authed.identity.principal, id);
    }
}

/// Reads the GET stream, and spawns the task that writes changes to it if there is none yet.
fn read_general_stream(http_state: &Arc<HttpState>, session: &Arc<HttpSession>) -> ReplayReader {
    let (log, is_new) = session.general_stream(&http_state.server_state);
    if is_new {
        let (server_state, session, log) =
            (http_state.server_state.clone(), session.clone(), log.clone());
        let changes = session.session.subscribe(&server_state);
        http_state.spawn(async move {
            let sink = MessageSink::Replay(log.clone());
            // Ends with the stream, also when no client resumed it: this task keeps the session
            // active.
            tokio::select! {
                () = forward_changes(&server_state, &session.session, changes, &sink) => {}
                () = log.finished() => {}
            }
            log.finish();
        });
    }
    log.replace_readers(priming(&http_state.server_state, session))
}

/// Opens a stream for the messages of a call, if the quotas permit.
pub(super) fn open_call_stream(
    http_state: &HttpState,
    session: &HttpSession,
) -> Option<(Arc<ReplayLog>, Permit)> {
    let permit = http_state.server_state.open_stream(&session.session.caller.principal).ok()?;
    Some((session.open_stream(&http_state.server_state)?, permit))
}

/// The response that streams the events of a call.
pub(super) fn call_stream_response(
    http_state: &HttpState,
    identity: &Identity,
    session: &HttpSession,
    log: &Arc<ReplayLog>,
    permit: Permit,
) -> HttpResponse {
    let reader = log.read_from(0, priming(&http_state.server_state, session));
    response::events(event_stream::body(&http_state.server_state, identity, reader, permit))
}

/// The retry time of the priming event, for revisions that have one.
fn priming(server_state: &ServerState, session: &HttpSession) -> Option<Duration> {
    session.session.revision.has_priming_events().then_some(server_state.settings.retry)
}

/// A complete reply, in a content type that the client accepts.
pub(super) fn reply_response(accept: Accept, reply: jsonrpc::Reply) -> HttpResponse {
    match accept.json {
        true => response::reply(StatusCode::OK, reply),
        false => {
            let event = Event::message(reply.into_bytes());
            response::events(Body::whole(event.encode()))
        }
    }
}
