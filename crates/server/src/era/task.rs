//! One task: a call that its door lets run by itself, and what can be seen of it meanwhile.

mod driver;
mod end;

pub(super) use driver::drive;
pub(super) use end::{End, failed};
pub(crate) use gantry_protocol::timestamp::millis;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use gantry_gateway::{
    CallError, Caller, InputRequest, InputRequestError, Outcome, PendingInputRequest, TokenLease,
};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::parking::fits;
use crate::task_log::TaskRecord;

/// A task under way, or one that has just ended.
#[derive(Debug)]
pub(crate) struct Task {
    pub(super) id: String,
    pub(super) principal: Arc<str>,
    /// The credential that it was begun with.
    lease: Option<Arc<TokenLease>>,
    pub(super) terms: Terms,
    created: SystemTime,
    /// When it is no longer known.
    pub(super) until: Instant,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    /// Says that its call is to be given up.
    cancelled: CancellationToken,
}

/// How long a task is known, and how often it is worth asking.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) message: Option<String>,
    pub(super) poll_interval: Duration,
    pub(super) ttl: Duration,
}

#[derive(Debug)]
struct State {
    message: Option<String>,
    /// Whether its call has said that it runs long.
    runs_long: bool,
    updated: SystemTime,
    /// Keys of the questions asked so far: none is used twice.
    asked: HashSet<String>,
    open: Vec<PendingInputRequest>,
    end: Option<End>,
}

impl Task {
    pub(super) fn new(id: String, caller: &Caller, terms: Terms) -> Self {
        let created = SystemTime::now();
        let message = terms.message.clone();
        let state = State {
            message,
            runs_long: false,
            updated: created,
            asked: HashSet::new(),
            open: Vec::new(),
            end: None,
        };
        Self {
            until: Instant::now() + terms.ttl,
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

    /// What a client sees of it: who it is and how it is.
    pub(super) fn brief(&self) -> ObjectWriter {
        self.write(&self.state())
    }

    /// The same with what it asks or what it came to.
    pub(super) fn detail(&self) -> RawJson {
        let state = self.state();
        let brief = self.write(&state);
        match &state.end {
            None if state.requires_credentials().next().is_some() => {
                brief.raw("inputRequests", &state.requests()).finish()
            }
            Some(End::Result(result)) => brief.raw("result", result).finish(),
            Some(End::Error(error)) => brief.raw("error", &error.to_json()).finish(),
            None | Some(End::Cancelled) => brief.finish(),
        }
    }

    /// What is written down of it.
    pub(super) fn record(&self) -> TaskRecord {
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
            .value("createdAt", &gantry_protocol::timestamp::write(self.created))
            .value("lastUpdatedAt", &gantry_protocol::timestamp::write(state.updated))
            .value("ttlMs", &whole_millis(self.terms.ttl))
            .value("pollIntervalMs", &whole_millis(self.terms.poll_interval))
    }

    /// Waits until the credential that it was begun with is no longer good.
    async fn revoked(&self) {
        match &self.lease {
            Some(lease) => lease.over().await,
            None => std::future::pending().await,
        }
    }

    /// Gives up its call. Returns false when it had ended before.
    pub(super) fn cancel(&self) -> bool {
        let alive = self.finish(End::Cancelled);
        self.cancelled.cancel();
        alive
    }

    /// Ends it, unless it has ended. Returns whether this was the end.
    pub(super) fn finish(&self, end: End) -> bool {
        let mut state = self.state();
        let alive = state.end.is_none();
        if alive {
            state.end = Some(end);
            state.open.clear();
            self.touch(state);
        }
        alive
    }

    /// What it came to, once it has ended.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.state().end.as_ref().map(End::outcome)
    }

    /// The questions that nobody has answered yet.
    pub(super) fn input_requests(&self) -> Vec<(String, InputRequest)> {
        self.state().requires_credentials().map(|it| (it.key.clone(), it.request.clone())).collect()
    }

    /// Hears of changes.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Takes those answers that fit an open question. Others are passed over, but one that is no
    /// answer to its question is an error, and then none is taken.
    pub(super) fn answer_all(&self, responses: &RawJson) -> Result<(), CallError> {
        let mut state = self.state();
        let wrong = state.open.iter().find(|input_request| {
            responses
                .get(&input_request.key)
                .is_some_and(|it| !fits(&input_request.request.method, &it))
        });
        if let Some(PendingInputRequest { key, request: ask, .. }) = wrong {
            let text = format!("the answer `{key}` is not a result of {}", ask.method);
            return Err(CallError::invalid_params(text));
        }
        let answered =
            |input_request: &mut PendingInputRequest| responses.get(&input_request.key).is_some();
        let taken: Vec<_> = state.open.extract_if(.., answered).collect();
        if taken.is_empty() {
            return Ok(());
        }
        self.touch(state);
        for PendingInputRequest { key, answer, .. } in taken {
            let response = responses.get(&key).unwrap_or(RawJson::NULL);
            // The asker may have stopped waiting.
            let _ = answer.send(Ok(response));
        }
        Ok(())
    }

    /// Takes the answer to one question.
    pub(super) fn answer(&self, key: &str, response: Result<RawJson, InputRequestError>) {
        let mut state = self.state();
        let Some(place) = state.open.iter().position(|input_request| input_request.key == key)
        else {
            return;
        };
        let input_request = state.open.swap_remove(place);
        self.touch(state);
        let _ = input_request.answer.send(response);
    }

    fn ask(&self, input_requests: Vec<PendingInputRequest>) {
        let mut state = self.state();
        for mut input_request in input_requests {
            if state.asked.contains(&input_request.key) {
                input_request.key = format!("{}.{}", input_request.key, state.asked.len());
            }
            state.asked.insert(input_request.key.clone());
            state.open.push(input_request);
        }
        self.touch(state);
    }

    /// Whether its call has said that it runs long. Nobody waits for one that has ended.
    pub(super) fn runs_long(&self) -> bool {
        let state = self.state();
        state.runs_long || state.end.is_some()
    }

    fn run_long(&self) {
        self.state().runs_long = true;
    }

    fn say(&self, message: String) {
        let mut state = self.state();
        state.message = Some(message);
        self.touch(state);
    }

    fn is_asking(&self) -> bool {
        self.state().requires_credentials().next().is_some()
    }

    fn touch(&self, mut state: MutexGuard<'_, State>) {
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
            None if self.requires_credentials().next().is_some() => "input_required",
            None => "working",
            Some(End::Result(_)) => "completed",
            Some(End::Error(_)) => "failed",
            Some(End::Cancelled) => "cancelled",
        }
    }

    /// Who asked may have stopped waiting.
    fn requires_credentials(&self) -> impl Iterator<Item = &PendingInputRequest> {
        self.open.iter().filter(|input_request| !input_request.answer.is_closed())
    }

    fn requests(&self) -> RawJson {
        let write = |object: ObjectWriter, input_request: &PendingInputRequest| {
            object.raw(&input_request.key, &input_request.request.to_json())
        };
        self.requires_credentials().fold(ObjectWriter::new(), write).finish()
    }
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
