//! One call of a session: plain JSON if it has nothing to say before its answer, else a stream.

use std::pin::pin;
use std::sync::Arc;

use gantry_gateway::{Call, Running, Step};
use gantry_protocol::jsonrpc;
use http::StatusCode;

use super::accept::Accept;
use super::alarm::Alarm;
use super::answer::Answer;
use super::session::{follow, open, whole};
use super::{Hall, answer};
use crate::doorman::Visitor;
use crate::duplex::in_use;
use crate::era::{HttpSession, StreamLog, Ticket, Wire, drive, finish};
use crate::lobby::Lobby;
use crate::underway::Enrolled;

/// A call of a session. If its connection is lost before it has said anything, it goes on: only
/// the client's word ends it.
struct Flight {
    lobby: Arc<Lobby>,
    session: Arc<HttpSession>,
    ticket: Ticket,
    /// Gone when the call is handed on.
    enrolled: Option<Enrolled>,
    running: Option<Running>,
}

/// Runs a call and answers it.
pub(crate) async fn run(
    hall: &Arc<Hall>,
    visitor: &Visitor,
    silence: &mut Alarm,
    session: &Arc<HttpSession>,
    accept: Accept,
    ticket: Ticket,
    call: Call,
) -> Answer {
    let Some(enrolled) = session.session.calls.enrol(&ticket.id) else {
        return whole(accept, jsonrpc::error(&ticket.id, &in_use()));
    };
    let running = Some(session.session.start(&hall.lobby, &ticket, call));
    let (lobby, session) = (hall.lobby.clone(), session.clone());
    let mut flight = Flight { lobby, session, ticket, enrolled: Some(enrolled), running };
    match flight.first(silence, accept).await {
        First::Answer(reply) => answer::reply(StatusCode::OK, reply),
        First::Cancelled => answer::accepted(),
        // On the heap: every connection keeps room for the largest future it may run.
        First::Step(step) => Box::pin(flight.go_on(hall, visitor, accept, step)).await,
    }
}

/// What a call does first.
enum First {
    Answer(jsonrpc::Reply),
    Cancelled,
    /// It says something, or is silent for so long that a stream should show that it is alive.
    Step(Option<Step>),
}

impl Flight {
    async fn first(&mut self, silence: &mut Alarm, accept: Accept) -> First {
        let (Some(running), Some(enrolled)) = (self.running.as_mut(), &self.enrolled) else {
            return First::Cancelled;
        };
        let step = async {
            tokio::select! {
                // Most calls are over when first looked at, and need no timer.
                biased;
                step = running.step() => Some(step),
                () = silence.after(self.lobby.settings.keep_alive), if accept.events => None,
            }
        };
        let step = enrolled.drive(pin!(step)).await;
        match step {
            None => {
                self.running = None;
                First::Cancelled
            }
            Some(Some(Step::Done(outcome))) if accept.json => {
                self.running = None;
                First::Answer(finish(&self.session.session, &self.ticket, outcome).await)
            }
            Some(step) => First::Step(step),
        }
    }

    /// Answers with a stream. A client that takes none, or has too many, still gets the answer.
    async fn go_on(
        mut self,
        hall: &Hall,
        visitor: &Visitor,
        accept: Accept,
        first: Option<Step>,
    ) -> Answer {
        let session = self.session.clone();
        match accept.events.then(|| open(hall, &session)).flatten() {
            Some((log, permit)) => {
                // The client follows before anything is said: it may be that it should hang up.
                let stream = follow(hall, visitor, &session, &log, permit);
                hall.spawn(self.fill(first, log));
                stream
            }
            None => match self.drive(first, &Wire::Nowhere).await {
                Some(reply) => answer::reply(StatusCode::OK, reply),
                None => answer::accepted(),
            },
        }
    }

    /// Writes what the call says, and its answer, into a stream.
    async fn fill(mut self, first: Option<Step>, log: Arc<StreamLog>) {
        if let Some(reply) = self.drive(first, &Wire::Log(log.clone())).await {
            log.push(reply.into_bytes()).await;
        }
        log.finish();
    }

    /// Runs to the end; none when the client gave up.
    async fn drive(&mut self, first: Option<Step>, wire: &Wire) -> Option<jsonrpc::Reply> {
        let (running, enrolled) = (self.running.as_mut()?, self.enrolled.as_ref()?);
        let driving = drive(&self.session.session, &self.ticket, running, first, wire);
        let reply = enrolled.drive(pin!(driving)).await;
        self.running = None;
        reply
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let (Some(mut running), Some(enrolled)) = (self.running.take(), self.enrolled.take())
        else {
            return;
        };
        let (session, ticket) = (self.session.clone(), self.ticket.clone());
        self.lobby.tasks.spawn(async move {
            let wire = Wire::Nowhere;
            let driving = drive(&session.session, &ticket, &mut running, None, &wire);
            enrolled.drive(pin!(driving)).await;
        });
    }
}
