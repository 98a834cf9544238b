//! Definitions that are made to keep whoever compares them busy, or to fill memory with what is
//! found. A server may change its own at any time.

use std::time::{Duration, Instant};

use gantry_protocol::{JsonLimits, RawJson};
use serde_json::{Map, Value, json};

use super::super::changes;

/// Time for one comparison in a build without optimisation on a busy machine.
const AT_MOST: Duration = Duration::from_secs(20);

/// Bytes of all that one comparison finds.
const MOST: usize = 32 * 1024 * 1024;

fn tool(schema: &Value) -> RawJson {
    let tool = json!({"name": "t", "inputSchema": schema, "outputSchema": schema}).to_string();
    let limits = JsonLimits { size: usize::MAX, ..JsonLimits::default() };
    RawJson::parse(tool, limits).expect("JSON")
}

fn list(length: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..length).map(make).collect()
}

#[test]
fn no_comparison_takes_long_or_finds_too_much() {
    let titled = |it: usize, add: usize| json!({"title": format!("{}", it + add)});
    let demands = |add| json!({"allOf": list(10_000, |it| json!({"not": titled(it, add)}))});
    let forms = |add| json!({"anyOf": list(20_000, |it| json!({"maxLength": it + add}))});
    let rotated = |add| json!({"oneOf": list(20_000, |it| json!({"required": [format!("m{}", (it + add) % 20_000)]}))});
    let shared = |text: &str| {
        let form = |it| json!({"$ref": "#/$defs/large", "title": format!("{it}{text}")});
        let large = json!({"const": format!("{}{text}", "x".repeat(100_000))});
        json!({"anyOf": list(400, form), "$defs": {"large": large}})
    };
    let examples = |text: &str| {
        let form = |it| json!({"$ref": "#/$defs/large", "title": format!("{it}{text}")});
        let large = json!({"examples": list(50_000, |it| json!(it)), "minLength": text.len()});
        json!({"anyOf": list(400, form), "$defs": {"large": large}})
    };
    let names = |text: &str| {
        let names = list(20_000, |it| json!(format!("n{it}")));
        let form = |it| json!({"$ref": "#/$defs/large", "title": format!("{it}{text}")});
        let large = json!({"required": names, "minLength": text.len()});
        json!({"anyOf": list(2000, form), "$defs": {"large": large}})
    };
    let joined = |text: &str| {
        let names = list(20_000, |it| json!(format!("n{it}")));
        json!({"required": names, "anyOf": list(4000, |it| json!({"title": format!("{it}{text}")}))})
    };
    let long = |kind: &str| {
        let members: Map<String, Value> =
            (0..5000).map(|it| (format!("m{it}"), json!({"type": kind}))).collect();
        json!({"properties": {"n".repeat(200_000): {"properties": members}}})
    };
    let cases = [
        ("demands", demands(0), demands(100_000)),
        ("forms", forms(0), forms(100_000)),
        ("rotated", rotated(0), rotated(1)),
        ("shared", shared("a"), shared("ab")),
        ("examples", examples("a"), examples("ab")),
        ("names", names("a"), names("ab")),
        ("joined", joined("a"), json!({"title": "t"})),
        ("long", long("string"), long("integer")),
    ];
    for (case, old, new) in cases {
        let (old, new) = (tool(&old), tool(&new));
        let started = Instant::now();
        let found = changes(&old, &new);
        let took = started.elapsed();
        let bytes: usize = found.iter().map(|it| it.place.len() + it.text.len()).sum();
        assert!(!found.is_empty(), "{case}");
        assert!(took < AT_MOST, "{case}: {took:?}");
        assert!(bytes < MOST, "{case}: {bytes}");
    }
}
