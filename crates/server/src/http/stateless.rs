//! Requests that stand alone, over HTTP: one POST, one answer. When the client hangs up, the
//! response is dropped, and with it the call.

use std::sync::Arc;

use gantry_protocol::{Message, RpcError, jsonrpc};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};

use super::accept::Accept;
use super::alarm::Alarm;
use super::answer::Answer;
use super::endpoint::Course;
use super::entrance::Knock;
use super::events::{self, ListenEvents, LiveEvents};
use super::{Hall, answer};
use crate::doorman::Visitor;
use crate::era::{Arrival, Live, Prepared, Said, Status, prepare};
use crate::guest::Guest;

/// Takes what is no request.
pub(crate) fn take(message: &Message) -> Answer {
    match message {
        Message::Response(_) => {
            let error = RpcError::invalid_request("this revision knows no responses from clients");
            answer::error(StatusCode::BAD_REQUEST, &error)
        }
        // Nothing is cancelled by notification here, and nothing else is defined: it is taken.
        _ => answer::accepted(),
    }
}

/// Begins to serve one request.
pub(super) fn begin(hall: &Arc<Hall>, knock: Knock<'_>, request: Arrival) -> Course {
    let id = request.id.clone();
    let guest = Guest::passing(knock.visitor);
    Course::Answered(match prepare(&hall.lobby, &guest, request, Some(knock.headers)) {
        Ok(Prepared::Live(live)) => return Course::Alone(live),
        Ok(Prepared::Answered(text)) => answer::json(StatusCode::OK, text),
        Ok(Prepared::Listening(listening)) => {
            match hall.lobby.open_stream(&knock.visitor.principal) {
                Ok(permit) => {
                    let source = ListenEvents::new(*listening);
                    answer::events(events::stream(&hall.lobby, knock.visitor, source, permit))
                }
                Err(exceeded) => {
                    let reply = jsonrpc::error(&id, &exceeded.into());
                    answer::reply(StatusCode::TOO_MANY_REQUESTS, reply)
                }
            }
        }
        Err(refusal) => {
            let reply = jsonrpc::error(&refusal.id, &refusal.error);
            answer::reply(status(refusal.status), reply)
        }
    })
}

/// Answers with plain JSON if the call has nothing to say before its answer, with a stream if it
/// has, or if it is silent for so long that the connection might be taken for dead.
pub(super) async fn run(
    hall: &Arc<Hall>,
    visitor: &Visitor,
    silence: &mut Alarm,
    accept: Accept,
    mut live: Box<Live>,
) -> Answer {
    let mut patience = silence.after(hall.lobby.settings.keep_alive);
    let first = loop {
        tokio::select! {
            // Most calls are over when first looked at, and need no timer.
            biased;
            said = live.next() => match said {
                Some(Said::Answer(reply, status)) if accept.json => {
                    return answered(reply, status);
                }
                Some(Said::Notice(_)) if !accept.events => {}
                said => break said,
            },
            () = &mut patience, if accept.events => break None,
        }
    };
    match hall.lobby.open_stream(&visitor.principal) {
        Ok(permit) => {
            let source = LiveEvents { first, live };
            answer::events(events::stream(&hall.lobby, visitor, source, permit))
        }
        Err(_) => Box::pin(plain(live, first)).await,
    }
}

/// A call that has begun gets its answer, also when no stream can be had for what it says before.
async fn plain(mut live: Box<Live>, first: Option<Said>) -> Answer {
    let mut next = first;
    loop {
        if let Some(Said::Answer(reply, status)) = next {
            return answered(reply, status);
        }
        next = live.next().await;
        if next.is_none() {
            return answer::accepted();
        }
    }
}

fn answered(reply: jsonrpc::Reply, to: Status) -> Answer {
    let answer = answer::reply(status(to.code), reply);
    match to.retry_after {
        Some(seconds) => answer.with(RETRY_AFTER, HeaderValue::from(seconds)),
        None => answer,
    }
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::OK)
}
