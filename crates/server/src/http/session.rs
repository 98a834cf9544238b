//! Sessions over HTTP: calls that survive a lost connection, streams that can be taken up again.

use std::sync::Arc;

use gantry_protocol::jsonrpc;
use gantry_protocol::{Message, RpcError};
use http::header::HeaderName;
use http::{HeaderValue, StatusCode};

use super::accept::Accept;
use super::answer::Answer;
use super::auth::AuthedRequest;
use super::body::Body;
use super::endpoint::{Dispatch, refuse};
use super::{HttpState, answer, events};
use crate::authenticator::Identity;
use crate::client_identity::ClientIdentity;
use crate::era::{
    Follower, Handled, Handshake, HttpSession, ParsedRequest, SessionLookup, StreamLog, Wire,
    listen_for, mint,
};
use crate::headers::{LAST_EVENT_ID, SESSION_ID};
use crate::quota::{Permit, QuotaExceeded};
use crate::server_state::ServerState;

/// Opens a session.
pub(crate) fn initialize(
    http_state: &HttpState,
    identity: &Identity,
    request: &ParsedRequest,
) -> Answer {
    let handshake =
        Handshake::read(&http_state.server_state, &ClientIdentity::staying(identity), request);
    let Handshake { session, answer: text } = match handshake {
        Ok(handshake) => handshake,
        Err(error) => return answer::reply(StatusCode::OK, jsonrpc::error(&request.id, &error)),
    };
    let answer = answer::json(StatusCode::OK, text);
    let id = mint(&http_state.server_state, &session)
        .and_then(|id| HeaderValue::from_maybe_shared(id).ok());
    match id {
        Some(id) => answer.with(HeaderName::from_static(SESSION_ID), id),
        None => answer,
    }
}

/// Begins to serve one request of a session.
pub(super) fn begin(
    http_state: &HttpState,
    authed: AuthedRequest<'_>,
    accept: Accept,
    request: ParsedRequest,
) -> Dispatch {
    let session = match find(http_state, authed) {
        Ok(session) => session,
        Err((status, error)) => return Dispatch::Answered(refuse(&request.id, status, &error)),
    };
    match session.session.handle(&http_state.server_state, request) {
        Handled::Answered(reply) => Dispatch::Answered(whole(accept, reply)),
        Handled::Call(request_context, call) => {
            Dispatch::SessionCall(session, request_context, call)
        }
    }
}

/// Takes what is no request.
pub(crate) fn take(http_state: &HttpState, authed: AuthedRequest<'_>, message: Message) -> Answer {
    let session = match find(http_state, authed) {
        Ok(session) => session,
        Err((status, error)) => return answer::error(status, &error),
    };
    match message {
        Message::Notification(notification) if session.session.hear(&notification) => {
            end(http_state, authed);
        }
        Message::Response(response) => session.session.take(response),
        _ => {}
    }
    answer::accepted()
}

/// Opens a stream, or takes one up again.
pub(crate) fn get(http_state: &Arc<HttpState>, authed: AuthedRequest<'_>) -> Answer {
    if !Accept::read(authed.headers).events {
        let error = RpcError::invalid_request("the Accept header must list text/event-stream");
        return answer::error(StatusCode::NOT_ACCEPTABLE, &error);
    }
    let session = match find(http_state, authed) {
        Ok(session) => session,
        Err((status, error)) => return answer::error(status, &error),
    };
    let permit = match http_state.server_state.open_stream(&authed.identity.principal) {
        Ok(permit) => permit,
        Err(exceeded) => return too_many_streams(exceeded),
    };
    let place = authed.headers.get(LAST_EVENT_ID);
    let resumed = place.and_then(|place| session.find_stream(place));
    let follower = match resumed {
        Some((log, after)) => log.follow(after, prime(&http_state.server_state, &session)),
        None => follow_general(http_state, &session),
    };
    answer::events(events::stream(&http_state.server_state, authed.identity, follower, permit))
}

/// Ends a session.
pub(crate) fn delete(http_state: &HttpState, authed: AuthedRequest<'_>) -> Answer {
    match find(http_state, authed) {
        Ok(_) => {
            end(http_state, authed);
            answer::text(StatusCode::OK, "")
        }
        Err((status, error)) => answer::error(status, &error),
    }
}

/// Whether a message whose id could not be read is answered with a null id: old sessions want it.
pub(crate) fn wants_null_id(http_state: &HttpState, authed: AuthedRequest<'_>) -> bool {
    find(http_state, authed).is_ok_and(|it| !it.session.revision.omits_unknown_id())
}

/// The session that a request names.
pub(super) fn find(
    http_state: &HttpState,
    authed: AuthedRequest<'_>,
) -> Result<Arc<HttpSession>, (StatusCode, RpcError)> {
    let Some(id) = authed.headers.get(SESSION_ID) else {
        let text = "the header Mcp-Session-Id is missing; send `initialize` first, or give each \
                    request the headers and `_meta` of a revision without handshake";
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

pub(super) fn end(http_state: &HttpState, authed: AuthedRequest<'_>) {
    if let Some(id) = authed.headers.get(SESSION_ID) {
        http_state.server_state.sessions.end(
            &http_state.server_state.settings,
            &authed.identity.principal,
            id,
        );
    }
}

/// Follows what belongs to no call, and sees to it that someone writes it down.
fn follow_general(http_state: &Arc<HttpState>, session: &Arc<HttpSession>) -> Follower {
    let (log, new) = session.general_stream(&http_state.server_state);
    if new {
        let (server_state, session, log) =
            (http_state.server_state.clone(), session.clone(), log.clone());
        let changes = session.session.changes(&server_state);
        http_state.spawn(async move {
            let wire = Wire::Log(log.clone());
            // Also when nobody came back to the stream: who listens here keeps the session active.
            tokio::select! {
                () = listen_for(&server_state, &session.session, changes, &wire) => {}
                () = log.finished() => {}
            }
            log.finish();
        });
    }
    log.take_over(prime(&http_state.server_state, session))
}

/// A stream for what calls say before their answers, if one can be had.
pub(super) fn open(
    http_state: &HttpState,
    session: &HttpSession,
) -> Option<(Arc<StreamLog>, Permit)> {
    let permit = http_state.server_state.open_stream(&session.session.caller.principal).ok()?;
    Some((session.open_stream(&http_state.server_state)?, permit))
}

/// The answer to a call as a stream.
pub(super) fn follow(
    http_state: &HttpState,
    identity: &Identity,
    session: &HttpSession,
    log: &Arc<StreamLog>,
    permit: Permit,
) -> Answer {
    let follower = log.follow(0, prime(&http_state.server_state, session));
    answer::events(events::stream(&http_state.server_state, identity, follower, permit))
}

fn prime(server_state: &ServerState, session: &HttpSession) -> Option<std::time::Duration> {
    session.session.revision.has_priming_events().then_some(server_state.settings.retry)
}

/// An answer that is ready at once, in a form the client takes.
pub(super) fn whole(accept: Accept, reply: jsonrpc::Reply) -> Answer {
    match accept.json {
        true => answer::reply(StatusCode::OK, reply),
        false => {
            let event = gantry_transport::sse::Event::message(reply.into_bytes());
            answer::events(Body::whole(event.encode()))
        }
    }
}

/// The answer to who may open no more streams.
pub(super) fn too_many_streams(exceeded: QuotaExceeded) -> Answer {
    answer::error(StatusCode::TOO_MANY_REQUESTS, &exceeded.into())
}
