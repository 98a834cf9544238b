//! What the tables look like.

use std::time::Duration;

use gantry::{Histogram, ToolStatistics};

use crate::render::statistics::{Style, details, short, table};

fn tool(name: &str, millis: &[u64], errors: &[(&str, u64)]) -> ToolStatistics {
    let mut latency = Histogram::default();
    millis.iter().for_each(|millis| latency.record(Duration::from_millis(*millis)));
    ToolStatistics {
        name: name.to_owned(),
        calls: latency.count(),
        errors: errors.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        latency,
        standby_hits: 3,
        standby_misses: 1,
        last_call: None,
    }
}

#[test]
fn times_are_short() {
    let cases = [
        (0, "0us"),
        (340, "340us"),
        (1_000, "1.0ms"),
        (12_400, "12ms"),
        (999_999, "1000ms"),
        (1_500_000, "1.5s"),
        (61_000_000, "61s"),
        (180_000_000, "3.0min"),
        (9_000_000_000, "2.5h"),
    ];
    for (micros, expected) in cases {
        assert_eq!(short(Duration::from_micros(micros)), expected);
    }
}

#[test]
fn a_table_has_a_line_for_each_tool() {
    let tools = [
        tool("text.count", &[1, 1, 1, 2, 9], &[("TimeoutError", 1)]),
        tool("slow", &[700, 700], &[]),
    ];
    let plain = table(&tools, Style::PLAIN);
    let expected = "\
TOOL           CALLS   ERRORS      P50      P90      P99  STANDBY  512us TO 1.0s
text.count         5    20.0%    992us    8.7ms    8.7ms    75.0%  #-  -
slow               2     0.0%    688ms    688ms    688ms    75.0%            #
";
    assert_eq!(plain, expected);
    let rich = table(&tools, Style::RICH);
    assert!(rich.contains('█') && rich.contains("\x1b[1m"), "{rich}");
    assert!(plain.is_ascii(), "{plain}");
}

#[test]
fn nothing_known_is_said() {
    assert!(table(&[], Style::PLAIN).starts_with("no tool was called yet"));
}

#[test]
fn details_show_errors_and_the_histogram() {
    let tool = tool("a", &[1, 1, 2, 5], &[("TimeoutError", 1), ("ValidationError", 2)]);
    let text = details(&tool, Style::PLAIN);
    let expected = "\
a
  calls      4
  errors     3 (75.0%)
  latency    p50 992us   p90 4.9ms   p99 4.9ms
  standby    75.0% (3 hits, 1 misses)
  last call  -

Errors by type
  ValidationError         2  ########################################
     TimeoutError         1  ####################

Latency
  512us to 1.0ms         2  ########################################
  1.0ms to 2.0ms         1  ####################
  2.0ms to 4.1ms         0
  4.1ms to 8.2ms         1  ####################
";
    assert_eq!(text, expected);
}
