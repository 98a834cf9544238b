//! Stateless requests of modern clients: checked against their own headers and `_meta`, started,
//! and stepped to their response. When the client goes away, the call is dropped, which cancels it.

pub(crate) mod listen_stream;
pub(crate) mod parked_calls;
mod request_checks;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::{
    Call, CallError, CallEvent, CallNotification, CallStream, ErrorKind, Input, Outcome, Reply,
};
use gantry_protocol::meta::key;
use gantry_protocol::{
    Level, Method, ParamsHead, RawJson, ResultObject, Revision, RpcError, Trace, jsonrpc,
};
use gantry_transport::{LARGE, Offload, offload};

use crate::authenticator::ClientIdentity;
use crate::discover;
use crate::error_codes::{self, HttpStatus};
use crate::request::{ParsedRequest, RequestContext};
use crate::request_headers::Headers;
use crate::server_state::ServerState;
use crate::stateless::listen_stream::ListenStream;
use crate::stateless::parked_calls::{Resumed, carry};
use crate::tasks::task_requests::start_task_request;
use crate::tasks::{TaskOptions, TaskReservation, TaskTable};

/// The revision of this era.
const REVISION: Revision = Revision::LATEST;

/// Why a request was not started.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(crate) error: RpcError,
    /// The HTTP status.
    pub(crate) status: u16,
}

impl From<RpcError> for Rejection {
    fn from(error: RpcError) -> Self {
        Self { status: error_codes::status(&error), error }
    }
}

/// A request that passed all checks.
pub(crate) enum Started {
    /// A call in flight. Boxed, so that it is cheap to move.
    Call(Box<StatelessCall>),
    /// The response is ready.
    Replied(Bytes),
    /// A stream of changes.
    Listen(Box<ListenStream>),
}

/// Checks a request and starts it. `headers` are those of its HTTP request.
pub(crate) fn start(
    server_state: &Arc<ServerState>,
    client: &ClientIdentity,
    request: ParsedRequest,
    headers: Option<&Headers>,
) -> Result<Started, Rejection> {
    let (caller, log_level) = request_checks::check(server_state, client, &request, headers)?;
    let ParsedRequest { id, method, params, head, meta, waited } = request;
    let json_content = server_state.settings.json_content || caller.capabilities.json_content;
    let (token, trace) = (meta.progress_token, meta.trace.map(Arc::new));
    let request_context =
        RequestContext { id, method, params, token, caller, json_content, task: None };
    match request_context.method {
        Method::Discover => {
            let result = discover::discover(server_state, &request_context.caller);
            Ok(Started::Replied(jsonrpc::result(&request_context.id, &result).into_bytes()))
        }
        Method::Listen => {
            let stream = ListenStream::open(server_state, &request_context)?;
            Ok(Started::Listen(Box::new(stream)))
        }
        _ => {
            // Only HTTP waits, where the headers are checked against the definition.
            let waited = headers.is_some().then_some(waited);
            Ok(StatelessCall::start(server_state, request_context, head, log_level, waited, trace))
        }
    }
}

/// A call in flight.
pub(crate) struct StatelessCall {
    server_state: Arc<ServerState>,
    pub(crate) request_context: RequestContext,
    stream: Option<CallStream>,
    /// The task that the call is about to become.
    reservation: Option<TaskReservation>,
    /// A large result that is being lowered on a blocking thread.
    lowering: Option<Offload<RawJson>>,
}

/// A message to the client.
#[derive(Debug)]
pub(crate) enum Outbound {
    Notification(Bytes),
    /// The response, with the HTTP status for the case that nothing was sent before.
    Response(jsonrpc::Reply, HttpStatus),
}

impl Outbound {
    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Notification(message) => message,
            Self::Response(reply, _) => reply.into_bytes(),
        }
    }
}

impl StatelessCall {
    fn start(
        server_state: &Arc<ServerState>,
        request_context: RequestContext,
        head: ParamsHead,
        log_level: Option<Level>,
        waited: Option<Duration>,
        trace: Option<Arc<Trace>>,
    ) -> Started {
        let (method, params) = (request_context.method.clone(), request_context.params.clone());
        let mut call = Call::with_head(method, params, head, request_context.caller.clone());
        // The last progress message is shown as the status of a task.
        call.wants_progress =
            request_context.token.is_some() || request_context.caller.capabilities.tasks;
        call.log_level = log_level;
        call.trace = trace;
        call.takes_input_requests = true;
        call.waited = waited;
        let mut own = Box::new(Self {
            server_state: server_state.clone(),
            request_context,
            stream: None,
            reservation: None,
            lowering: None,
        });
        if request_checks::is_task_method(&own.request_context.method) {
            own.stream = Some(start_task_request(server_state, &own.request_context, &call));
            return Started::Call(own);
        }
        match own.resume(&mut call) {
            Ok(None) => own.stream = Some(server_state.gateway.start(call)),
            Ok(Some(Resumed::Call(stream))) => own.stream = Some(stream),
            Ok(Some(Resumed::Incomplete(result))) => {
                let result = own.signed(result.into());
                let reply = jsonrpc::result(&own.request_context.id, &result);
                return Started::Replied(reply.into_bytes());
            }
            Ok(Some(Resumed::Carried(state))) => {
                call.input.state = state;
                own.stream = Some(server_state.gateway.start(call));
            }
            Err(error) => {
                let error = error_codes::to_rpc(REVISION, error);
                let reply = jsonrpc::error(&own.request_context.id, &error);
                return Started::Replied(reply.into_bytes());
            }
        }
        Started::Call(own)
    }

    /// Reads the `inputResponses` and `requestState` of a retry, and finds the call it resumes.
    fn resume(&self, call: &mut Call) -> Result<Option<Resumed>, CallError> {
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
                .parked_calls
                .resume(&self.server_state, &self.request_context)
                .map(Some),
            None => Ok(None),
        }
    }

    /// The next message; none after the response. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Outbound> {
        loop {
            // Boxed, since few calls become tasks and every call has room for its largest future.
            if self.reservation.is_some()
                && let Some(message) = Box::pin(self.become_task()).await
            {
                return Some(message);
            }
            if let Some(lowering) = &mut self.lowering {
                let result = lowering.await;
                self.lowering = None;
                return Some(self.respond(Ok(result)));
            }
            let event = self.stream.as_mut()?.next_event().await;
            if let CallEvent::Notification(CallNotification::Task { message, poll_interval, ttl }) =
                event
            {
                self.reservation = self.reserve(TaskOptions { message, poll_interval, ttl });
            } else if let Some(message) = self.handle_event(event) {
                return Some(message);
            }
        }
    }

    /// Reserves a task, if this client supports tasks. Without quota for one, the call stays a call:
    /// its client is still there.
    fn reserve(&self, options: TaskOptions) -> Option<TaskReservation> {
        let caller = &self.request_context.caller;
        let takes = self.request_context.method == Method::ToolsCall && caller.capabilities.tasks;
        let request = self.request_context.params.bytes().len();
        takes
            .then(|| TaskTable::reserve(&self.server_state, caller, request, options).ok())
            .flatten()
    }

    /// Turns the call into a task, and responds with it. Cancel safe: nothing is moved out before
    /// the last await.
    async fn become_task(&mut self) -> Option<Outbound> {
        if let Err(error) = self.reservation.as_ref()?.persist().await {
            tracing::warn!(%error, "cannot write to the task log; the client waits for the call");
            self.reservation = None;
            return None;
        }
        let (reservation, stream) = (self.reservation.take()?, self.stream.take()?);
        let created = reservation.task().summary().value("resultType", "task").finish();
        reservation.spawn(stream);
        Some(self.respond(Ok(self.signed(created.into()))))
    }

    fn handle_event(&mut self, event: CallEvent) -> Option<Outbound> {
        match event {
            CallEvent::Notification(notification) => self
                .request_context
                .notification(REVISION, &notification)
                .map(Outbound::Notification),
            CallEvent::InputRequests(input_requests) => {
                let stream = self.stream.take()?;
                let parked = match self.request_context.method.takes_input() {
                    true => self.server_state.parked_calls.park(
                        &self.server_state,
                        &self.request_context,
                        stream,
                        input_requests,
                    ),
                    false => Err(CallError::new(
                        ErrorKind::ToolFailed,
                        "only a tool, a prompt or a resource may ask for input",
                    )),
                };
                Some(self.respond(parked.map(|result| self.signed(result.into()))))
            }
            CallEvent::Done(outcome) => {
                self.stream = None;
                let outcome = match outcome {
                    Ok(Reply::Result(large)) if large.bytes().len() > LARGE => {
                        self.lowering = Some(self.lower_offloaded(large));
                        return None;
                    }
                    outcome => outcome,
                };
                let lowered = self.lower(outcome);
                Some(self.respond(lowered))
            }
        }
    }

    fn lower(&self, outcome: Outcome) -> Result<RawJson, CallError> {
        match outcome? {
            Reply::Result(result) => Ok(self.signed(self.request_context.lower(REVISION, result))),
            Reply::Page(page) => Ok(page.variant(REVISION as usize, |result| {
                self.signed(self.request_context.lower(REVISION, result.clone().into()))
            })),
            Reply::InputRequired(required) => {
                carry(&self.server_state, &self.request_context, &required)
                    .map(|result| self.signed(result.into()))
            }
        }
    }

    fn lower_offloaded(&self, result: ResultObject) -> Offload<RawJson> {
        let (server_state, request_context) =
            (self.server_state.clone(), self.request_context.clone());
        offload(result.bytes().len(), move || {
            signed(&server_state, request_context.lower(REVISION, result))
        })
    }

    fn respond(&self, result: Result<RawJson, CallError>) -> Outbound {
        match result {
            Ok(result) => {
                let reply = jsonrpc::result(&self.request_context.id, &result);
                Outbound::Response(reply, HttpStatus::OK)
            }
            Err(error) => {
                let error = error_codes::to_rpc(REVISION, error);
                let status = HttpStatus::of(&error);
                Outbound::Response(jsonrpc::error(&self.request_context.id, &error), status)
            }
        }
    }

    fn signed(&self, result: ResultObject) -> RawJson {
        signed(&self.server_state, result)
    }
}

/// Adds the server info to `_meta` of a result, unless an upstream server's is there.
fn signed(server_state: &ServerState, result: ResultObject) -> RawJson {
    let Some(meta) = result.meta() else {
        return result.with(key::META, &server_state.signature);
    };
    if meta.get(key::SERVER_INFO).is_some() {
        return result.into_raw();
    }
    let info = server_state.gateway.identity().info.clone();
    let signed = meta.edit().set(key::SERVER_INFO, info).apply();
    result.edit().set(key::META, signed).apply()
}
