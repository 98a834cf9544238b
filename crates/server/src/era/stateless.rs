//! Requests that stand alone: checked against their own headers and `_meta`, run, answered.

use std::sync::Arc;

use bytes::Bytes;
use gantry_gateway::{Call, CallError, ErrorKind, Input, Notice, Outcome, Reply, Running, Step};
use gantry_protocol::meta::key;
use gantry_protocol::{
    Id, Level, Method, ParamsHead, RawJson, ResultObject, Revision, RpcError, Trace, jsonrpc,
};
use gantry_transport::{LARGE, Offload, offload};

use super::arrival::Arrival;
use super::errors::{self, Status};
use super::listen::Listening;
use super::parking::{Resumed, carry};
use super::task_book::{self, Admission, TaskBook, Wish};
use super::ticket::Ticket;
use super::{checks, discover};
use crate::guest::Guest;
use crate::headers::Headers;
use crate::lobby::Lobby;

/// The revision spoken here.
const REVISION: Revision = Revision::LATEST;

/// A request that was not run.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) id: Id,
    pub(crate) error: RpcError,
    /// The HTTP status.
    pub(crate) status: u16,
}

/// A request that passed all checks.
pub(crate) enum Prepared {
    /// It is under way. On the heap, to be handed on at no cost.
    Live(Box<Live>),
    /// It is answered.
    Answered(Bytes),
    /// It opens a stream of changes.
    Listening(Box<Listening>),
}

/// Checks a request and starts it.
pub(crate) fn prepare(
    lobby: &Arc<Lobby>,
    guest: &Guest,
    arrival: Arrival,
    headers: Option<&Headers>,
) -> Result<Prepared, Refusal> {
    let id = &arrival.id;
    let checked = checks::check(lobby, guest, &arrival, headers);
    let (caller, log_level) = checked.map_err(|refusal| refusal.of(id))?;
    let Arrival { id, method, params, head, meta } = arrival;
    let json_content = lobby.settings.json_content || caller.capabilities.json_content;
    let (token, trace) = (meta.progress_token, meta.trace.map(Arc::new));
    let ticket = Ticket { id, method, params, token, caller, json_content, task: None };
    match ticket.method {
        Method::Discover => {
            let result = jsonrpc::result(&ticket.id, &discover::discover(lobby, &ticket.caller));
            Ok(Prepared::Answered(result.into_bytes()))
        }
        Method::Listen => Listening::open(lobby, &ticket)
            .map(|listening| Prepared::Listening(Box::new(listening)))
            .map_err(|error| checks::Refused::from(error).of(&ticket.id)),
        _ => Ok(Live::start(lobby, ticket, head, (log_level, headers.is_some()), trace)),
    }
}

/// A request under way.
pub(crate) struct Live {
    lobby: Arc<Lobby>,
    pub(crate) ticket: Ticket,
    running: Option<Running>,
    /// The task that the call is about to become.
    becoming: Option<Admission>,
    /// A large result that is being made ready.
    finishing: Option<Offload<RawJson>>,
}

/// What to send next.
#[derive(Debug)]
pub(crate) enum Said {
    /// A notification.
    Notice(Bytes),
    /// The answer, and what goes with it over HTTP if nothing was sent before.
    Answer(jsonrpc::Reply, Status),
}

impl Live {
    fn start(
        lobby: &Arc<Lobby>,
        ticket: Ticket,
        head: ParamsHead,
        (log_level, has_waited): (Option<Level>, bool),
        trace: Option<Arc<Trace>>,
    ) -> Prepared {
        let (method, params) = (ticket.method.clone(), ticket.params.clone());
        let mut call = Call::with_head(method, params, head, ticket.caller.clone());
        // What it says of its progress is shown with a task.
        call.wants_progress = ticket.token.is_some() || ticket.caller.capabilities.tasks;
        call.log_level = log_level;
        call.trace = trace;
        call.takes_questions = true;
        call.has_waited = has_waited;
        let mut live = Box::new(Self {
            lobby: lobby.clone(),
            ticket,
            running: None,
            becoming: None,
            finishing: None,
        });
        if checks::method_of_tasks(&live.ticket.method) {
            live.running = Some(task_book::attend(lobby, &live.ticket, &call));
            return Prepared::Live(live);
        }
        match live.take_input(&mut call) {
            Ok(None) => live.running = Some(lobby.gateway.start(call)),
            Ok(Some(Resumed::Running(running))) => live.running = Some(running),
            Ok(Some(Resumed::Incomplete(again))) => {
                let answer = jsonrpc::result(&live.ticket.id, &live.named(again.into()));
                return Prepared::Answered(answer.into_bytes());
            }
            Ok(Some(Resumed::Carried(state))) => {
                call.input.state = state;
                live.running = Some(lobby.gateway.start(call));
            }
            Err(error) => {
                let error = errors::to_rpc(REVISION, error);
                return Prepared::Answered(jsonrpc::error(&live.ticket.id, &error).into_bytes());
            }
        }
        Prepared::Live(live)
    }

    /// Reads what a retry brings along, and finds what it continues.
    fn take_input(&self, call: &mut Call) -> Result<Option<Resumed>, CallError> {
        if !call.method.takes_input() {
            return Ok(None);
        }
        let responses = call.head.input_responses.clone();
        if responses.as_ref().is_some_and(|responses| !responses.is_object()) {
            return Err(CallError::invalid_params("`inputResponses` must be an object"));
        }
        call.input = Input { responses, state: None };
        match call.head.request_state {
            Some(_) => self.lobby.parking.resume(&self.lobby, &self.ticket).map(Some),
            None => Ok(None),
        }
    }

    /// What to send next; none when the answer has been given.
    pub(crate) async fn next(&mut self) -> Option<Said> {
        loop {
            if self.becoming.is_some()
                && let Some(said) = Box::pin(self.become_task()).await
            {
                return Some(said);
            }
            if let Some(finishing) = &mut self.finishing {
                let result = finishing.await;
                self.finishing = None;
                return Some(self.answer(Ok(result)));
            }
            let step = self.running.as_mut()?.step().await;
            if let Step::Notice(Notice::Task { message, poll_interval, ttl }) = step {
                self.becoming = self.admit(Wish { message, poll_interval, ttl });
            } else if let Some(said) = self.say(step) {
                return Some(said);
            }
        }
    }

    /// Takes a place for a task, if this client takes one. Where none can be had, the call stays a
    /// call: its client is still there.
    fn admit(&self, wish: Wish) -> Option<Admission> {
        let caller = &self.ticket.caller;
        let takes = self.ticket.method == Method::ToolsCall && caller.capabilities.tasks;
        let request = self.ticket.params.bytes().len();
        takes.then(|| TaskBook::admit(&self.lobby, caller, request, wish).ok()).flatten()
    }

    /// Lets the call run by itself, and answers with the task. Safe to drop and call again: what
    /// is needed to go on is given away only at the end.
    async fn become_task(&mut self) -> Option<Said> {
        if let Err(error) = self.becoming.as_ref()?.write_down().await {
            tracing::warn!(%error, "a task cannot be written down; its client waits for the call");
            self.becoming = None;
            return None;
        }
        let (admission, running) = (self.becoming.take()?, self.running.take()?);
        let created = admission.task().brief().value("resultType", "task").finish();
        admission.begin(running);
        Some(self.answer(Ok(self.named(created.into()))))
    }

    fn say(&mut self, step: Step) -> Option<Said> {
        match step {
            Step::Notice(notice) => self.ticket.notification(REVISION, &notice).map(Said::Notice),
            Step::Questions(questions) => {
                let running = self.running.take()?;
                let asked = match self.ticket.method.takes_input() {
                    true => self.lobby.parking.park(&self.lobby, &self.ticket, running, questions),
                    false => Err(CallError::new(
                        ErrorKind::ToolFailed,
                        "only a tool, a prompt or a resource may ask for input",
                    )),
                };
                Some(self.answer(asked.map(|result| self.named(result.into()))))
            }
            Step::Done(outcome) => {
                self.running = None;
                let outcome = match outcome {
                    Ok(Reply::Result(large)) if large.bytes().len() > LARGE => {
                        self.finishing = Some(self.lower_elsewhere(large));
                        return None;
                    }
                    outcome => outcome,
                };
                let lowered = self.lower(outcome);
                Some(self.answer(lowered))
            }
        }
    }

    fn lower(&self, outcome: Outcome) -> Result<RawJson, CallError> {
        match outcome? {
            Reply::Result(result) => Ok(self.named(self.ticket.lower(REVISION, result))),
            Reply::Page(page) => Ok(page.variant(REVISION as usize, |result| {
                self.named(self.ticket.lower(REVISION, result.clone().into()))
            })),
            Reply::InputRequired(required) => {
                carry(&self.lobby, &self.ticket, &required).map(|result| self.named(result.into()))
            }
        }
    }

    fn lower_elsewhere(&self, result: ResultObject) -> Offload<RawJson> {
        let (lobby, ticket) = (self.lobby.clone(), self.ticket.clone());
        offload(result.bytes().len(), move || named(&lobby, ticket.lower(REVISION, result)))
    }

    fn answer(&self, result: Result<RawJson, CallError>) -> Said {
        match result {
            Ok(result) => Said::Answer(jsonrpc::result(&self.ticket.id, &result), Status::OK),
            Err(error) => {
                let error = errors::to_rpc(REVISION, error);
                let status = Status::of(&error);
                Said::Answer(jsonrpc::error(&self.ticket.id, &error), status)
            }
        }
    }

    fn named(&self, result: ResultObject) -> RawJson {
        named(&self.lobby, result)
    }
}

/// Every result says who made it.
fn named(lobby: &Lobby, result: ResultObject) -> RawJson {
    let Some(meta) = result.meta() else {
        return result.with(key::META, &lobby.signature);
    };
    if meta.get(key::SERVER_INFO).is_some() {
        return result.into_raw();
    }
    let info = lobby.gateway.identity().info.clone();
    let named = meta.edit().set(key::SERVER_INFO, info).apply();
    result.edit().set(key::META, named).apply()
}
