//! One call of a session: plain JSON if it has nothing to say before its answer, else a stream.

use std::pin::pin;
use std::sync::Arc;

use gantry_gateway::{Call, CallEvent, CallStream};
use gantry_protocol::jsonrpc;
use http::StatusCode;

use super::accept::Accept;
use super::answer::Answer;
use super::session::{follow, open, whole};
use super::timer::ReusableTimer;
use super::{HttpState, answer};
use crate::authenticator::Identity;
use crate::duplex::in_use;
use crate::era::{HttpSession, RequestContext, StreamLog, Wire, drive, finish};
use crate::in_flight::InFlightGuard;
use crate::server_state::ServerState;

/// A call of a session. If its connection is lost before it has said anything, it goes on: only
/// the client's word ends it.
struct SessionCall {
    server_state: Arc<ServerState>,
    session: Arc<HttpSession>,
    request_context: RequestContext,
    /// Gone when the call is handed on.
    guard: Option<InFlightGuard>,
    running: Option<CallStream>,
}

/// Runs a call and answers it.
pub(crate) async fn run(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    silence: &mut ReusableTimer,
    session: &Arc<HttpSession>,
    accept: Accept,
    request_context: RequestContext,
    call: Call,
) -> Answer {
    let Some(guard) = session.session.calls.register(&request_context.id) else {
        return whole(accept, jsonrpc::error(&request_context.id, &in_use()));
    };
    let running = Some(session.session.start(&http_state.server_state, &request_context, call));
    let (server_state, session) = (http_state.server_state.clone(), session.clone());
    let mut session_call =
        SessionCall { server_state, session, request_context, guard: Some(guard), running };
    match session_call.first(silence, accept).await {
        First::Answer(reply) => answer::reply(StatusCode::OK, reply),
        First::Cancelled => answer::accepted(),
        // On the heap: every connection keeps room for the largest future it may run.
        First::CallEvent(step) => {
            Box::pin(session_call.go_on(http_state, identity, accept, step)).await
        }
    }
}

/// What a call does first.
enum First {
    Answer(jsonrpc::Reply),
    Cancelled,
    /// It says something, or is silent for so long that a stream should show that it is alive.
    CallEvent(Option<CallEvent>),
}

impl SessionCall {
    async fn first(&mut self, silence: &mut ReusableTimer, accept: Accept) -> First {
        let (Some(running), Some(guard)) = (self.running.as_mut(), &self.guard) else {
            return First::Cancelled;
        };
        let step = async {
            tokio::select! {
                // Most calls are over when first looked at, and need no timer.
                biased;
                step = running.next_event() => Some(step),
                () = silence.after(self.server_state.settings.keep_alive), if accept.events => None,
            }
        };
        let step = guard.drive(pin!(step)).await;
        match step {
            None => {
                self.running = None;
                First::Cancelled
            }
            Some(Some(CallEvent::Done(outcome))) if accept.json => {
                self.running = None;
                First::Answer(finish(&self.session.session, &self.request_context, outcome).await)
            }
            Some(step) => First::CallEvent(step),
        }
    }

    /// Answers with a stream. A client that takes none, or has too many, still gets the answer.
    async fn go_on(
        mut self,
        http_state: &HttpState,
        identity: &Identity,
        accept: Accept,
        first: Option<CallEvent>,
    ) -> Answer {
        let session = self.session.clone();
        match accept.events.then(|| open(http_state, &session)).flatten() {
            Some((log, permit)) => {
                // The client follows before anything is said: it may be that it should hang up.
                let stream = follow(http_state, identity, &session, &log, permit);
                http_state.spawn(self.fill(first, log));
                stream
            }
            None => match self.drive(first, &Wire::Nowhere).await {
                Some(reply) => answer::reply(StatusCode::OK, reply),
                None => answer::accepted(),
            },
        }
    }

    /// Writes what the call says, and its answer, into a stream.
    async fn fill(mut self, first: Option<CallEvent>, log: Arc<StreamLog>) {
        if let Some(reply) = self.drive(first, &Wire::Log(log.clone())).await {
            log.push(reply.into_bytes()).await;
        }
        log.finish();
    }

    /// Runs to the end; none when the client gave up.
    async fn drive(&mut self, first: Option<CallEvent>, wire: &Wire) -> Option<jsonrpc::Reply> {
        let (running, guard) = (self.running.as_mut()?, self.guard.as_ref()?);
        let driving = drive(&self.session.session, &self.request_context, running, first, wire);
        let reply = guard.drive(pin!(driving)).await;
        self.running = None;
        reply
    }
}

impl Drop for SessionCall {
    fn drop(&mut self) {
        let (Some(mut running), Some(guard)) = (self.running.take(), self.guard.take()) else {
            return;
        };
        let (session, request_context) = (self.session.clone(), self.request_context.clone());
        self.server_state.tasks.spawn(async move {
            let wire = Wire::Nowhere;
            let driving = drive(&session.session, &request_context, &mut running, None, &wire);
            guard.drive(pin!(driving)).await;
        });
    }
}
