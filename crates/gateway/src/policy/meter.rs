//! Counts and times of calls, kept in plain counters and written in Prometheus' text form.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use gantry_protocol::Method;

use crate::reply::{Outcome, Reply};

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
#[derive(Debug, Default)]
pub struct Meter {
    rows: [Row; METHODS.len() + 1],
}

#[derive(Debug, Default)]
struct Row {
    outcomes: [AtomicU64; OUTCOMES.len()],
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Meter {
    /// Counts one call.
    pub fn record(&self, method: &Method, outcome: &Outcome, took: Duration) {
        let index = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        let row = &self.rows[index];
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        row.outcomes[label(outcome)].fetch_add(1, Relaxed);
        row.buckets[BOUNDS.partition_point(|bound| *bound < micros)].fetch_add(1, Relaxed);
        row.micros.fetch_add(micros, Relaxed);
    }

    /// How many calls have ended, whatever their outcome.
    pub fn total(&self) -> u64 {
        self.rows.iter().flat_map(|row| &row.outcomes).map(|count| count.load(Relaxed)).sum()
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

fn label(outcome: &Outcome) -> usize {
    match outcome {
        Ok(Reply::Result(result)) => usize::from(is_tool_error(result)),
        Ok(Reply::Page(_)) => 0,
        Ok(Reply::InputRequired(_)) => 2,
        Err(_) => 3,
    }
}

fn is_tool_error(result: &gantry_protocol::RawJson) -> bool {
    result.get("isError").is_some_and(|flag| flag.as_str() == "true")
}
