//! Requests that stand alone: checked against their own headers and `_meta`, run, answered.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::{
    Call, CallError, CallEvent, CallNotification, CallStream, ErrorKind, Input, Outcome, Reply,
};
use gantry_protocol::meta::key;
use gantry_protocol::{
    Id, Level, Method, ParamsHead, RawJson, ResultObject, Revision, RpcError, Trace, jsonrpc,
};
use gantry_transport::{LARGE, Offload, offload};

use super::errors::{self, Status};
use super::listen::Listening;
use super::parking::{Resumed, carry};
use super::parsed::ParsedRequest;
use super::request_context::RequestContext;
use super::task_table::{self, TaskReservation, TaskTable, Wish};
use super::{checks, discover};
use crate::client_identity::ClientIdentity;
use crate::headers::Headers;
use crate::server_state::ServerState;

/// The revision spoken here.
const REVISION: Revision = Revision::LATEST;

/// A request that was not run.
#[derive(Debug)]
pub(crate) struct AuthError {
    pub(crate) id: Id,
    pub(crate) error: RpcError,
    /// The HTTP status.
    pub(crate) status: u16,
}

/// A request that passed all checks.
pub(crate) enum Prepared {
    /// It is under way. On the heap, to be handed on at no cost.
    StatelessCall(Box<StatelessCall>),
    /// It is answered.
    Answered(Bytes),
    /// It opens a stream of changes.
    Listening(Box<Listening>),
}

/// Checks a request and starts it.
pub(crate) fn prepare(
    server_state: &Arc<ServerState>,
    client_identity: &ClientIdentity,
    parsed: ParsedRequest,
    headers: Option<&Headers>,
) -> Result<Prepared, AuthError> {
    let id = &parsed.id;
    let checked = checks::check(server_state, client_identity, &parsed, headers);
    let (caller, log_level) = checked.map_err(|refusal| refusal.of(id))?;
    let ParsedRequest { id, method, params, head, meta, waited } = parsed;
    let json_content = server_state.settings.json_content || caller.capabilities.json_content;
    let (token, trace) = (meta.progress_token, meta.trace.map(Arc::new));
    let request_context =
        RequestContext { id, method, params, token, caller, json_content, task: None };
    match request_context.method {
        Method::Discover => {
            let result = jsonrpc::result(
                &request_context.id,
                &discover::discover(server_state, &request_context.caller),
            );
            Ok(Prepared::Answered(result.into_bytes()))
        }
        Method::Listen => Listening::open(server_state, &request_context)
            .map(|listening| Prepared::Listening(Box::new(listening)))
            .map_err(|error| checks::Refused::from(error).of(&request_context.id)),
        _ => Ok(StatelessCall::start(
            server_state,
            request_context,
            head,
            log_level,
            // Over HTTP, where the headers are checked against the definition.
            headers.is_some().then_some(waited),
            trace,
        )),
    }
}

/// A request under way.
pub(crate) struct StatelessCall {
    server_state: Arc<ServerState>,
    pub(crate) request_context: RequestContext,
    running: Option<CallStream>,
    /// The task that the call is about to become.
    becoming: Option<TaskReservation>,
    /// A large result that is being made ready.
    finishing: Option<Offload<RawJson>>,
}

/// What to send next.
#[derive(Debug)]
pub(crate) enum Outbound {
    /// A notification.
    Notification(Bytes),
    /// The answer, and what goes with it over HTTP if nothing was sent before.
    Answer(jsonrpc::Reply, Status),
}

impl StatelessCall {
    fn start(
        server_state: &Arc<ServerState>,
        request_context: RequestContext,
        head: ParamsHead,
        log_level: Option<Level>,
        waited: Option<Duration>,
        trace: Option<Arc<Trace>>,
    ) -> Prepared {
        let (method, params) = (request_context.method.clone(), request_context.params.clone());
        let mut call = Call::with_head(method, params, head, request_context.caller.clone());
        // What it says of its progress is shown with a task.
        call.wants_progress =
            request_context.token.is_some() || request_context.caller.capabilities.tasks;
        call.log_level = log_level;
        call.trace = trace;
        call.takes_input_requests = true;
        call.waited = waited;
        let mut live = Box::new(Self {
            server_state: server_state.clone(),
            request_context,
            running: None,
            becoming: None,
            finishing: None,
        });
        if checks::method_of_tasks(&live.request_context.method) {
            live.running = Some(task_table::attend(server_state, &live.request_context, &call));
            return Prepared::StatelessCall(live);
        }
        match live.take_input(&mut call) {
            Ok(None) => live.running = Some(server_state.gateway.start(call)),
            Ok(Some(Resumed::CallStream(running))) => live.running = Some(running),
            Ok(Some(Resumed::Incomplete(again))) => {
                let answer = jsonrpc::result(&live.request_context.id, &live.named(again.into()));
                return Prepared::Answered(answer.into_bytes());
            }
            Ok(Some(Resumed::Carried(state))) => {
                call.input.state = state;
                live.running = Some(server_state.gateway.start(call));
            }
            Err(error) => {
                let error = errors::to_rpc(REVISION, error);
                return Prepared::Answered(
                    jsonrpc::error(&live.request_context.id, &error).into_bytes(),
                );
            }
        }
        Prepared::StatelessCall(live)
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
            Some(_) => self
                .server_state
                .parking
                .resume(&self.server_state, &self.request_context)
                .map(Some),
            None => Ok(None),
        }
    }

    /// What to send next; none when the answer has been given.
    pub(crate) async fn next(&mut self) -> Option<Outbound> {
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
            let step = self.running.as_mut()?.next_event().await;
            if let CallEvent::Notification(CallNotification::Task { message, poll_interval, ttl }) =
                step
            {
                self.becoming = self.reserve(Wish { message, poll_interval, ttl });
            } else if let Some(said) = self.say(step) {
                return Some(said);
            }
        }
    }

    /// Takes a place for a task, if this client takes one. Where none can be had, the call stays a
    /// call: its client is still there.
    fn reserve(&self, wish: Wish) -> Option<TaskReservation> {
        let caller = &self.request_context.caller;
        let takes = self.request_context.method == Method::ToolsCall && caller.capabilities.tasks;
        let request = self.request_context.params.bytes().len();
        takes.then(|| TaskTable::reserve(&self.server_state, caller, request, wish).ok()).flatten()
    }

    /// Lets the call run by itself, and answers with the task. Safe to drop and call again: what
    /// is needed to go on is given away only at the end.
    async fn become_task(&mut self) -> Option<Outbound> {
        if let Err(error) = self.becoming.as_ref()?.write_down().await {
            tracing::warn!(%error, "a task cannot be written down; its client waits for the call");
            self.becoming = None;
            return None;
        }
        let (reservation, running) = (self.becoming.take()?, self.running.take()?);
        let created = reservation.task().brief().value("resultType", "task").finish();
        reservation.begin(running);
        Some(self.answer(Ok(self.named(created.into()))))
    }

    fn say(&mut self, step: CallEvent) -> Option<Outbound> {
        match step {
            CallEvent::Notification(notification) => self
                .request_context
                .notification(REVISION, &notification)
                .map(Outbound::Notification),
            CallEvent::InputRequests(input_requests) => {
                let running = self.running.take()?;
                let asked = match self.request_context.method.takes_input() {
                    true => self.server_state.parking.park(
                        &self.server_state,
                        &self.request_context,
                        running,
                        input_requests,
                    ),
                    false => Err(CallError::new(
                        ErrorKind::ToolFailed,
                        "only a tool, a prompt or a resource may ask for input",
                    )),
                };
                Some(self.answer(asked.map(|result| self.named(result.into()))))
            }
            CallEvent::Done(outcome) => {
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
            Reply::Result(result) => Ok(self.named(self.request_context.lower(REVISION, result))),
            Reply::Page(page) => Ok(page.variant(REVISION as usize, |result| {
                self.named(self.request_context.lower(REVISION, result.clone().into()))
            })),
            Reply::InputRequired(required) => {
                carry(&self.server_state, &self.request_context, &required)
                    .map(|result| self.named(result.into()))
            }
        }
    }

    fn lower_elsewhere(&self, result: ResultObject) -> Offload<RawJson> {
        let (server_state, request_context) =
            (self.server_state.clone(), self.request_context.clone());
        offload(result.bytes().len(), move || {
            named(&server_state, request_context.lower(REVISION, result))
        })
    }

    fn answer(&self, result: Result<RawJson, CallError>) -> Outbound {
        match result {
            Ok(result) => {
                Outbound::Answer(jsonrpc::result(&self.request_context.id, &result), Status::OK)
            }
            Err(error) => {
                let error = errors::to_rpc(REVISION, error);
                let status = Status::of(&error);
                Outbound::Answer(jsonrpc::error(&self.request_context.id, &error), status)
            }
        }
    }

    fn named(&self, result: ResultObject) -> RawJson {
        named(&self.server_state, result)
    }
}

/// Every result says who made it.
fn named(server_state: &ServerState, result: ResultObject) -> RawJson {
    let Some(meta) = result.meta() else {
        return result.with(key::META, &server_state.signature);
    };
    if meta.get(key::SERVER_INFO).is_some() {
        return result.into_raw();
    }
    let info = server_state.gateway.identity().info.clone();
    let named = meta.edit().set(key::SERVER_INFO, info).apply();
    result.edit().set(key::META, named).apply()
}
