//! Metrics for each tool that was called, for a bounded number of tools.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use foldhash::HashMap;

use super::histogram::{Counters, Histogram};
use super::{ERROR_TYPES, OutcomeClass};

/// What is known of one tool since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolStatistics {
    /// Its name.
    pub name: String,
    /// Calls that have ended.
    pub calls: u64,
    /// Those that failed, by type of error.
    pub errors: BTreeMap<String, u64>,
    /// How long they took, a person's answers included.
    pub latency: Histogram,
    /// Calls that found a process waiting for them.
    pub standby_hits: u64,
    /// Calls that found none.
    pub standby_misses: u64,
    /// When the last call ended.
    pub last_call: Option<SystemTime>,
}

/// The counters of one tool. Nothing here locks or allocates while a call is counted.
#[derive(Debug)]
pub(crate) struct ToolMetrics {
    pub(super) name: String,
    /// Whether it has rows of its own in the metrics.
    pub(super) labelled: bool,
    errors: [AtomicU64; ERROR_TYPES.len()],
    latency: Counters,
    standby_hits: AtomicU64,
    standby_misses: AtomicU64,
    /// Milliseconds since 1970; 0 before the first call.
    last_call: AtomicU64,
}

impl ToolMetrics {
    pub(super) fn new(name: &str, labelled: bool) -> Self {
        Self {
            name: name.to_owned(),
            labelled,
            errors: Default::default(),
            latency: Counters::default(),
            standby_hits: AtomicU64::new(0),
            standby_misses: AtomicU64::new(0),
            last_call: AtomicU64::new(0),
        }
    }

    /// Counts one call. One that ended with input requests is continued later and counted then.
    pub(crate) fn record(&self, outcome_class: OutcomeClass, took: Duration) {
        if outcome_class == OutcomeClass::InputRequired {
            return;
        }
        if let Some(error_type) = outcome_class.error_type() {
            let index = ERROR_TYPES.iter().position(|known| *known == error_type).unwrap_or(0);
            self.errors[index].fetch_add(1, Relaxed);
        }
        self.latency.record(took);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last_call.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Counts whether a process was waiting for a call.
    pub(crate) fn note_standby(&self, hit: bool) {
        let counter = if hit { &self.standby_hits } else { &self.standby_misses };
        counter.fetch_add(1, Relaxed);
    }

    pub(super) fn statistics(&self) -> ToolStatistics {
        let errors = ERROR_TYPES.iter().zip(&self.errors);
        let errors = errors.map(|(name, count)| ((*name).to_owned(), count.load(Relaxed)));
        let latency = self.latency.read();
        let last_call = match self.last_call.load(Relaxed) {
            0 => None,
            millis => UNIX_EPOCH.checked_add(Duration::from_millis(millis)),
        };
        ToolStatistics {
            name: self.name.clone(),
            calls: latency.count(),
            errors: errors.filter(|(_, count)| *count > 0).collect(),
            latency,
            standby_hits: self.standby_hits.load(Relaxed),
            standby_misses: self.standby_misses.load(Relaxed),
            last_call,
        }
    }
}

impl ToolStatistics {
    /// Adds what is known of another tool, or of the same one elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        for (error_type, count) in &other.errors {
            *self.errors.entry(error_type.clone()).or_default() += count;
        }
        self.latency.merge(&other.latency);
        self.standby_hits += other.standby_hits;
        self.standby_misses += other.standby_misses;
        self.last_call = self.last_call.max(other.last_call);
    }
}

/// The name of what is not told apart. No tool can have it in the store; in the metrics a tool of
/// that name is counted with the rest.
const REST: &str = "(other)";
const REST_LABEL: &str = "other";

/// Upper bounds of the duration buckets in the metrics, as powers of two of a microsecond, which
/// are bounds of the histogram too: 128 us to 134 s.
const BOUNDS: [u32; 11] = [7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27];

/// The counters of all tools.
#[derive(Debug)]
pub(super) struct ToolMetricsTable {
    /// Kept when a tool goes: it may come back, and a counter must not fall. Read by every call,
    /// without a lock, and copied for each tool that is called for the first time.
    tool_metrics: ArcSwap<HashMap<Arc<str>, Arc<ToolMetrics>>>,
    rest: Arc<ToolMetrics>,
    labels: usize,
    limit: usize,
}

impl ToolMetricsTable {
    pub(super) fn new(labels: usize, limit: usize) -> Self {
        let rest = Arc::new(ToolMetrics::new(REST, false));
        Self { tool_metrics: ArcSwap::default(), rest, labels, limit }
    }

    /// The counters of a tool that is in the catalog.
    pub(super) fn of(&self, name: &str) -> Arc<ToolMetrics> {
        let known = self.tool_metrics.load().get(name).cloned();
        known.unwrap_or_else(|| self.add(name))
    }

    fn add(&self, name: &str) -> Arc<ToolMetrics> {
        // Another call may have added it, or another tool, in the meantime: then all is done again.
        self.tool_metrics.rcu(|tool_metrics| {
            let count = tool_metrics.len();
            if count >= self.limit || tool_metrics.contains_key(name) {
                return tool_metrics.clone();
            }
            // Who comes first has a row for good: one that moved would make sums fall.
            let labelled = count < self.labels && name != REST_LABEL;
            let mut more = HashMap::clone(tool_metrics);
            more.insert(name.into(), Arc::new(ToolMetrics::new(name, labelled)));
            Arc::new(more)
        });
        self.tool_metrics.load().get(name).unwrap_or(&self.rest).clone()
    }

    /// What is known of each tool that was called, by name.
    pub(super) fn statistics(&self) -> Vec<ToolStatistics> {
        let mut all: Vec<_> = self.each().iter().map(|metrics| metrics.statistics()).collect();
        all.retain(|tool| tool.calls + tool.standby_hits + tool.standby_misses > 0);
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    fn each(&self) -> Vec<Arc<ToolMetrics>> {
        let tool_metrics = self.tool_metrics.load();
        tool_metrics.values().chain([&self.rest]).cloned().collect()
    }

    /// Writes a row for each tool that has one, and one for the rest together.
    pub(super) fn write(&self, out: &mut String) {
        let mut rest = ToolStatistics { name: REST_LABEL.to_owned(), ..ToolStatistics::default() };
        let (mut rows, others): (Vec<_>, Vec<_>) =
            self.each().into_iter().partition(|metrics| metrics.labelled);
        rows.sort_by(|one, other| one.name.cmp(&other.name));
        let mut rows: Vec<_> = rows.iter().map(|metrics| metrics.statistics()).collect();
        others.iter().for_each(|metrics| rest.merge(&metrics.statistics()));
        rows.extend((rest.calls > 0).then_some(rest));
        for (name, kind, help, write) in FAMILIES {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            rows.iter().for_each(|tool| write(tool, out));
        }
    }
}

/// A family of rows: its name, type, help, and how a tool's part of it is written.
type Family = (&'static str, &'static str, &'static str, fn(&ToolStatistics, &mut String));

const FAMILIES: [Family; 4] = [
    ("gantry_tool_calls_total", "counter", "Calls ended, by tool.", write_calls),
    ("gantry_tool_errors_total", "counter", "Calls failed, by tool and type.", write_errors),
    (
        "gantry_tool_standby_total",
        "counter",
        "Calls by whether a process was waiting.",
        write_standby,
    ),
    ("gantry_tool_seconds", "histogram", "How long calls took, by tool.", write_seconds),
];

fn write_calls(tool: &ToolStatistics, out: &mut String) {
    let _ = writeln!(out, "gantry_tool_calls_total{{tool=\"{}\"}} {}", tool.name, tool.calls);
}

fn write_errors(tool: &ToolStatistics, out: &mut String) {
    for (error_type, count) in &tool.errors {
        let labels = format!("tool=\"{}\",error_type=\"{error_type}\"", tool.name);
        let _ = writeln!(out, "gantry_tool_errors_total{{{labels}}} {count}");
    }
}

/// Most tools never have a process waiting, and then there is nothing to say.
fn write_standby(tool: &ToolStatistics, out: &mut String) {
    if tool.standby_hits + tool.standby_misses == 0 {
        return;
    }
    for (found, count) in [("hit", tool.standby_hits), ("miss", tool.standby_misses)] {
        let labels = format!("tool=\"{}\",found=\"{found}\"", tool.name);
        let _ = writeln!(out, "gantry_tool_standby_total{{{labels}}} {count}");
    }
}

fn write_seconds(tool: &ToolStatistics, out: &mut String) {
    let (name, latency) = (&tool.name, &tool.latency);
    let mut line = |bound: &str, below| {
        let labels = format!("tool=\"{name}\",le=\"{bound}\"");
        let _ = writeln!(out, "gantry_tool_seconds_bucket{{{labels}}} {below}");
    };
    for bound in BOUNDS.map(|power| Duration::from_micros(1 << power)) {
        line(&bound.as_secs_f64().to_string(), latency.count_below(bound));
    }
    line("+Inf", tool.calls);
    let sum = latency.sum().as_secs_f64();
    let _ = writeln!(out, "gantry_tool_seconds_sum{{tool=\"{name}\"}} {sum}");
    let _ = writeln!(out, "gantry_tool_seconds_count{{tool=\"{name}\"}} {}", tool.calls);
}

#[cfg(test)]
mod tests;
