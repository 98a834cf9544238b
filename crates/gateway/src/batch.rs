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
use gantry_protocol::{Method, ParamsHead, RawJson};
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

/// Runs a batch. Dropping the future cancels every call that is in flight.
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
    let remaining_bytes = gateway.settings().batch_results;
    let batch = Batch {
        gateway,
        call,
        call_context,
        input_requests,
        plan,
        states,
        failed: None,
        remaining_bytes,
        searched: Arc::default(),
    };
    Ok(Reply::result(batch.run().await))
}

/// A running batch.
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
    remaining_bytes: usize,
    /// Bytes of results that were looked through for references.
    searched: Arc<AtomicUsize>,
}

/// A call before the results that it refers to are filled in.
struct PreparedCall {
    gateway: Arc<Gateway>,
    planned: Arc<Planned>,
    /// The results that it needs, by the ids of their calls.
    results: HashMap<String, RawJson>,
    searched: Arc<AtomicUsize>,
}

impl Batch {
    async fn run(mut self) -> RawJson {
        let max_parallel = self.settings().batch_parallel.max(1);
        let mut in_flight = FuturesUnordered::new();
        loop {
            while in_flight.len() < max_parallel
                && let Some(index) = self.ready()
            {
                match self.prepare(index) {
                    Ok(prepared) => {
                        self.states[index] = State::InFlight;
                        in_flight.push(self.run_call(index, prepared));
                    }
                    Err(batch_outcome) => self.finish(index, *batch_outcome),
                }
            }
            // When nothing is in flight nothing waits: the plan has no cycles.
            let next = poll_fn(|context| {
                let next = in_flight.poll_next_unpin(context);
                if next.is_pending() {
                    self.input_requests.flush(in_flight.len());
                }
                next
            });
            let Some((index, batch_outcome)) = next.await else { break };
            self.finish(index, batch_outcome);
        }
        drop(in_flight);
        self.result()
    }

    /// The next call that waits for no other.
    fn ready(&self) -> Option<usize> {
        let is_over = |index: &usize| matches!(self.states[*index], State::Done(_));
        let waits = |index: &usize| matches!(self.states[*index], State::Waiting);
        let mut waiting = (0..self.states.len()).filter(waits);
        waiting.find(|index| self.plan.calls[*index].needs.iter().all(is_over))
    }

    /// The call with the results that it needs, or how it ends without being made.
    fn prepare(&self, index: usize) -> Result<PreparedCall, Box<BatchOutcome>> {
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
        Ok(PreparedCall {
            gateway: self.gateway.clone(),
            planned: planned.clone(),
            results: planned.needs.iter().filter_map(result).collect(),
            searched: self.searched.clone(),
        })
    }

    /// Makes one call. Its input requests and log messages become those of the batch.
    fn run_call(
        &self,
        index: usize,
        prepared: PreparedCall,
    ) -> impl Future<Output = (usize, BatchOutcome)> + use<> {
        let (id, call_context) = (self.id(index).to_owned(), self.call_context.clone());
        let (collector, gateway) = (self.input_requests.clone(), self.gateway.clone());
        let whole = self.call.clone();
        async move {
            // A result may be large, and each reference into it is a search from its beginning.
            let (method, params, head) =
                match offload(prepared.size(), move || prepared.fill()).await {
                    Ok(filled) => filled,
                    Err(error) => return (index, BatchOutcome::not_started(&error)),
                };
            let mut call = Call::with_head(method, params, head, whole.caller.clone());
            call.log_level = whole.log_level;
            call.trace = whole.trace.clone();
            let mut running = gateway.start(call);
            let started = Instant::now();
            loop {
                match running.next_event().await {
                    CallEvent::Notification(notification @ CallNotification::Log(..)) => {
                        call_context.event_queue().push(notification).await;
                    }
                    // How far a batch is says how many of its calls are over.
                    CallEvent::Notification(_) => {}
                    CallEvent::InputRequests(input_requests) => {
                        collector.add(index, &id, input_requests);
                    }
                    CallEvent::Done(outcome) => {
                        return (index, BatchOutcome::of(outcome, started.elapsed()));
                    }
                }
            }
        }
    }

    fn finish(&mut self, index: usize, batch_outcome: BatchOutcome) {
        self.input_requests.call_ended(index);
        let batch_outcome = match self.remaining_bytes.checked_sub(batch_outcome.bytes()) {
            Some(room) => {
                self.remaining_bytes = room;
                batch_outcome
            }
            // The call was made: what it did stays done.
            None => batch_outcome.too_large(self.settings().batch_results),
        };
        if !batch_outcome.is_good() {
            self.failed.get_or_insert(index);
        }
        let message = Some(format!("{} {}", self.id(index), batch_outcome.status()));
        self.states[index] = State::Done(Box::new(batch_outcome));
        let over = self.states.iter().filter(|it| matches!(it, State::Done(_))).count();
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

impl PreparedCall {
    /// Bytes to look through.
    fn size(&self) -> usize {
        self.planned.size() + self.results.values().map(|it| it.bytes().len()).sum::<usize>()
    }

    /// The method and its parameters with everything filled in.
    fn fill(self) -> Result<(Method, RawJson, ParamsHead), CallError> {
        let settings = self.gateway.settings();
        let mut room = settings.batch_filled;
        let filled = self.planned.params(&mut |reference: &Reference| {
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
        });
        filled.map(|(method, params)| {
            let head = ParamsHead::read(&params);
            (method, params, head)
        })
    }
}

fn entry((planned, state): (&Arc<Planned>, &State)) -> Option<RawJson> {
    match state {
        State::Done(batch_outcome) => Some(batch_outcome.to_json(&planned.id)),
        State::Waiting | State::InFlight => None,
    }
}

/// Input requests of the batch's calls on their way to the client.
///
/// A client that takes input requests with the reply gets a parked batch, and a parked batch is not
/// polled. So the requests are collected until every call in flight has asked: no call is suspended
/// in the middle of its work, and there are as few rounds as possible.
#[derive(Debug)]
struct InputRequests {
    context: CallContext,
    collects: bool,
    collected: Mutex<Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    input_requests: Vec<PendingInputRequest>,
    /// The calls that have asked.
    calls: BTreeSet<usize>,
}

impl InputRequests {
    /// Input requests for the client of this call.
    fn new(context: CallContext, collects: bool) -> Self {
        Self { context, collects, collected: Mutex::default() }
    }

    /// Takes the input requests of a call. Its id is prefixed to their keys, which must be unique in the batch.
    fn add(&self, call: usize, id: &str, input_requests: Vec<PendingInputRequest>) {
        let named = input_requests.into_iter().map(|input_request| {
            let key = format!("{id}.{}", input_request.key);
            PendingInputRequest { key, ..input_request }
        });
        if self.collects {
            let mut collected = self.collected();
            collected.input_requests.extend(named);
            collected.calls.insert(call);
        } else {
            named.for_each(|input_request| {
                self.context.event_queue().push_input_request(input_request);
            });
        }
    }

    /// A call has ended.
    fn call_ended(&self, call: usize) {
        self.collected().calls.remove(&call);
    }

    /// Sends what was collected once all calls in flight have asked.
    fn flush(&self, in_flight: usize) {
        let mut collected = self.collected();
        if collected.calls.len() < in_flight {
            return;
        }
        collected.calls.clear();
        let input_requests = std::mem::take(&mut collected.input_requests);
        drop(collected);
        // Some may have been given up meanwhile.
        let awaited =
            input_requests.into_iter().filter(|input_request| !input_request.answer.is_closed());
        awaited
            .for_each(|input_request| self.context.event_queue().push_input_request(input_request));
    }

    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
