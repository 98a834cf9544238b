//! Traces of calls and their records, sent to a collector by OTLP over HTTP with JSON. Calls only
//! put things into a queue; what does not fit is dropped and counted.

pub(crate) mod encode;
pub(crate) mod exporter;
pub(crate) mod settings;

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use gantry_client::{ClientError, Post};
use gantry_gateway::filter::{CallEnd, CallObserver, CallSummary, PolicyDecision, Recorded};
use gantry_gateway::{Call, CallContext, CallNumber, Caller, Span, Target, Trace};
use gantry_protocol::{Method, RawJson, TraceParent};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::telemetry::exporter::Exporter;

pub(crate) use crate::telemetry::settings::TelemetrySettings;

/// The way to a collector.
#[derive(Debug)]
pub(crate) struct Telemetry {
    queue: mpsc::Sender<Item>,
    counts: Arc<Counts>,
    ids: Ids,
    logs: bool,
    flush_within: Duration,
    exporter: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

/// What became of spans and records.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    spans: Fate,
    records: Fate,
}

#[derive(Debug, Default)]
struct Fate {
    sent: AtomicU64,
    dropped: AtomicU64,
}

impl Telemetry {
    /// Begins to send. It must be stopped for the last of it to be sent.
    pub(crate) fn start(settings: &TelemetrySettings) -> Result<Arc<Self>, ClientError> {
        let post = Post::new(&settings.collector)?;
        let (queue, items) = mpsc::channel(settings.queue.max(1));
        let (stop, stopped) = oneshot::channel();
        let counts = Arc::new(Counts::default());
        let exporter = Exporter::new(post, items, settings, counts.clone());
        let task = tokio::spawn(exporter.run(stopped));
        Ok(Arc::new(Self {
            queue,
            counts,
            ids: Ids::new(settings.sample),
            logs: settings.logs,
            flush_within: settings.flush_within,
            exporter: Mutex::new(Some((stop, task))),
        }))
    }

    /// Sends the record of a call as a log record, if records are sent. Its trace is the one of
    /// [`gantry_gateway::Span::whole`], or else the one that the call came with.
    pub(crate) fn export_record(&self, record: &RawJson, trace: Option<&Trace>) {
        if self.logs {
            let (record, trace) = (record.clone(), trace.cloned());
            self.put(Item::Record(ObservedRecord { at: SystemTime::now(), record, trace }));
        }
    }

    /// Sends what is still in the queue, within the settings' time, and ends.
    pub(crate) async fn stop(&self) {
        let exporter = self.exporter.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((stop, mut task)) = exporter else { return };
        let _ = stop.send(());
        if tokio::time::timeout(self.flush_within, &mut task).await.is_err() {
            task.abort();
            let _ = task.await;
            tracing::warn!("the telemetry collector was too slow; unsent data is dropped");
        }
    }

    /// Writes how much was sent, as Prometheus reads it.
    pub(crate) fn write_metrics(&self, out: &mut String) {
        type Count = fn(&Fate) -> &AtomicU64;
        let families: [(&str, &str, Count); 2] = [
            ("gantry_telemetry_sent_total", "Spans and records sent to the collector.", |fate| {
                &fate.sent
            }),
            ("gantry_telemetry_dropped_total", "Spans and records dropped.", |fate| &fate.dropped),
        ];
        for (name, help, count) in families {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter");
            for (signal, fate) in [("spans", &self.counts.spans), ("records", &self.counts.records)]
            {
                let count = count(fate).load(Relaxed);
                let _ = writeln!(out, "{name}{{signal=\"{signal}\"}} {count}");
            }
        }
    }

    /// Calls never wait for the collector.
    fn put(&self, item: Item) {
        if let Err(error) = self.queue.try_send(item) {
            let item = error.into_inner();
            self.counts.of(&item).dropped.fetch_add(item.weight(), Relaxed);
        }
    }
}

impl Counts {
    fn of(&self, item: &Item) -> &Fate {
        match item {
            Item::Call(_) => &self.spans,
            Item::Record(_) => &self.records,
        }
    }
}

/// Gives every call its place in a trace, and notes how it went.
#[derive(Debug)]
pub(crate) struct TracingObserver(pub(crate) Arc<Telemetry>);

impl CallObserver for TracingObserver {
    fn arrived(&self, call: &Call, context: &CallContext) {
        context.set_span(self.0.ids.span(call.trace.as_deref()));
    }

    fn begun(&self, call: &CallSummary<'_>) -> Recorded {
        if let Some(span) = call.context.span().filter(|span| span.sampled) {
            let _ = span.begun.set(Instant::now());
        }
        None
    }

    fn ended(&self, call: &CallSummary<'_>, end: &CallEnd<'_>) -> Recorded {
        if let Some(span) = call.context.span().filter(|span| span.sampled) {
            let observed = ObservedCall::new(call, span, end);
            self.0.put(Item::Call(Box::new(observed)));
        }
        None
    }
}

/// The bits of a trace's id by which systems that sample agree with each other.
const RANDOM: u64 = (1 << 56) - 1;

/// Chooses ids and samples.
#[derive(Debug)]
pub(crate) struct Ids {
    /// A secret of this start, so that what is made of consecutive numbers looks random.
    secret: RandomState,
    last: AtomicU64,
    /// Traces whose random part is below this are not recorded.
    threshold: u64,
}

impl Ids {
    /// Records this share of the traces that begin here.
    pub(crate) fn new(sample: f64) -> Self {
        let threshold = ((1.0 - sample.clamp(0.0, 1.0)) * (RANDOM + 1) as f64) as u64;
        Self { secret: RandomState::new(), last: AtomicU64::new(0), threshold }
    }

    /// The place of a call in the trace that it came with, or in one that begins with it. Who
    /// begins a trace decides whether it is recorded.
    pub(crate) fn span(&self, came: Option<&Trace>) -> Span {
        let parent = came.and_then(|trace| TraceParent::parse(&trace.parent));
        let number = self.last.fetch_add(4, Relaxed);
        let id = |place: u64| self.secret.hash_one(number + place).max(1);
        let trace = match &parent {
            Some(parent) => parent.trace,
            None => (u128::from(id(2)) << 64) | u128::from(id(3)),
        };
        let sampled = match &parent {
            Some(parent) => parent.sampled,
            None => trace as u64 & RANDOM >= self.threshold,
        };
        let state = came.and_then(|trace| trace.state.clone());
        let (call, work, begun) = (id(0), id(1), OnceLock::new());
        Span { trace, parent: parent.map(|it| it.span), call, work, sampled, state, begun }
    }
}

/// Something to send.
#[derive(Debug)]
pub(crate) enum Item {
    Call(Box<ObservedCall>),
    Record(ObservedRecord),
}

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct ObservedCall {
    pub(crate) number: CallNumber,
    pub(crate) method: Method,
    /// What the client calls the target.
    pub(crate) named: Option<RawJson>,
    /// The target, if there is one of that name.
    pub(crate) target: Option<Target>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) decision: Option<PolicyDecision>,
    pub(crate) failure: Option<&'static str>,
    pub(crate) trace: u128,
    pub(crate) parent: Option<u64>,
    pub(crate) state: Option<String>,
    /// The call as a whole.
    pub(crate) whole: Part,
    /// The part of its provider, if it was reached.
    pub(crate) work: Option<Part>,
}

/// A span's id and time.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) id: u64,
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
}

/// A record of a call.
#[derive(Debug)]
pub(crate) struct ObservedRecord {
    pub(crate) at: SystemTime,
    pub(crate) record: RawJson,
    pub(crate) trace: Option<Trace>,
}

impl Item {
    /// How many spans or records it becomes.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Call(call) => 1 + u64::from(call.work.is_some()),
            Self::Record(_) => 1,
        }
    }
}

impl ObservedCall {
    pub(crate) fn new(summary: &CallSummary<'_>, span: &Span, ended: &CallEnd<'_>) -> Self {
        let CallSummary { call, target, context } = summary;
        let end = SystemTime::now();
        let part = |id, took| Part { id, start: end.checked_sub(took).unwrap_or(end), end };
        Self {
            number: context.number(),
            method: call.method.clone(),
            named: call.head.name.clone().or_else(|| call.head.uri.clone()),
            target: target.cloned(),
            caller: call.caller.clone(),
            decision: context.among_decisions(|all| all.last().cloned()),
            failure: ended.outcome_class.error_type(),
            trace: span.trace,
            parent: span.parent,
            state: span.state.clone(),
            whole: part(span.call, ended.took),
            work: span.worked().map(|took| part(span.work, took)),
        }
    }
}
