//! One task: a call that runs in the background, and its state as clients see it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use gantry_gateway::{
    CallError, Caller, ErrorKind, InputRequest, InputRequestError, Outcome, PendingInputRequest,
    Reply, TokenLease,
};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::timestamp;
pub(crate) use gantry_protocol::timestamp::millis;
use gantry_protocol::{RawJson, RpcError};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::stateless::parked_calls::is_response_to;
use crate::tasks::task_log::TaskRecord;

/// A running task, or one that has just ended.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) principal: Arc<str>,
    /// The token that it was started with.
    lease: Option<Arc<TokenLease>>,
    pub(crate) terms: TaskTerms,
    created: SystemTime,
    /// When its time to live is over.
    pub(crate) expires: Instant,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    pub(super) cancelled: CancellationToken,
}

/// The time to live of a task, its poll interval, and its first status message.
#[derive(Debug, Clone)]
pub(crate) struct TaskTerms {
    pub(crate) message: Option<String>,
    pub(crate) poll_interval: Duration,
    pub(crate) ttl: Duration,
}

#[derive(Debug)]
struct State {
    message: Option<String>,
    /// Whether the provider has said that the call runs long.
    runs_long: bool,
    updated: SystemTime,
    /// Keys of all input requests so far: none is used twice.
    keys: HashSet<String>,
    input_requests: Vec<PendingInputRequest>,
    end: Option<TaskEnd>,
}

impl Task {
    pub(crate) fn new(id: String, caller: &Caller, terms: TaskTerms) -> Self {
        let created = SystemTime::now();
        let message = terms.message.clone();
        let state = State {
            message,
            runs_long: false,
            updated: created,
            keys: HashSet::new(),
            input_requests: Vec::new(),
            end: None,
        };
        Self {
            expires: Instant::now() + terms.ttl,
            id,
            principal: caller.principal.clone(),
            lease: caller.lease.clone(),
            terms,
            created,
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
            cancelled: CancellationToken::new(),
        }
    }

    /// The state without result and input requests, to be completed by the caller.
    pub(crate) fn summary(&self) -> ObjectWriter {
        self.write(&self.state())
    }

    /// The full state, with input requests or the result.
    pub(crate) fn detail(&self) -> RawJson {
        let state = self.state();
        let summary = self.write(&state);
        match &state.end {
            None if state.open_requests().next().is_some() => {
                summary.raw("inputRequests", &state.input_requests_json()).finish()
            }
            Some(TaskEnd::Result(result)) => summary.raw("result", result).finish(),
            Some(TaskEnd::Error(error)) => summary.raw("error", &error.to_json()).finish(),
            None | Some(TaskEnd::Cancelled) => summary.finish(),
        }
    }

    /// The record for the task log.
    pub(crate) fn record(&self) -> TaskRecord {
        let text = ObjectWriter::new()
            .value("principal", &*self.principal)
            .raw("task", &self.detail())
            .finish();
        let expires = millis(self.created).saturating_add(whole_millis(self.terms.ttl));
        let principal = self.principal.to_string();
        TaskRecord { id: self.id.clone(), principal, expires, text }
    }

    fn write(&self, state: &State) -> ObjectWriter {
        ObjectWriter::with_capacity(256)
            .value("taskId", &self.id)
            .value("status", state.status())
            .value_some("statusMessage", state.message.as_deref())
            .value("createdAt", &timestamp::write(self.created))
            .value("lastUpdatedAt", &timestamp::write(state.updated))
            .value("ttlMs", &whole_millis(self.terms.ttl))
            .value("pollIntervalMs", &whole_millis(self.terms.poll_interval))
    }

    /// Waits until the token that it was started with is revoked or expires.
    pub(super) async fn revoked(&self) {
        match &self.lease {
            Some(lease) => lease.over().await,
            None => std::future::pending().await,
        }
    }

    /// Cancels it. Returns false if it had ended before.
    pub(crate) fn cancel(&self) -> bool {
        let was_running = self.finish(TaskEnd::Cancelled);
        self.cancelled.cancel();
        was_running
    }

    /// Sets its end, once. Returns false if it had ended before.
    pub(crate) fn finish(&self, end: TaskEnd) -> bool {
        let mut state = self.state();
        let was_running = state.end.is_none();
        if was_running {
            state.end = Some(end);
            state.input_requests.clear();
            self.update(state);
        }
        was_running
    }

    /// The outcome of its call, once it has ended.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.state().end.as_ref().map(TaskEnd::outcome)
    }

    /// Its input requests without a response.
    pub(crate) fn input_requests(&self) -> Vec<(String, InputRequest)> {
        self.state().open_requests().map(|it| (it.key.clone(), it.request.clone())).collect()
    }

    /// Subscribes to its changes.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Adds the responses to open input requests. Unknown keys are ignored; a response that does not
    /// have the shape of its request is an error, and then none is added.
    pub(crate) fn add_responses(&self, responses: &RawJson) -> Result<(), CallError> {
        let mut state = self.state();
        let wrong = state.input_requests.iter().find(|input_request| {
            responses
                .get(&input_request.key)
                .is_some_and(|it| !is_response_to(&input_request.request.method, &it))
        });
        if let Some(PendingInputRequest { key, request, .. }) = wrong {
            let text = format!("the response `{key}` is not a result of {}", request.method);
            return Err(CallError::invalid_params(text));
        }
        let has_response =
            |input_request: &mut PendingInputRequest| responses.get(&input_request.key).is_some();
        let answered: Vec<_> = state.input_requests.extract_if(.., has_response).collect();
        if answered.is_empty() {
            return Ok(());
        }
        self.update(state);
        for PendingInputRequest { key, answer, .. } in answered {
            let response = responses.get(&key).unwrap_or(RawJson::NULL);
            // The provider may have stopped waiting.
            let _ = answer.send(Ok(response));
        }
        Ok(())
    }

    /// Adds the response to one input request.
    pub(crate) fn add_response(&self, key: &str, response: Result<RawJson, InputRequestError>) {
        let mut state = self.state();
        let mut requests = state.input_requests.iter();
        let Some(index) = requests.position(|it| it.key == key) else { return };
        let input_request = state.input_requests.swap_remove(index);
        self.update(state);
        let _ = input_request.answer.send(response);
    }

    pub(super) fn add_input_requests(&self, input_requests: Vec<PendingInputRequest>) {
        let mut state = self.state();
        for mut input_request in input_requests {
            if state.keys.contains(&input_request.key) {
                input_request.key = format!("{}.{}", input_request.key, state.keys.len());
            }
            state.keys.insert(input_request.key.clone());
            state.input_requests.push(input_request);
        }
        self.update(state);
    }

    /// Whether the provider has said that the call runs long, or it has ended.
    pub(crate) fn runs_long(&self) -> bool {
        let state = self.state();
        state.runs_long || state.end.is_some()
    }

    pub(super) fn set_runs_long(&self) {
        self.state().runs_long = true;
    }

    pub(super) fn set_message(&self, message: String) {
        let mut state = self.state();
        state.message = Some(message);
        self.update(state);
    }

    pub(super) fn needs_input(&self) -> bool {
        self.state().open_requests().next().is_some()
    }

    fn update(&self, mut state: MutexGuard<'_, State>) {
        state.updated = SystemTime::now();
        drop(state);
        self.changed.send_replace(());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn status(&self) -> &'static str {
        match &self.end {
            None if self.open_requests().next().is_some() => "input_required",
            None => "working",
            Some(TaskEnd::Result(_)) => "completed",
            Some(TaskEnd::Error(_)) => "failed",
            Some(TaskEnd::Cancelled) => "cancelled",
        }
    }

    /// The input requests whose provider still waits.
    fn open_requests(&self) -> impl Iterator<Item = &PendingInputRequest> {
        self.input_requests.iter().filter(|input_request| !input_request.answer.is_closed())
    }

    fn input_requests_json(&self) -> RawJson {
        let write = |object: ObjectWriter, input_request: &PendingInputRequest| {
            object.raw(&input_request.key, &input_request.request.to_json())
        };
        self.open_requests().fold(ObjectWriter::new(), write).finish()
    }
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How a task ended.
#[derive(Debug, Clone)]
pub(crate) enum TaskEnd {
    /// With a result, which may be an error of the tool.
    Result(RawJson),
    Error(RpcError),
    Cancelled,
}

impl TaskEnd {
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Result(result) => Ok(Reply::result(result.clone())),
            Self::Error(error) => Err(to_call_error(error.clone())),
            Self::Cancelled => Err(CallError::new(ErrorKind::Cancelled, "the task was cancelled")),
        }
    }
}

/// The error of a call whose task ended with this error.
pub(crate) fn to_call_error(error: RpcError) -> CallError {
    let RpcError { code, message, data } = error;
    CallError { data, ..CallError::new(ErrorKind::Handler { code }, message) }
}
