//! Call metrics: counters and latencies by method, tool and outcome, written in the text format of
//! Prometheus.

mod histogram;
mod per_tool;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gantry_protocol::{Method, ResultObject};

use self::per_tool::ToolMetricsTable;
use crate::contract::ERROR_META;
use crate::provider::{Outcome, Reply};

pub use self::histogram::Histogram;
pub(crate) use self::per_tool::ToolMetrics;
pub use self::per_tool::ToolStatistics;

/// The methods that are told apart; everything else is `other`, so that labels stay bounded.
const METHODS: [Method; 8] = [
    Method::ToolsCall,
    Method::ToolsList,
    Method::ResourcesRead,
    Method::ResourcesList,
    Method::ResourceTemplatesList,
    Method::PromptsGet,
    Method::PromptsList,
    Method::Complete,
];

/// Upper bounds of the duration buckets, in microseconds.
const BOUNDS: [u64; 10] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 1_000_000, 10_000_000, 60_000_000];

/// What a call came to, as a label.
const OUTCOMES: [&str; 4] = ["ok", "tool_error", "input_required", "error"];

/// The counters.
#[derive(Debug)]
pub struct Metrics {
    rows: [Row; METHODS.len() + 1],
    tools: ToolMetricsTable,
    gauges: Mutex<BTreeMap<&'static str, Gauge>>,
    /// Refused calls by policy. Policies are named in code, so there are only so many.
    refused: Mutex<BTreeMap<&'static str, u64>>,
}

/// What a gauge is for, and what it shows.
#[derive(Debug)]
struct Gauge {
    help: &'static str,
    value: u64,
}

#[derive(Debug, Default)]
struct Row {
    outcomes: [AtomicU64; OUTCOMES.len()],
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Metrics {
    /// Counters that tell at most so many tools apart in the metrics, and so many at all.
    pub(crate) fn new(labels: usize, tools: usize) -> Self {
        let tools = ToolMetricsTable::new(labels, tools);
        let (gauges, refused) = Default::default();
        Self { rows: Default::default(), tools, gauges, refused }
    }

    /// Counts one call.
    pub(crate) fn record(&self, method: &Method, outcome_class: OutcomeClass, took: Duration) {
        let index = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        let row = &self.rows[index];
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        row.outcomes[label(outcome_class)].fetch_add(1, Relaxed);
        row.buckets[BOUNDS.partition_point(|bound| *bound < micros)].fetch_add(1, Relaxed);
        row.micros.fetch_add(micros, Relaxed);
    }

    /// Counts a call that a policy refused.
    pub(crate) fn record_refusal(&self, policy: &'static str) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner).entry(policy).or_default() +=
            1;
    }

    /// How many calls have ended, whatever their outcome.
    pub fn total(&self) -> u64 {
        self.rows.iter().flat_map(|row| &row.outcomes).map(|count| count.load(Relaxed)).sum()
    }

    /// The counters of a tool. Only those of tools in the catalog may be asked for: a name that a
    /// client made up must not have any.
    pub(crate) fn tool(&self, name: &str) -> Arc<ToolMetrics> {
        self.tools.of(name)
    }

    /// What is known of each tool that was called, since the start.
    pub(crate) fn statistics(&self) -> Vec<ToolStatistics> {
        self.tools.statistics()
    }

    /// Sets a number that the metrics show beside the counters.
    pub fn set_gauge(&self, name: &'static str, help: &'static str, value: u64) {
        let mut gauges = self.gauges.lock().unwrap_or_else(PoisonError::into_inner);
        gauges.insert(name, Gauge { help, value });
    }

    /// Writes the counters as Prometheus reads them.
    pub fn write(&self, out: &mut String) {
        out.push_str("# HELP gantry_calls_total Calls ended, by method and outcome.\n");
        out.push_str("# TYPE gantry_calls_total counter\n");
        self.each(|method, row| {
            for (outcome, count) in OUTCOMES.iter().zip(&row.outcomes) {
                let count = count.load(Relaxed);
                let _ = writeln!(
                    out,
                    "gantry_calls_total{{method=\"{method}\",outcome=\"{outcome}\"}} {count}"
                );
            }
        });
        out.push_str("# HELP gantry_call_seconds How long calls took.\n");
        out.push_str("# TYPE gantry_call_seconds histogram\n");
        self.each(|method, row| row.write_histogram(method, out));
        self.write_refusals(out);
        self.tools.write(out);
        for (name, Gauge { help, value }) in
            &*self.gauges.lock().unwrap_or_else(PoisonError::into_inner)
        {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
    }

    fn write_refusals(&self, out: &mut String) {
        const NAME: &str = "gantry_calls_refused_total";
        let _ = writeln!(out, "# HELP {NAME} Calls refused, by policy.\n# TYPE {NAME} counter");
        for (policy, count) in &*self.refused.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(out, "{NAME}{{policy=\"{policy}\"}} {count}");
        }
    }

    fn each(&self, mut visit: impl FnMut(&str, &Row)) {
        let names = METHODS.iter().map(Method::as_str).chain(["other"]);
        names.zip(&self.rows).for_each(|(method, row)| visit(method, row));
    }
}

impl Row {
    fn write_histogram(&self, method: &str, out: &mut String) {
        let mut below = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            below += bucket.load(Relaxed);
            let bound = BOUNDS.get(index).map_or("+Inf".to_owned(), |it| seconds(*it).to_string());
            let _ = writeln!(
                out,
                "gantry_call_seconds_bucket{{method=\"{method}\",le=\"{bound}\"}} {below}"
            );
        }
        let sum = seconds(self.micros.load(Relaxed));
        let _ = writeln!(out, "gantry_call_seconds_sum{{method=\"{method}\"}} {sum}");
        let _ = writeln!(out, "gantry_call_seconds_count{{method=\"{method}\"}} {below}");
    }
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// The place of an ending among the outcomes.
fn label(outcome_class: OutcomeClass) -> usize {
    match outcome_class {
        OutcomeClass::Good => 0,
        OutcomeClass::ToolError(_) => 1,
        OutcomeClass::InputRequired => 2,
        OutcomeClass::Error(_) => 3,
    }
}

/// The types of error that are told apart. One that a tool made up counts as the tool's failure, so
/// that there are never more.
pub(super) const ERROR_TYPES: [&str; 14] = [
    TOOL_FAILED,
    "ValidationError",
    "FileNotFoundError",
    "AuthenticationError",
    "ResourceNotFound",
    "ApiLimitExceeded",
    "TimeoutError",
    "PermissionError",
    "TransportError",
    "ToolNotFoundError",
    "SchemaError",
    "SerializationError",
    "RegistrationError",
    "Cancelled",
];

const TOOL_FAILED: &str = "ToolExecutionError";

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeClass {
    /// Well.
    Good,
    /// With a result that tells of a failure of this type.
    ToolError(&'static str),
    /// With input requests; the call continues when the responses come.
    InputRequired,
    /// With an error of this type.
    Error(&'static str),
}

impl OutcomeClass {
    /// How a call with this outcome ended.
    pub fn of(outcome: &Outcome) -> Self {
        match (outcome, failure_type(outcome)) {
            (Ok(Reply::InputRequired(_)), _) => Self::InputRequired,
            (Ok(_), None) => Self::Good,
            (Ok(_), Some(error_type)) => Self::ToolError(error_type),
            (Err(_), error_type) => Self::Error(error_type.unwrap_or(TOOL_FAILED)),
        }
    }

    /// The type of the error, if it ended in one.
    pub fn error_type(self) -> Option<&'static str> {
        match self {
            Self::ToolError(error_type) | Self::Error(error_type) => Some(error_type),
            Self::Good | Self::InputRequired => None,
        }
    }
}

/// The type of the failure that a call ended in, one of a fixed list; none when it ended well.
fn failure_type(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Ok(Reply::Result(result)) => reported(result),
        Ok(_) => None,
        Err(error) => Some(known(error.kind.error_type().as_str())),
    }
}

/// What a result says of its own failure.
fn reported(result: &ResultObject) -> Option<&'static str> {
    if !result.is_error() {
        return None;
    }
    let detail = result.meta().and_then(|meta| meta.get(ERROR_META));
    let named = detail.and_then(|detail| detail.get("error_type")?.to_text());
    Some(known(named.as_deref().unwrap_or(TOOL_FAILED)))
}

fn known(name: &str) -> &'static str {
    ERROR_TYPES.into_iter().find(|known| *known == name).unwrap_or(TOOL_FAILED)
}
