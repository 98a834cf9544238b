//! Sessions over HTTP: calls that survive a lost connection, streams that can be taken up again.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use gantry_gateway::{Call, Running, Step};
use gantry_protocol::jsonrpc::{self, Malformed};
use gantry_protocol::{Message, RpcError, code, headers};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tokio_util::sync::CancellationToken;

use super::accept::Accept;
use super::body::Body;
use super::endpoint::{header, refuse};
use super::{Hall, answer, events};
use crate::duplex::{Begun, UNKNOWN, begin, in_use, sort, to_array, too_many};
use crate::era::{
    Arrival, Follower, Handled, Handshake, HttpSession, SessionLookup, StreamLog, Ticket, Wire,
    drive, finish, listen_for, mint,
};
use crate::lobby::{Lobby, StreamPermit};

const SESSION_ID: HeaderName = HeaderName::from_static(headers::SESSION_ID);

/// Opens a session.
pub(crate) fn initialize(hall: &Hall, request: &Arrival) -> Response<Body> {
    let handshake = Handshake::read(&hall.lobby, &hall.lobby.local, request);
    let Handshake { session, answer: text } = match handshake {
        Ok(handshake) => handshake,
        Err(error) => return answer::reply(StatusCode::OK, jsonrpc::error(&request.id, &error)),
    };
    let mut response = answer::json(StatusCode::OK, text);
    let id = mint(&hall.lobby, &session).and_then(|id| HeaderValue::from_maybe_shared(id).ok());
    if let Some(id) = id {
        response.headers_mut().insert(SESSION_ID, id);
    }
    response
}

/// Serves one request of a session.
pub(crate) async fn serve(
    hall: &Arc<Hall>,
    headers: &HeaderMap,
    accept: Accept,
    request: Arrival,
) -> Response<Body> {
    let session = match find(hall, headers) {
        Ok(session) => session,
        Err((status, error)) => return refuse(&request.id, status, &error),
    };
    match session.session.handle(&hall.lobby, request) {
        Handled::Answered(reply) => whole(accept, reply),
        Handled::Call(ticket, call) => run(hall, &session, accept, ticket, *call).await,
    }
}

/// Takes what is no request.
pub(crate) fn take(hall: &Hall, headers: &HeaderMap, message: Message) -> Response<Body> {
    let session = match find(hall, headers) {
        Ok(session) => session,
        Err((status, error)) => return answer::error(status, &error),
    };
    match message {
        Message::Notification(notification) if session.session.hear(&notification) => {
            end(hall, headers);
        }
        Message::Response(response) => session.session.take(response),
        _ => {}
    }
    answer::accepted()
}

/// Opens a stream, or takes one up again.
pub(crate) fn get(hall: &Arc<Hall>, headers: &HeaderMap) -> Response<Body> {
    if !Accept::read(headers).events {
        let error = RpcError::invalid_request("the Accept header must list text/event-stream");
        return answer::error(StatusCode::NOT_ACCEPTABLE, &error);
    }
    let session = match find(hall, headers) {
        Ok(session) => session,
        Err((status, error)) => return answer::error(status, &error),
    };
    let Some(permit) = hall.lobby.open_stream() else {
        return busy();
    };
    let place = header(headers, headers::LAST_EVENT_ID);
    let resumed = place.and_then(|place| session.find_stream(place));
    let follower = match resumed {
        Some((log, after)) => log.follow(after, prime(&hall.lobby, &session)),
        None => follow_general(hall, &session),
    };
    answer::events(events::stream(&hall.lobby, follower, permit))
}

/// Ends a session.
pub(crate) fn delete(hall: &Hall, headers: &HeaderMap) -> Response<Body> {
    match find(hall, headers) {
        Ok(_) => {
            end(hall, headers);
            answer::text(StatusCode::OK, "")
        }
        Err((status, error)) => answer::error(status, &error),
    }
}

/// Serves several messages in one array.
pub(crate) async fn batch(
    hall: &Arc<Hall>,
    headers: &HeaderMap,
    accept: Accept,
    messages: Vec<Result<Message, Malformed>>,
) -> Response<Body> {
    let session = find(hall, headers).ok().filter(|it| it.session.revision.has_batches());
    let Some(session) = session else {
        return answer::error(StatusCode::BAD_REQUEST, &RpcError::invalid_request(UNKNOWN));
    };
    if let Some(error) = too_many(messages.len(), hall.lobby.settings.batch) {
        return answer::error(StatusCode::BAD_REQUEST, &error);
    }
    let sorted = sort(messages);
    if sorted.notifications.iter().any(|notification| session.session.hear(notification)) {
        end(hall, headers);
    }
    sorted.responses.into_iter().for_each(|response| session.session.take(response));
    if sorted.requests.is_empty() && sorted.replies.is_empty() {
        return answer::accepted();
    }
    let begun = begin(&hall.lobby, &session.session, sorted.requests);
    let stream = accept.events.then(|| open(hall, &session)).flatten();
    let wire = stream.as_ref().map_or(Wire::Nowhere, |(log, _)| Wire::Log(log.clone()));
    let gathering = gather(hall.lobby.clone(), session.clone(), begun, wire);
    match stream {
        Some((log, permit)) => {
            push_all(&log, sorted.replies);
            let filled = log.clone();
            hall.spawn(async move {
                push_all(&filled, gathering.await);
                filled.finish();
            });
            follow(hall, &session, &log, permit)
        }
        None => {
            let mut replies = sorted.replies;
            replies.extend(gathering.await);
            answer::json(StatusCode::OK, to_array(&replies))
        }
    }
}

fn push_all(log: &StreamLog, messages: Vec<Bytes>) {
    for message in messages {
        log.push(message);
    }
}

/// Runs the requests of a batch side by side.
async fn gather(
    lobby: Arc<Lobby>,
    session: Arc<HttpSession>,
    requests: Vec<Begun>,
    wire: Wire,
) -> Vec<Bytes> {
    let answers = requests.into_iter().map(async |begun| {
        let (ticket, call, token) = match begun {
            Begun::Answered(reply) => return Some(reply.into_bytes()),
            Begun::Call(ticket, call, token) => (ticket, *call, token),
        };
        let mut running = lobby.gateway.start(call);
        let driving = drive(&session.session, &ticket, &mut running, None, &wire);
        let reply = token.run_until_cancelled(driving).await;
        session.session.end(&ticket.id);
        reply.map(jsonrpc::Reply::into_bytes)
    });
    join_all(answers).await.into_iter().flatten().collect()
}

/// A call of a session. If its connection is lost before it has said anything, it goes on: only
/// the client's word ends it.
struct Flight {
    lobby: Arc<Lobby>,
    session: Arc<HttpSession>,
    ticket: Ticket,
    token: CancellationToken,
    running: Option<Running>,
}

async fn run(
    hall: &Arc<Hall>,
    session: &Arc<HttpSession>,
    accept: Accept,
    ticket: Ticket,
    call: Call,
) -> Response<Body> {
    let Some(token) = session.session.begin(&ticket.id) else {
        return whole(accept, jsonrpc::error(&ticket.id, &in_use()));
    };
    let running = Some(hall.lobby.gateway.start(call));
    let (lobby, session) = (hall.lobby.clone(), session.clone());
    let mut flight = Flight { lobby, session, ticket, token, running };
    let first = match flight.first(accept).await {
        First::Answer(reply) => return answer::reply(StatusCode::OK, reply),
        First::Cancelled => return answer::accepted(),
        First::Step(step) => step,
    };
    let session = flight.session.clone();
    let stream = accept.events.then(|| open(hall, &session)).flatten();
    // A client that takes no stream, or has too many, still gets the answer.
    let Some((log, permit)) = stream else {
        return match flight.drive(first, &Wire::Nowhere).await {
            Some(reply) => answer::reply(StatusCode::OK, reply),
            None => answer::accepted(),
        };
    };
    let filled = log.clone();
    hall.spawn(async move {
        if let Some(reply) = flight.drive(first, &Wire::Log(filled.clone())).await {
            filled.push(reply.into_bytes());
        }
        filled.finish();
    });
    follow(hall, &session, &log, permit)
}

/// What a call does first.
enum First {
    Answer(jsonrpc::Reply),
    Cancelled,
    /// It says something, or is silent for so long that a stream should show that it is alive.
    Step(Option<Step>),
}

impl Flight {
    async fn first(&mut self, accept: Accept) -> First {
        let Some(running) = self.running.as_mut() else {
            return First::Cancelled;
        };
        let step = tokio::select! {
            // Most calls are over when first looked at, and need no timer.
            biased;
            step = running.step() => step,
            () = self.token.cancelled() => {
                self.running = None;
                return First::Cancelled;
            }
            () = tokio::time::sleep(self.lobby.settings.keep_alive), if accept.events => {
                return First::Step(None);
            }
        };
        match step {
            Step::Done(outcome) if accept.json => {
                self.running = None;
                First::Answer(finish(&self.session.session, &self.ticket, outcome))
            }
            step => First::Step(Some(step)),
        }
    }

    /// Runs to the end; none when the client gave up.
    async fn drive(&mut self, first: Option<Step>, wire: &Wire) -> Option<jsonrpc::Reply> {
        let running = self.running.as_mut()?;
        let driving = drive(&self.session.session, &self.ticket, running, first, wire);
        let reply = self.token.run_until_cancelled(driving).await;
        self.running = None;
        reply
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else {
            self.session.session.end(&self.ticket.id);
            return;
        };
        let (session, ticket) = (self.session.clone(), self.ticket.clone());
        let token = self.token.clone();
        self.lobby.tasks.spawn(async move {
            let wire = Wire::Nowhere;
            let driving = drive(&session.session, &ticket, &mut running, None, &wire);
            token.run_until_cancelled(driving).await;
            session.session.end(&ticket.id);
        });
    }
}

/// Whether a message whose id could not be read is answered with a null id: old sessions want it.
pub(crate) fn wants_null_id(hall: &Hall, headers: &HeaderMap) -> bool {
    find(hall, headers).is_ok_and(|it| !it.session.revision.omits_unknown_id())
}

/// The session that a request names.
fn find(hall: &Hall, headers: &HeaderMap) -> Result<Arc<HttpSession>, (StatusCode, RpcError)> {
    let Some(id) = header(headers, headers::SESSION_ID) else {
        let text = "the header Mcp-Session-Id is missing; send `initialize` first, or give each \
                    request the headers and `_meta` of a revision without handshake";
        return Err((StatusCode::BAD_REQUEST, RpcError::invalid_request(text)));
    };
    match hall.lobby.sessions.find(&hall.lobby, &hall.lobby.local, id) {
        SessionLookup::Found(session) => Ok(session),
        SessionLookup::Unknown => {
            let text = "this session is unknown or has ended; send `initialize` for a new one";
            Err((StatusCode::NOT_FOUND, RpcError::invalid_request(text)))
        }
        SessionLookup::Full => {
            let error = RpcError::new(code::LIMIT_EXCEEDED, "as many sessions are busy as may be");
            Err((StatusCode::SERVICE_UNAVAILABLE, error))
        }
    }
}

fn end(hall: &Hall, headers: &HeaderMap) {
    if let Some(id) = header(headers, headers::SESSION_ID) {
        hall.lobby.sessions.end(&hall.lobby.settings, id);
    }
}

/// Follows what belongs to no call, and sees to it that someone writes it down.
fn follow_general(hall: &Arc<Hall>, session: &Arc<HttpSession>) -> Follower {
    let (log, new) = session.general_stream(&hall.lobby);
    if new {
        let (lobby, session, log) = (hall.lobby.clone(), session.clone(), log.clone());
        hall.spawn(async move {
            listen_for(&lobby, &session.session, &Wire::Log(log.clone())).await;
            log.finish();
        });
    }
    log.take_over(prime(&hall.lobby, session))
}

/// A stream for what calls say before their answers, if one can be had.
fn open(hall: &Hall, session: &HttpSession) -> Option<(Arc<StreamLog>, StreamPermit)> {
    let permit = hall.lobby.open_stream()?;
    Some((session.open_stream(&hall.lobby)?, permit))
}

/// The answer to a call as a stream.
fn follow(
    hall: &Hall,
    session: &HttpSession,
    log: &Arc<StreamLog>,
    permit: StreamPermit,
) -> Response<Body> {
    let follower = log.follow(0, prime(&hall.lobby, session));
    answer::events(events::stream(&hall.lobby, follower, permit))
}

fn prime(lobby: &Lobby, session: &HttpSession) -> Option<std::time::Duration> {
    session.session.revision.has_priming_events().then_some(lobby.settings.retry)
}

/// An answer that is ready at once, in a form the client takes.
fn whole(accept: Accept, reply: jsonrpc::Reply) -> Response<Body> {
    match accept.json {
        true => answer::reply(StatusCode::OK, reply),
        false => {
            let event = gantry_transport::sse::Event::message(reply.into_bytes());
            answer::events(Body::whole(event.encode()))
        }
    }
}

fn busy() -> Response<Body> {
    let text = "as many streams are open as may be; close one or try again later";
    let error = RpcError::new(code::LIMIT_EXCEEDED, text);
    answer::error(StatusCode::TOO_MANY_REQUESTS, &error)
}
