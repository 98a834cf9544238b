//! Rows are bounded, stay where they are, and say what was counted.

use std::time::Duration;

use super::ToolMetricsTable;
use crate::metrics::OutcomeClass;

/// Calls each tool once, in this order, and writes the metrics.
fn written(tool_metrics: &ToolMetricsTable, calls: &[&str]) -> String {
    for name in calls {
        tool_metrics.of(name).record(OutcomeClass::Good, Duration::from_micros(300));
    }
    let mut out = String::new();
    tool_metrics.write(&mut out);
    out
}

fn calls(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("gantry_tool_calls_total")).collect()
}

#[test]
fn there_are_only_so_many_rows() {
    let tool_metrics = ToolMetricsTable::new(2, 3);
    assert_eq!(calls(&written(&tool_metrics, &[])), [] as [&str; 0]);
    let text = written(&tool_metrics, &["b", "c", "a", "d", "e", "b"]);
    assert_eq!(calls(&text), ["{tool=\"b\"} 2", "{tool=\"c\"} 1", "{tool=\"other\"} 3"]);
    let names: Vec<_> =
        tool_metrics.statistics().into_iter().map(|it| (it.name, it.calls)).collect();
    let expected = [("(other)", 2), ("a", 1), ("b", 2), ("c", 1)];
    assert_eq!(names, expected.map(|(name, calls)| (name.to_owned(), calls)));
}

#[test]
fn a_tool_named_like_the_rest_is_counted_with_it() {
    let tool_metrics = ToolMetricsTable::new(10, 10);
    let text = written(&tool_metrics, &["other", "a", "other"]);
    assert_eq!(calls(&text), ["{tool=\"a\"} 1", "{tool=\"other\"} 2"]);
}

#[test]
fn a_row_says_what_was_counted() {
    let tool_metrics = ToolMetricsTable::new(1, 1);
    let metrics = tool_metrics.of("a");
    metrics.record(OutcomeClass::ToolError("TimeoutError"), Duration::from_secs(30));
    metrics.record(OutcomeClass::InputRequired, Duration::from_secs(1));
    metrics.note_standby(true);
    metrics.note_standby(true);
    metrics.note_standby(false);
    let text = written(&tool_metrics, &["a"]);
    let expected = [
        "gantry_tool_calls_total{tool=\"a\"} 2",
        "gantry_tool_errors_total{tool=\"a\",error_type=\"TimeoutError\"} 1",
        "gantry_tool_standby_total{tool=\"a\",found=\"hit\"} 2",
        "gantry_tool_standby_total{tool=\"a\",found=\"miss\"} 1",
        "gantry_tool_seconds_bucket{tool=\"a\",le=\"0.000128\"} 0",
        "gantry_tool_seconds_bucket{tool=\"a\",le=\"0.000512\"} 1",
        "gantry_tool_seconds_bucket{tool=\"a\",le=\"33.554432\"} 2",
        "gantry_tool_seconds_bucket{tool=\"a\",le=\"+Inf\"} 2",
        "gantry_tool_seconds_sum{tool=\"a\"} 30.0003",
        "gantry_tool_seconds_count{tool=\"a\"} 2",
    ];
    for line in expected {
        assert!(text.lines().any(|it| it == line), "`{line}` is not in:\n{text}");
    }
}
