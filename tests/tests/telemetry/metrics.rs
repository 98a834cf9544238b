//! `/metrics` is what Prometheus reads: checked line by line, by the rules of its text format.

use std::collections::{BTreeMap, BTreeSet};

use gantry_tests::request;
use serde_json::json;

use crate::station::{Collector, Station};

/// What a family of rows has said of itself.
#[derive(Default)]
struct Family {
    kind: String,
    has_help: bool,
    rows: BTreeMap<String, f64>,
}

/// Reads a page; whatever is against the rules fails.
fn read(page: &str) -> BTreeMap<String, Family> {
    assert!(page.ends_with('\n'), "the last line has an end");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help");
            assert!(!help.is_empty() && !families.contains_key(name), "twice: {line}");
            families.entry(name.to_owned()).or_default().has_help = true;
            name.clone_into(&mut current);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert_eq!(name, current, "a type follows its help: {line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            kind.clone_into(&mut families.entry(name.to_owned()).or_default().kind);
        } else {
            let family = families.get_mut(&current).unwrap_or_else(|| panic!("no family: {line}"));
            row(line, &current, family);
        }
    }
    families
}

fn row(line: &str, current: &str, family: &mut Family) {
    let (series, value) = line.rsplit_once(' ').expect("a value");
    let value = if value == "+Inf" { f64::INFINITY } else { value.parse().expect(line) };
    let name = series.split('{').next().unwrap_or_default();
    let suffixes: &[&str] = match family.kind.as_str() {
        "histogram" => &["_bucket", "_sum", "_count"],
        _ => &[""],
    };
    assert!(suffixes.iter().any(|it| name == format!("{current}{it}")), "not of {current}: {line}");
    assert!(name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_'), "{line}");
    if family.kind == "counter" {
        assert!(name.ends_with("_total") && value >= 0.0, "{line}");
    }
    if let Some(labels) = series.strip_prefix(name).filter(|it| !it.is_empty()) {
        let inside = labels.strip_prefix('{').and_then(|it| it.strip_suffix('}')).expect(line);
        for pair in inside.split("\",") {
            let (key, text) = pair.trim_end_matches('"').split_once("=\"").expect(line);
            assert!(key.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_'), "{line}");
            assert!(!text.contains(['"', '\\', '\n']), "{line}");
        }
    }
    assert!(family.rows.insert(series.to_owned(), value).is_none(), "twice: {line}");
}

/// The buckets of a histogram rise, and the last one is its count.
fn check_histogram(name: &str, family: &Family) {
    let counts = family.rows.iter().filter(|(series, _)| series.contains("_count"));
    for (series, count) in counts {
        let labels = series.split_once('{').map_or("", |(_, it)| it.trim_end_matches('}'));
        let inside = |it: &str| it.contains(labels) && it.contains("_bucket");
        let buckets: Vec<f64> =
            family.rows.iter().filter(|(it, _)| inside(it)).map(|(_, value)| *value).collect();
        let most = buckets.iter().copied().fold(0.0, f64::max);
        assert!(!buckets.is_empty() && most == *count, "{name}: {series} {count} {buckets:?}");
        let last = family.rows.iter().find(|(it, _)| inside(it) && it.contains("+Inf"));
        assert_eq!(last.map(|(_, value)| value), Some(count), "{series}");
    }
}

fn values(page: &str) -> BTreeSet<&str> {
    page.lines().filter(|line| !line.starts_with('#')).collect()
}

#[tokio::test]
async fn the_page_is_what_prometheus_reads() {
    let collector = Collector::open().await;
    let config = json!({
        "telemetry": {"otlp": collector.url},
        "mcpServers": {"gone": {"command": "/nowhere/at/all"}},
    });
    let station = Station::open("metrics", &config, &[]).await;
    request::list().ask(station.address).await;
    // Names that clients make up have no rows.
    for number in 0..20 {
        request::call(&format!("made_up_{number}"), json!({})).ask(station.address).await;
    }
    let page = station.metrics().await;
    let families = read(&page);
    for (name, family) in &families {
        assert!(family.has_help && !family.kind.is_empty(), "{name} lacks help or type");
        if family.kind == "histogram" {
            check_histogram(name, family);
        }
    }
    let wanted = [
        "gantry_approvals_pending",
        "gantry_approvals_total",
        "gantry_build_info",
        "gantry_calls_in_flight",
        "gantry_calls_refused_total",
        "gantry_servers",
        "gantry_telemetry_dropped_total",
        "gantry_tool_processes",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
    ];
    for name in wanted {
        assert!(families.contains_key(name), "{name} is missing in {page}");
    }
    assert!(!page.contains("made_up"), "{page}");
    assert!(values(&page).len() < 250, "{} rows", values(&page).len());
    assert!(families["process_resident_memory_bytes"].rows.values().all(|it| *it > 1e6));
    assert_eq!(families["gantry_servers"].rows.values().sum::<f64>(), 1.0, "{page}");
    assert!(!station.bench.folder.as_os_str().is_empty());
    station.close().await;
}
