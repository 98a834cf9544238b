//! The context of a running call, with which a provider reaches the client: progress, log messages, input requests,
//! cancellation.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Level, Method, RawJson, Trace};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::call::Call;
use crate::call_stream::{CallNotification, EventQueue};
use crate::caller::Caller;
use crate::filter::PolicyDecision;
use crate::input_request::{InputRequest, InputRequestError, PendingInputRequest, kind};
use crate::telemetry::Span;

pub use crate::call::CallNumber;

/// The context of a running call: how a provider reaches the client. Clones share it.
#[derive(Debug, Clone)]
pub struct CallContext(Arc<Line>);

#[derive(Debug)]
struct Line {
    number: CallNumber,
    call: Arc<Call>,
    wants_progress: bool,
    log_level: Option<Level>,
    event_queue: EventQueue,
    answer_within: Duration,
    state: Mutex<State>,
    /// Questions that were numbered.
    numbered: AtomicUsize,
    over: AtomicBool,
    ended: Notify,
    /// Whether the client has been told that it may hang up.
    hung_up: AtomicBool,
    /// Whether the provider has said that the call runs long.
    is_long: AtomicBool,
    /// Whether the call runs as a task, with no client waiting.
    is_task: AtomicBool,
    /// Whether a process was waiting for the call, once that is known.
    standby: OnceLock<bool>,
    /// Its place in a trace, if one is recorded here.
    span: OnceLock<Span>,
    /// What the policies decided, in order.
    decisions: Mutex<Vec<PolicyDecision>>,
}

#[derive(Debug, Default)]
struct State {
    /// Answers that came with the call, taken by key.
    responses: Option<RawJson>,
    /// The last progress value sent: values must rise.
    progress: Option<f64>,
    /// Questions open now, and since when.
    asking: usize,
    asking_since: Option<Instant>,
    /// Time spent waiting for answers before that.
    waited: Duration,
}

/// How far a call has come.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Must rise from notification to notification.
    pub progress: f64,
    /// What `progress` is when all is done, if known.
    pub total: Option<f64>,
    /// For people.
    pub message: Option<String>,
}

impl CallContext {
    /// The context of one call.
    pub(crate) fn new(call: Arc<Call>, notifications: usize, answer_within: Duration) -> Self {
        let state = State { responses: call.input.responses.clone(), ..State::default() };
        Self(Arc::new(Line {
            number: CallNumber::next(),
            wants_progress: call.wants_progress,
            log_level: call.log_level,
            call,
            event_queue: EventQueue::new(notifications),
            answer_within,
            state: Mutex::new(state),
            numbered: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            ended: Notify::new(),
            hung_up: AtomicBool::new(false),
            is_long: AtomicBool::new(false),
            is_task: AtomicBool::new(false),
            standby: OnceLock::new(),
            span: OnceLock::new(),
            decisions: Mutex::default(),
        }))
    }

    /// Which call it is.
    pub fn number(&self) -> CallNumber {
        self.0.number
    }

    /// The call as it came.
    pub fn call(&self) -> &Call {
        &self.0.call
    }

    /// Notes what a policy decided, for the record.
    pub fn note_decision(&self, decision: PolicyDecision) {
        self.0.decisions.lock().unwrap_or_else(PoisonError::into_inner).push(decision);
    }

    /// What the policies decided so far, in order.
    pub fn decisions(&self) -> Vec<PolicyDecision> {
        self.among_decisions(<[PolicyDecision]>::to_vec)
    }

    /// Looks at what the policies decided so far.
    pub fn among_decisions<T>(&self, look: impl FnOnce(&[PolicyDecision]) -> T) -> T {
        look(&self.0.decisions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives the call its place in a trace. The first word counts.
    pub fn set_span(&self, span: Span) {
        let _ = self.0.span.set(span);
    }

    /// The call's place in a trace, if one is recorded here.
    pub fn span(&self) -> Option<&Span> {
        self.0.span.get()
    }

    /// The trace to name to whatever stands behind the gateway: the one recorded here, or else the
    /// one that the call came with.
    pub fn trace(&self) -> Option<Arc<Trace>> {
        match self.span() {
            Some(span) => Some(Arc::new(span.onward())),
            None => self.0.call.trace.clone(),
        }
    }

    /// Who is on the other end.
    pub fn caller(&self) -> &Caller {
        &self.0.call.caller
    }

    /// Reports progress, if the client wants it. A value that does not rise is left out, and so
    /// is one that the client is too slow to take: the next one says more anyway.
    pub fn progress(&self, progress: &Progress) {
        if !self.0.wants_progress || !self.rises(progress.progress) {
            return;
        }
        let params = ObjectWriter::new()
            .value("progress", &whole(progress.progress))
            .value_some("total", progress.total.map(whole))
            .value_some("message", progress.message.as_deref())
            .finish();
        self.0.event_queue.try_push(CallNotification::Progress(params));
    }

    /// The same with params that come from elsewhere, whose other members are carried along.
    pub fn progress_raw(&self, params: RawJson) {
        let value = params.get("progress").and_then(|value| value.read::<f64>());
        if self.0.wants_progress && value.is_some_and(|value| self.rises(value)) {
            self.0.event_queue.try_push(CallNotification::Progress(params));
        }
    }

    /// Sends a log message whose params come from elsewhere, if the client wants messages of that
    /// severity.
    pub async fn log_raw(&self, level: Level, params: RawJson) {
        if self.0.log_level.is_some_and(|least| level >= least) {
            self.0.event_queue.push(CallNotification::Log(level, params)).await;
        }
    }

    /// Sends a log message, if the client wants messages of that severity.
    pub async fn log(&self, level: Level, logger: Option<&str>, data: &RawJson) {
        if self.0.log_level.is_none_or(|least| level < least) {
            return;
        }
        let params = ObjectWriter::new()
            .value("level", &level)
            .value_some("logger", logger)
            .raw("data", data)
            .finish();
        self.0.event_queue.push(CallNotification::Log(level, params)).await;
    }

    /// Notes, for the statistics, whether a process was waiting for this call. The first word
    /// counts.
    pub fn note_standby(&self, hit: bool) {
        let _ = self.0.standby.set(hit);
    }

    /// Whether a process was waiting for this call; none when nobody has said so.
    pub(crate) fn standby(&self) -> Option<bool> {
        self.0.standby.get().copied()
    }

    /// Lets a client that can come back later hang up until then. The first word counts: one that
    /// has come back wants to wait.
    pub fn hang_up(&self, retry: Duration) {
        if !self.0.hung_up.swap(true, Ordering::AcqRel) {
            self.0.event_queue.try_push(CallNotification::HangUp { retry });
        }
    }

    /// Says that the call runs long from here on: a client that can come back for the result may
    /// leave, and any other waits as before. What was known before should be asked before. The
    /// first word counts.
    pub fn become_task(
        &self,
        message: Option<String>,
        poll_interval: Option<Duration>,
        ttl: Option<Duration>,
    ) {
        if !self.0.is_long.swap(true, Ordering::AcqRel) {
            self.0.event_queue.push_beyond_limit(CallNotification::Task {
                message,
                poll_interval,
                ttl,
            });
        }
    }

    /// Whether the call runs by itself, with no client waiting for it.
    pub fn is_task(&self) -> bool {
        self.0.is_task.load(Ordering::Acquire)
    }

    pub(crate) fn run_by_itself(&self) {
        self.0.is_task.store(true, Ordering::Release);
    }

    /// Asks the client and waits for its answer. The key must be unique within the call.
    pub async fn ask(
        &self,
        key: &str,
        request: InputRequest,
    ) -> Result<RawJson, InputRequestError> {
        request.check(&self.0.call.caller.capabilities)?;
        if let Some(answer) = self.answered_before(key) {
            return Ok(answer);
        }
        self.ask_again(key, request).await
    }

    /// The same, whatever answers came with the call: who asks for leave must not take a word that
    /// was given before the request.
    pub async fn ask_again(
        &self,
        key: &str,
        request: InputRequest,
    ) -> Result<RawJson, InputRequestError> {
        request.check(&self.0.call.caller.capabilities)?;
        let (answer, answered) = oneshot::channel();
        let _waiting = Waiting::start(self);
        self.0.event_queue.push_input_request(PendingInputRequest {
            key: key.to_owned(),
            request,
            answer,
        });
        match tokio::time::timeout(self.0.answer_within, answered).await {
            Ok(answer) => answer.unwrap_or(Err(InputRequestError::Gone)),
            Err(_) => Err(InputRequestError::Unanswered(self.0.answer_within)),
        }
    }

    /// A key for an input request that has no name of its own.
    pub fn number_input_request(&self, method: &Method) -> String {
        let number = self.0.numbered.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{}-{number}", kind(method))
    }

    /// Whether the client gave up or left.
    pub fn is_cancelled(&self) -> bool {
        self.0.over.load(Ordering::Acquire)
    }

    /// Ends when the client gives up or leaves. Work that the call's own future does not own
    /// must watch this.
    pub async fn cancelled(&self) {
        loop {
            let ended = self.0.ended.notified();
            if self.is_cancelled() {
                return;
            }
            ended.await;
        }
    }

    /// How long the call has waited for its client, which is not counted against its deadline.
    pub fn waited(&self) -> Duration {
        let state = self.state();
        state.waited + state.asking_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether an input request is open.
    pub fn is_asking(&self) -> bool {
        self.state().asking > 0
    }

    pub(crate) fn event_queue(&self) -> &EventQueue {
        &self.0.event_queue
    }

    pub(crate) fn end(&self) {
        self.0.over.store(true, Ordering::Release);
        self.0.ended.notify_waiters();
    }

    fn answered_before(&self, key: &str) -> Option<RawJson> {
        self.state().responses.as_ref()?.get(key)
    }

    fn rises(&self, value: f64) -> bool {
        let mut state = self.state();
        let rises = value.is_finite() && state.progress.is_none_or(|last| value > last);
        if rises {
            state.progress = Some(value);
        }
        rises
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts an open input request as long as it is waited for.
struct Waiting<'a>(&'a CallContext);

impl<'a> Waiting<'a> {
    fn start(context: &'a CallContext) -> Self {
        let mut state = context.state();
        state.asking += 1;
        state.asking_since.get_or_insert_with(Instant::now);
        drop(state);
        Self(context)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.asking -= 1;
        if state.asking == 0 {
            let spent = state.asking_since.take().map_or(Duration::ZERO, |since| since.elapsed());
            state.waited += spent;
        }
    }
}

/// A whole number is written without a fraction, as people write it.
fn whole(value: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        return serde_json::Value::from(value as i64);
    }
    serde_json::Value::from(value)
}

#[cfg(test)]
mod tests;
