//! Batch calls: several calls in one request (`gantry/batch`). Independent calls run concurrently, and
//! a call can use the results of earlier ones.
//!
//! Each call is started with [`Gateway::start`] like any other, so it passes the same pipeline. The batch
//! polls all of them in one future without a task of its own: dropping it cancels every call.

mod batch_outcome;
mod plan;
mod reference;
mod tool_calls;

use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson};
use gantry_transport::offload;
use tokio::time::Instant;

use self::batch_outcome::{BatchOutcome, State};
use self::plan::{Plan, Planned};
use self::reference::{Reference, pointed};
use crate::call::Call;
use crate::call_stream::{CallEvent, CallNotification};
use crate::context::{CallContext, Progress};
use crate::error::CallError;
use crate::gateway::{Gateway, Settings};
use crate::input_request::PendingInputRequest;
use crate::provider::{Outcome, Reply};

pub use self::tool_calls::in_calls;

/// Takes a batch all the way. Dropping it gives up every call of it that is under way.
pub(crate) async fn run(
    gateway: Arc<Gateway>,
    call: Arc<Call>,
    call_context: CallContext,
) -> Outcome {
    let (reader, plan) = (gateway.clone(), call.params.clone());
    let read = move || Plan::read(&plan, reader.settings());
    let plan = offload(call.params.bytes().len(), read).await?;
    let states = plan.calls.iter().map(|_| State::Waiting).collect();
    let input_requests =
        Arc::new(InputRequests::new(call_context.clone(), call.takes_input_requests));
    let room = gateway.settings().batch_results;
    let batch = Batch {
        gateway,
        call,
        call_context,
        input_requests,
        plan,
        states,
        failed: None,
        room,
        searched: Arc::default(),
    };
    Ok(Reply::result(batch.run().await))
}

/// A batch under way.
struct Batch {
    gateway: Arc<Gateway>,
    call: Arc<Call>,
    call_context: CallContext,
    input_requests: Arc<InputRequests>,
    plan: Plan,
    /// How far each call of the plan is.
    states: Vec<State>,
    /// The first call that failed.
    failed: Option<usize>,
    /// Bytes that more results may have.
    room: usize,
    /// Bytes of results that were looked through for references.
    searched: Arc<AtomicUsize>,
}

/// A call before the results that it refers to are filled in.
struct Filling {
    gateway: Arc<Gateway>,
    planned: Arc<Planned>,
    /// The results that it needs, by the ids of their calls.
    results: HashMap<String, RawJson>,
    searched: Arc<AtomicUsize>,
}

impl Batch {
    async fn run(mut self) -> RawJson {
        let places = self.settings().batch_parallel.max(1);
        let mut under_way = FuturesUnordered::new();
        loop {
            while under_way.len() < places
                && let Some(index) = self.ready()
            {
                match self.prepare(index) {
                    Ok(filling) => {
                        self.states[index] = State::UnderWay;
                        under_way.push(self.serve(index, filling));
                    }
                    Err(batch_outcome) => self.end(index, *batch_outcome),
                }
            }
            // When nothing is under way nothing waits: the plan has no circles.
            let next = poll_fn(|context| {
                let next = under_way.poll_next_unpin(context);
                if next.is_pending() {
                    self.input_requests.release(under_way.len());
                }
                next
            });
            let Some((index, batch_outcome)) = next.await else { break };
            self.end(index, batch_outcome);
        }
        drop(under_way);
        self.result()
    }

    /// The next call that waits for no other.
    fn ready(&self) -> Option<usize> {
        let is_over = |index: &usize| matches!(self.states[*index], State::Over(_));
        let waits = |index: &usize| matches!(self.states[*index], State::Waiting);
        let mut waiting = (0..self.states.len()).filter(waits);
        waiting.find(|index| self.plan.calls[*index].needs.iter().all(is_over))
    }

    /// The call with the results that it needs, or how it ends without being made.
    fn prepare(&self, index: usize) -> Result<Filling, Box<BatchOutcome>> {
        let planned = &self.plan.calls[index];
        let skipped = |reason: String| Box::new(BatchOutcome::Skipped { reason });
        let failed = planned.needs.iter().find(|it| !self.states[**it].is_good());
        if let Some(failed) = failed {
            return Err(skipped(format!("it needs `{}`, which failed", self.id(*failed))));
        }
        if let Some(failed) = self.failed.filter(|_| self.plan.stops) {
            return Err(skipped(format!("`{}` failed before", self.id(failed))));
        }
        let result = |it: &usize| Some((self.id(*it).to_owned(), self.states[*it].result()?));
        Ok(Filling {
            gateway: self.gateway.clone(),
            planned: planned.clone(),
            results: planned.needs.iter().filter_map(result).collect(),
            searched: self.searched.clone(),
        })
    }

    /// Makes one call. Its questions and log messages become those of the batch.
    fn serve(
        &self,
        index: usize,
        filling: Filling,
    ) -> impl Future<Output = (usize, BatchOutcome)> + use<> {
        let (id, call_context) = (self.id(index).to_owned(), self.call_context.clone());
        let (asking, gateway) = (self.input_requests.clone(), self.gateway.clone());
        let whole = self.call.clone();
        async move {
            // A result may be large, and each reference into it is a search from its beginning.
            let (method, params) = match offload(filling.size(), move || filling.fill()).await {
                Ok(filled) => filled,
                Err(error) => return (index, BatchOutcome::unmade(&error)),
            };
            let mut call = Call::new(method, params, whole.caller.clone());
            call.log_level = whole.log_level;
            call.trace = whole.trace.clone();
            let mut running = gateway.start(call);
            let started = Instant::now();
            loop {
                match running.next_event().await {
                    CallEvent::Notification(notification @ CallNotification::Log(..)) => {
                        call_context.event_queue().send(notification).await
                    }
                    // How far a batch is says how many of its calls are over.
                    CallEvent::Notification(_) => {}
                    CallEvent::InputRequests(input_requests) => {
                        asking.ask(index, &id, input_requests)
                    }
                    CallEvent::Done(outcome) => {
                        return (index, BatchOutcome::of(outcome, started.elapsed()));
                    }
                }
            }
        }
    }

    fn end(&mut self, index: usize, batch_outcome: BatchOutcome) {
        self.input_requests.forget(index);
        let batch_outcome = match self.room.checked_sub(batch_outcome.bytes()) {
            Some(room) => {
                self.room = room;
                batch_outcome
            }
            // The call was made: what it did stays done.
            None => batch_outcome.too_large(self.settings().batch_results),
        };
        if !batch_outcome.is_good() {
            self.failed.get_or_insert(index);
        }
        let message = Some(format!("{} {}", self.id(index), batch_outcome.status()));
        self.states[index] = State::Over(Box::new(batch_outcome));
        let over = self.states.iter().filter(|it| matches!(it, State::Over(_))).count();
        let total = Some(self.states.len() as f64);
        self.call_context.progress(&Progress { progress: over as f64, total, message });
    }

    fn result(&self) -> RawJson {
        let entries: Vec<RawJson> =
            self.plan.calls.iter().zip(&self.states).filter_map(entry).collect();
        ObjectWriter::new().array("results", &entries).value("resultType", "complete").finish()
    }

    fn id(&self, index: usize) -> &str {
        &self.plan.calls[index].id
    }

    fn settings(&self) -> &Settings {
        self.gateway.settings()
    }
}

impl Filling {
    /// Bytes to look through.
    fn size(&self) -> usize {
        self.planned.size() + self.results.values().map(|it| it.bytes().len()).sum::<usize>()
    }

    /// The method and its parameters with everything filled in.
    fn fill(self) -> Result<(Method, RawJson), CallError> {
        let settings = self.gateway.settings();
        let mut room = settings.batch_filled;
        self.planned.params(&mut |reference: &Reference| {
            let Reference { id, path } = reference;
            let mut searched = 0;
            let value = self.results.get(id).and_then(|it| pointed(it, path, &mut searched));
            let before = self.searched.fetch_add(searched, Ordering::Relaxed);
            if before.saturating_add(searched) > settings.batch_searched {
                let limit = settings.batch_searched;
                return Err(CallError::invalid_params(format!(
                    "the references of the batch look through more than {limit} bytes of results; \
                     refer less often, or to smaller results"
                )));
            }
            let value = value.ok_or_else(|| {
                CallError::invalid_params(format!("the result of `{id}` has nothing at `{path}`"))
            })?;
            room = room.checked_sub(value.bytes().len()).ok_or_else(|| {
                let limit = settings.batch_filled;
                CallError::invalid_params(format!(
                    "the results filled in are larger than {limit} bytes together"
                ))
            })?;
            Ok(value)
        })
    }
}

fn entry((planned, state): (&Arc<Planned>, &State)) -> Option<RawJson> {
    match state {
        State::Over(batch_outcome) => Some(batch_outcome.to_json(&planned.id)),
        State::Waiting | State::UnderWay => None,
    }
}

/// Questions on their way to the client.
///
/// For a client that is asked by way of the reply the whole batch stands still until the answers
/// come. So its questions are gathered until every call under way has asked: none is caught in
/// the middle of its work, and there are as few rounds as can be.
#[derive(Debug)]
struct InputRequests {
    context: CallContext,
    gathers: bool,
    gathered: Mutex<Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    input_requests: Vec<PendingInputRequest>,
    /// The calls that have asked.
    calls: BTreeSet<usize>,
}

impl InputRequests {
    /// Questions for the client on this line.
    fn new(context: CallContext, gathers: bool) -> Self {
        Self { context, gathers, gathered: Mutex::default() }
    }

    /// A call asks. Its id tells its questions from those of others.
    fn ask(&self, call: usize, id: &str, input_requests: Vec<PendingInputRequest>) {
        let named = input_requests.into_iter().map(|input_request| {
            let key = format!("{id}.{}", input_request.key);
            PendingInputRequest { key, ..input_request }
        });
        if self.gathers {
            let mut gathered = self.gathered();
            gathered.input_requests.extend(named);
            gathered.calls.insert(call);
        } else {
            named.for_each(|input_request| self.context.event_queue().ask(input_request));
        }
    }

    /// A call is over.
    fn forget(&self, call: usize) {
        self.gathered().calls.remove(&call);
    }

    /// Sends off what was gathered once all of the calls under way have asked.
    fn release(&self, under_way: usize) {
        let mut gathered = self.gathered();
        if gathered.calls.len() < under_way {
            return;
        }
        gathered.calls.clear();
        let input_requests = std::mem::take(&mut gathered.input_requests);
        drop(gathered);
        // Some may have been given up meanwhile.
        let waited_for =
            input_requests.into_iter().filter(|input_request| !input_request.answer.is_closed());
        waited_for.for_each(|input_request| self.context.event_queue().ask(input_request));
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
