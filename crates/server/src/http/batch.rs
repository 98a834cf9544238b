//! Several messages of a session in one POST, which only 2025-03-26 knows.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use gantry_protocol::RpcError;
use gantry_protocol::jsonrpc::{self, Batch};
use http::StatusCode;
use tokio::sync::oneshot;

use super::accept::Accept;
use super::answer::Answer;
use super::auth::AuthedRequest;
use super::session::{end, find, follow, open};
use super::{HttpState, answer};
use crate::duplex::{Begun, UNKNOWN, begin, sort, to_array};
use crate::era::{HttpSession, StreamLog, Wire, drive};
use crate::server_state::ServerState;

/// Serves several messages in one array.
pub(crate) async fn serve(
    http_state: &Arc<HttpState>,
    authed: AuthedRequest<'_>,
    accept: Accept,
    messages: Batch,
) -> Answer {
    let session = find(http_state, authed).ok().filter(|it| it.session.revision.has_batches());
    let Some(session) = session else {
        return answer::error(StatusCode::BAD_REQUEST, &RpcError::invalid_request(UNKNOWN));
    };
    let sorted = match sort(&messages, http_state.server_state.settings.batch) {
        Ok(sorted) => sorted,
        Err(error) => return answer::error(StatusCode::BAD_REQUEST, &error),
    };
    if sorted.notifications.iter().any(|notification| session.session.hear(notification)) {
        end(http_state, authed);
    }
    sorted.responses.into_iter().for_each(|response| session.session.take(response));
    if sorted.requests.is_empty() && sorted.replies.is_empty() {
        return answer::accepted();
    }
    let begun = begin(&http_state.server_state, &session.session, sorted.requests);
    let stream = accept.events.then(|| open(http_state, &session)).flatten();
    let wire = stream.as_ref().map_or(Wire::Nowhere, |(log, _)| Wire::Log(log.clone()));
    let gathering = gather(http_state.server_state.clone(), session.clone(), begun, wire);
    match stream {
        Some((log, permit)) => {
            let stream = follow(http_state, authed.identity, &session, &log, permit);
            http_state.spawn(async move {
                push_all(&log, sorted.replies).await;
                push_all(&log, gathering.await).await;
                log.finish();
            });
            stream
        }
        None => {
            let mut replies = sorted.replies;
            // Calls of a session go on without their connection.
            let (done, gathered) = oneshot::channel();
            http_state.spawn(async move {
                let _ = done.send(gathering.await);
            });
            replies.extend(gathered.await.unwrap_or_default());
            answer::json(StatusCode::OK, to_array(&replies))
        }
    }
}

async fn push_all(log: &StreamLog, messages: Vec<Bytes>) {
    for message in messages {
        log.push(message).await;
    }
}

/// Runs the requests of a batch side by side.
async fn gather(
    server_state: Arc<ServerState>,
    session: Arc<HttpSession>,
    requests: Vec<Begun>,
    wire: Wire,
) -> Vec<Bytes> {
    let answers = requests.into_iter().map(async |begun| {
        let (request_context, call, guard) = match begun {
            Begun::Answered(reply) => return Some(reply.into_bytes()),
            Begun::Call(request_context, call, guard) => (request_context, *call, guard),
        };
        let mut running = server_state.gateway.start(call);
        let driving = drive(&session.session, &request_context, &mut running, None, &wire);
        let reply = guard.drive(pin!(driving)).await;
        reply.map(jsonrpc::Reply::into_bytes)
    });
    join_all(answers).await.into_iter().flatten().collect()
}
