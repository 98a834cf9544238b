//! Sessions over HTTP: calls that survive a lost connection, streams that can be taken up again.

use std::sync::Arc;

use gantry_protocol::jsonrpc;
use gantry_protocol::{Message, RpcError};
use http::header::HeaderName;
use http::{HeaderValue, StatusCode};

use super::accept::Accept;
use super::answer::Answer;
use super::body::Body;
use super::endpoint::{Course, refuse};
use super::entrance::Knock;
use super::{Hall, answer, events};
use crate::doorman::Visitor;
use crate::era::{
    Arrival, Follower, Handled, Handshake, HttpSession, SessionLookup, StreamLog, Wire, listen_for,
    mint,
};
use crate::guest::Guest;
use crate::headers::{LAST_EVENT_ID, SESSION_ID};
use crate::lobby::Lobby;
use crate::quota::{Permit, QuotaExceeded};

/// Opens a session.
pub(crate) fn initialize(hall: &Hall, visitor: &Visitor, request: &Arrival) -> Answer {
    let handshake = Handshake::read(&hall.lobby, &Guest::staying(visitor), request);
    let Handshake { session, answer: text } = match handshake {
        Ok(handshake) => handshake,
        Err(error) => return answer::reply(StatusCode::OK, jsonrpc::error(&request.id, &error)),
    };
    let answer = answer::json(StatusCode::OK, text);
    let id = mint(&hall.lobby, &session).and_then(|id| HeaderValue::from_maybe_shared(id).ok());
    match id {
        Some(id) => answer.with(HeaderName::from_static(SESSION_ID), id),
        None => answer,
    }
}

/// Begins to serve one request of a session.
pub(super) fn begin(hall: &Hall, knock: Knock<'_>, accept: Accept, request: Arrival) -> Course {
    let session = match find(hall, knock) {
        Ok(session) => session,
        Err((status, error)) => return Course::Answered(refuse(&request.id, status, &error)),
    };
    match session.session.handle(&hall.lobby, request) {
        Handled::Answered(reply) => Course::Answered(whole(accept, reply)),
        Handled::Call(ticket, call) => Course::Flight(session, ticket, call),
    }
}

/// Takes what is no request.
pub(crate) fn take(hall: &Hall, knock: Knock<'_>, message: Message) -> Answer {
    let session = match find(hall, knock) {
        Ok(session) => session,
        Err((status, error)) => return answer::error(status, &error),
    };
    match message {
        Message::Notification(notification) if session.session.hear(&notification) => {
            end(hall, knock);
        }
        Message::Response(response) => session.session.take(response),
        _ => {}
    }
    answer::accepted()
}

/// Opens a stream, or takes one up again.
pub(crate) fn get(hall: &Arc<Hall>, knock: Knock<'_>) -> Answer {
    if !Accept::read(knock.headers).events {
        let error = RpcError::invalid_request("the Accept header must list text/event-stream");
        return answer::error(StatusCode::NOT_ACCEPTABLE, &error);
    }
    let session = match find(hall, knock) {
        Ok(session) => session,
        Err((status, error)) => return answer::error(status, &error),
    };
    let permit = match hall.lobby.open_stream(&knock.visitor.principal) {
        Ok(permit) => permit,
        Err(exceeded) => return too_many_streams(exceeded),
    };
    let place = knock.headers.get(LAST_EVENT_ID);
    let resumed = place.and_then(|place| session.find_stream(place));
    let follower = match resumed {
        Some((log, after)) => log.follow(after, prime(&hall.lobby, &session)),
        None => follow_general(hall, &session),
    };
    answer::events(events::stream(&hall.lobby, knock.visitor, follower, permit))
}

/// Ends a session.
pub(crate) fn delete(hall: &Hall, knock: Knock<'_>) -> Answer {
    match find(hall, knock) {
        Ok(_) => {
            end(hall, knock);
            answer::text(StatusCode::OK, "")
        }
        Err((status, error)) => answer::error(status, &error),
    }
}

/// Whether a message whose id could not be read is answered with a null id: old sessions want it.
pub(crate) fn wants_null_id(hall: &Hall, knock: Knock<'_>) -> bool {
    find(hall, knock).is_ok_and(|it| !it.session.revision.omits_unknown_id())
}

/// The session that a request names.
pub(super) fn find(
    hall: &Hall,
    knock: Knock<'_>,
) -> Result<Arc<HttpSession>, (StatusCode, RpcError)> {
    let Some(id) = knock.headers.get(SESSION_ID) else {
        let text = "the header Mcp-Session-Id is missing; send `initialize` first, or give each \
                    request the headers and `_meta` of a revision without handshake";
        return Err((StatusCode::BAD_REQUEST, RpcError::invalid_request(text)));
    };
    match hall.lobby.sessions.find(&hall.lobby, knock.visitor, id) {
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

pub(super) fn end(hall: &Hall, knock: Knock<'_>) {
    if let Some(id) = knock.headers.get(SESSION_ID) {
        hall.lobby.sessions.end(&hall.lobby.settings, &knock.visitor.principal, id);
    }
}

/// Follows what belongs to no call, and sees to it that someone writes it down.
fn follow_general(hall: &Arc<Hall>, session: &Arc<HttpSession>) -> Follower {
    let (log, new) = session.general_stream(&hall.lobby);
    if new {
        let (lobby, session, log) = (hall.lobby.clone(), session.clone(), log.clone());
        let changes = session.session.changes(&lobby);
        hall.spawn(async move {
            let wire = Wire::Log(log.clone());
            // Also when nobody came back to the stream: who listens here keeps the session active.
            tokio::select! {
                () = listen_for(&lobby, &session.session, changes, &wire) => {}
                () = log.finished() => {}
            }
            log.finish();
        });
    }
    log.take_over(prime(&hall.lobby, session))
}

/// A stream for what calls say before their answers, if one can be had.
pub(super) fn open(hall: &Hall, session: &HttpSession) -> Option<(Arc<StreamLog>, Permit)> {
    let permit = hall.lobby.open_stream(&session.session.caller.principal).ok()?;
    Some((session.open_stream(&hall.lobby)?, permit))
}

/// The answer to a call as a stream.
pub(super) fn follow(
    hall: &Hall,
    visitor: &Visitor,
    session: &HttpSession,
    log: &Arc<StreamLog>,
    permit: Permit,
) -> Answer {
    let follower = log.follow(0, prime(&hall.lobby, session));
    answer::events(events::stream(&hall.lobby, visitor, follower, permit))
}

fn prime(lobby: &Lobby, session: &HttpSession) -> Option<std::time::Duration> {
    session.session.revision.has_priming_events().then_some(lobby.settings.retry)
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
