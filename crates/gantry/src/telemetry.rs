//! Traces of calls and their records, sent to a collector by OTLP over HTTP with JSON. Calls only
//! put things into a queue; what does not fit is dropped and counted.

mod encode;
mod exporter;
mod ids;
mod observed;
mod settings;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use gantry_client::{ClientError, Post};
use gantry_gateway::filter::{CallEnd, CallObserver, CallSummary, Known};
use gantry_gateway::{Call, CallContext, Trace};
use gantry_protocol::RawJson;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::exporter::Exporter;
use self::ids::Ids;
use self::observed::{Item, ObservedCall, ObservedRecord};
pub use self::settings::{TelemetryError, TelemetrySettings};

/// The way to a collector.
#[derive(Debug)]
pub struct Telemetry {
    queue: mpsc::Sender<Item>,
    counts: Arc<Counts>,
    ids: Ids,
    logs: bool,
    flush_within: Duration,
    exporter: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

/// What became of spans and records.
#[derive(Debug, Default)]
struct Counts {
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
    pub fn start(settings: &TelemetrySettings) -> Result<Arc<Self>, ClientError> {
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
    pub fn export_record(&self, record: &RawJson, trace: Option<&Trace>) {
        if self.logs {
            let (record, trace) = (record.clone(), trace.cloned());
            self.put(Item::Record(ObservedRecord { at: SystemTime::now(), record, trace }));
        }
    }

    /// Sends what is still in the queue, within the settings' time, and ends.
    pub async fn stop(&self) {
        let exporter = self.exporter.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((stop, mut task)) = exporter else { return };
        let _ = stop.send(());
        if tokio::time::timeout(self.flush_within, &mut task).await.is_err() {
            task.abort();
            let _ = task.await;
            tracing::warn!("the collector was too slow; what it was not sent yet is lost");
        }
    }

    /// Writes how much was sent, as Prometheus reads it.
    pub fn write_metrics(&self, out: &mut String) {
        type Count = fn(&Fate) -> &AtomicU64;
        let families: [(&str, &str, Count); 2] = [
            ("gantry_telemetry_sent_total", "Sent to the collector.", |fate| &fate.sent),
            ("gantry_telemetry_dropped_total", "Lost on the way to it.", |fate| &fate.dropped),
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

    fn begun(&self, call: &CallSummary<'_>) -> Known {
        if let Some(span) = call.context.span().filter(|span| span.sampled) {
            let _ = span.begun.set(Instant::now());
        }
        None
    }

    fn ended(&self, call: &CallSummary<'_>, end: &CallEnd<'_>) -> Known {
        if let Some(span) = call.context.span().filter(|span| span.sampled) {
            let observed = ObservedCall::new(call, span, end);
            self.0.put(Item::Call(Box::new(observed)));
        }
        None
    }
}
