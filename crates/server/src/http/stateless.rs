//! Requests that stand alone, over HTTP: one POST, one answer. When the client hangs up, the
//! response is dropped, and with it the call.

use std::sync::Arc;

use gantry_protocol::{Message, RpcError, jsonrpc};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};

use super::accept::Accept;
use super::answer::Answer;
use super::auth::AuthedRequest;
use super::endpoint::Dispatch;
use super::events::{self, ListenEvents, LiveEvents};
use super::timer::ReusableTimer;
use super::{HttpState, answer};
use crate::authenticator::Identity;
use crate::client_identity::ClientIdentity;
use crate::era::{Outbound, ParsedRequest, Prepared, StatelessCall, Status, prepare};

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
pub(super) fn begin(
    http_state: &Arc<HttpState>,
    authed: AuthedRequest<'_>,
    request: ParsedRequest,
) -> Dispatch {
    let id = request.id.clone();
    let client_identity = ClientIdentity::passing(authed.identity);
    Dispatch::Answered(
        match prepare(&http_state.server_state, &client_identity, request, Some(authed.headers)) {
            Ok(Prepared::StatelessCall(live)) => return Dispatch::Alone(live),
            Ok(Prepared::Answered(text)) => answer::json(StatusCode::OK, text),
            Ok(Prepared::Listening(listening)) => {
                match http_state.server_state.open_stream(&authed.identity.principal) {
                    Ok(permit) => {
                        let source = ListenEvents::new(*listening);
                        answer::events(events::stream(
                            &http_state.server_state,
                            authed.identity,
                            source,
                            permit,
                        ))
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
        },
    )
}

/// Answers with plain JSON if the call has nothing to say before its answer, with a stream if it
/// has, or if it is silent for so long that the connection might be taken for dead.
pub(super) async fn run(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    silence: &mut ReusableTimer,
    accept: Accept,
    mut live: Box<StatelessCall>,
) -> Answer {
    let mut write_timeout = silence.after(http_state.server_state.settings.keep_alive);
    let first = loop {
        tokio::select! {
            // Most calls are over when first looked at, and need no timer.
            biased;
            said = live.next() => match said {
                Some(Outbound::Answer(reply, status)) if accept.json => {
                    return answered(reply, status);
                }
                Some(Outbound::Notification(_)) if !accept.events => {}
                said => break said,
            },
            () = &mut write_timeout, if accept.events => break None,
        }
    };
    match http_state.server_state.open_stream(&identity.principal) {
        Ok(permit) => {
            let source = LiveEvents { first, live };
            answer::events(events::stream(&http_state.server_state, identity, source, permit))
        }
        Err(_) => Box::pin(plain(live, first)).await,
    }
}

/// A call that has begun gets its answer, also when no stream can be had for what it says before.
async fn plain(mut live: Box<StatelessCall>, first: Option<Outbound>) -> Answer {
    let mut next = first;
    loop {
        if let Some(Outbound::Answer(reply, status)) = next {
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
