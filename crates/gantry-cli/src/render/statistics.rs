//! Statistics of tools as a table, and of one tool as bars.

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use gantry::ToolStatistics;

use crate::render::one_line;
use crate::render::table::Style;

/// The signs of a bar, from little to much: for people, and for everything else.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const SIGNS: [char; 8] = ['.', ':', '-', '=', '+', '*', '%', '#'];

/// Bars in a table, each a doubling of the time or more.
const CELLS: usize = 12;
/// The longest bar of one tool's histogram.
const WIDTH: u64 = 40;

fn signs(style: Style) -> [char; 8] {
    if style.is_seen() { BLOCKS } else { SIGNS }
}

/// All tools, a line each.
pub(crate) fn table(tools: &[ToolStatistics], style: Style) -> String {
    if tools.is_empty() {
        return "no tool was called yet; calls appear a few seconds after they end\n".to_owned();
    }
    let widest =
        tools.iter().map(|tool| one_line(&tool.name).chars().count()).max().unwrap_or(0).max(4);
    let scale = Scale::of(tools);
    let head = format!(
        "{:widest$}  {:>8}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {}",
        "TOOL",
        "CALLS",
        "ERRORS",
        "P50",
        "P90",
        "P99",
        "STANDBY",
        scale.label()
    );
    let mut out = style.bold(&head) + "\n";
    for tool in tools {
        let quantile = |part| tool.latency.quantile(part).map_or("-".to_owned(), short);
        let _ = writeln!(
            out,
            "{:widest$}  {:>8}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {}",
            one_line(&tool.name),
            tool.calls,
            percent(failed(tool), tool.calls),
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            percent(tool.standby_hits, tool.standby_hits + tool.standby_misses),
            scale.bars(tool, style),
        );
    }
    out
}

/// One tool: its numbers, its errors, its histogram.
pub(crate) fn details(tool: &ToolStatistics, style: Style) -> String {
    let mut out = style.bold(&one_line(&tool.name)) + "\n";
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "  {name:10} {value}");
    };
    line("calls", tool.calls.to_string());
    line("errors", format!("{} ({})", failed(tool), percent(failed(tool), tool.calls)));
    let quantiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)].map(|(name, part)| {
        format!("{name} {}", tool.latency.quantile(part).map_or("-".to_owned(), short))
    });
    line("latency", quantiles.join("   "));
    let (hits, misses) = (tool.standby_hits, tool.standby_misses);
    line("standby", format!("{} ({hits} hits, {misses} misses)", percent(hits, hits + misses)));
    line("last call", tool.last_call.map_or("-".to_owned(), ago));
    if !tool.errors.is_empty() {
        out.push_str(&bars("Errors by type", &errors_by_count(tool), style));
    }
    out.push_str(&bars("Latency", &doublings(tool), style));
    out
}

fn errors_by_count(tool: &ToolStatistics) -> Vec<(String, u64)> {
    let mut errors: Vec<_> =
        tool.errors.iter().map(|(name, count)| (name.clone(), *count)).collect();
    errors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    errors
}

/// How many calls took how long, by doublings from the first to the last that has any.
fn doublings(tool: &ToolStatistics) -> Vec<(String, u64)> {
    let scale = Scale::of(std::slice::from_ref(tool));
    let rows = (scale.first..=scale.last).map(|power| {
        let (from, to) = (Duration::from_micros(1 << power), Duration::from_micros(2 << power));
        // What took less than a microsecond belongs to the first row there is.
        let below = if power == 0 { 0 } else { tool.latency.count_below(from) };
        (format!("{} to {}", short(from), short(to)), tool.latency.count_below(to) - below)
    });
    rows.collect()
}

/// A title and a bar for each row.
fn bars(title: &str, rows: &[(String, u64)], style: Style) -> String {
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let mut out = format!("\n{}\n", style.bold(title));
    for (name, count) in rows {
        let full = signs(style)[7].to_string();
        let bar = full.repeat(usize::try_from((count * WIDTH).div_ceil(most)).unwrap_or(0));
        let line = format!("  {name:>widest$}  {count:>8}  {bar}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// The doublings of a microsecond that tools share in a table.
struct Scale {
    first: u32,
    last: u32,
}

impl Scale {
    fn of(tools: &[ToolStatistics]) -> Self {
        let powers = tools.iter().flat_map(|tool| tool.latency.encode());
        let powers: Vec<_> = powers.map(|(micros, _)| micros.max(1).ilog2()).collect();
        let first = powers.iter().min().copied().unwrap_or(0);
        Self { first, last: powers.iter().max().copied().unwrap_or(first) }
    }

    fn label(&self) -> String {
        let micros = |power: u32| Duration::from_micros(1 << power);
        format!("{} TO {}", short(micros(self.first)), short(micros(self.last + 1)))
    }

    /// A bar for each step of the scale, the highest where the tool has most.
    fn bars(&self, tool: &ToolStatistics, style: Style) -> String {
        let powers = (self.last - self.first + 1) as usize;
        let mut cells = vec![0_u64; powers.min(CELLS)];
        let count = cells.len();
        for (micros, calls) in tool.latency.encode() {
            let step = (micros.max(1).ilog2() - self.first) as usize;
            cells[step * count / powers] += calls;
        }
        let most = cells.iter().max().copied().unwrap_or(0).max(1);
        let sign = |calls: &u64| match calls {
            0 => ' ',
            calls => signs(style)[usize::try_from(calls * 7 / most).unwrap_or(7)],
        };
        cells.iter().map(sign).collect::<String>().trim_end().to_owned()
    }
}

fn failed(tool: &ToolStatistics) -> u64 {
    tool.errors.values().sum()
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        whole => format!("{:.1}%", 100.0 * part as f64 / whole as f64),
    }
}

/// A time in two or three digits and its unit.
fn short(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        it if it < 1e-3 => (it * 1e6, "us"),
        it if it < 1.0 => (it * 1e3, "ms"),
        it if it < 120.0 => (it, "s"),
        it if it < 7200.0 => (it / 60.0, "min"),
        it => (it / 3600.0, "h"),
    };
    match value < 9.95 && unit != "us" {
        true => format!("{value:.1}{unit}"),
        false => format!("{value:.0}{unit}"),
    }
}

fn ago(time: SystemTime) -> String {
    match SystemTime::now().duration_since(time) {
        Ok(since) if since < Duration::from_secs(1) => "just now".to_owned(),
        Ok(since) => format!("{} ago", short(since)),
        Err(_) => "in the future: the clock was changed".to_owned(),
    }
}
