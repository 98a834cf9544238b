//! One trace from the client through the gateway to the server, and what a server is told.

use gantry_tests::request;
use gantry_tests::upstream_fixture::said;
use serde_json::{Value, json};

use crate::station::{Collector, Station, call, label, server};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-01";

fn find<'a>(spans: &'a [Value], wanted: &str) -> &'a Value {
    spans.iter().rfind(|span| label(span) == wanted).expect("a span")
}

/// A client and a server on the Python SDK trace themselves: the two spans of the gateway stand
/// between theirs. Both eras of clients.
#[tokio::test]
async fn one_trace_from_client_to_server() {
    for mode in ["legacy", "auto"] {
        let mut collector = Collector::open().await;
        let config = json!({
            "telemetry": {"otlp": collector.url, "headers": {"x-key": "a secret"}},
            "mcpServers": {"up": server(&collector)},
        });
        let station = Station::open(&format!("one-{mode}"), &config, &[]).await;
        station.until_ready("up_add").await;
        let arguments = json!({"a": 1, "b": 2});
        assert_eq!(call(&station, &collector, mode, "up_add", &arguments).await, "3");
        let names = [
            "client 3 MCP send tools/call up_add",
            "gantry 2 tools/call up_add",
            "gantry 3 tools/call up_add",
            "server 2 tools/call add",
        ];
        let spans = collector.until(&names).await;
        let chain = names.map(|name| find(&spans, name));
        for pair in chain.windows(2) {
            assert_eq!(pair[1]["trace"], pair[0]["trace"], "{mode}");
            assert_eq!(pair[1]["parent"], pair[0]["span"], "{mode}: {}", label(pair[1]));
        }
        let attributes = &chain[1]["attributes"];
        let expected = [
            ("mcp.method.name", "tools/call"),
            ("gen_ai.tool.name", "up_add"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gantry.server", "up"),
        ];
        for (key, value) in expected {
            assert_eq!(attributes[key], value, "{attributes}");
        }
        assert!(
            attributes["gantry.call"].is_string() && attributes["gantry.principal"].is_string()
        );
        assert_eq!(chain[1]["key"], "a secret", "the headers of the configuration");
        let log = station.close().await;
        assert!(!log.contains("a secret"), "{log}");
    }
}

/// A failed call is told as one, and what is left in the queue is sent at the end.
#[tokio::test]
async fn failures_are_told_and_the_end_sends_the_rest() {
    let mut collector = Collector::open().await;
    let config = json!({"mcpServers": {"up": server(&collector)}});
    let variables =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.url), ("OTEL_SERVICE_NAME", "by-variable")];
    let station = Station::open("failures", &config, &variables).await;
    station.until_ready("up_fail").await;
    let failed = request::call("up_fail", json!({})).ask(station.address).await;
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    request::call("no_such_tool", json!({})).ask(station.address).await;
    station.close().await;
    let spans = collector.until(&["by-variable 2 tools/call up_fail", "by-variable 2 tools/call"]);
    let spans = spans.await;
    let cases = [
        ("by-variable 2 tools/call up_fail", "ToolExecutionError", "up_fail"),
        ("by-variable 2 tools/call", "ToolNotFoundError", "no_such_tool"),
    ];
    for (name, kind, tool) in cases {
        let span = find(&spans, name);
        assert_eq!((&span["status"], &span["parent"]), (&json!(2), &json!("")), "{span}");
        assert_eq!(span["attributes"]["error.type"], kind, "{span}");
        assert_eq!(span["attributes"]["gen_ai.tool.name"], tool, "{span}");
    }
}

/// What the server was told of its trace.
async fn told(station: &Station, meta: &Value, headers: &[(&str, &str)]) -> Value {
    let mut call = request::call("up_told", json!({}));
    for (key, value) in meta.as_object().expect("members") {
        call = call.set(&format!("/params/_meta/{key}"), value.clone());
    }
    for (name, value) in headers {
        call = call.header(name, value);
    }
    let text = said(&call.ask(station.address).await).expect("a result");
    serde_json::from_str(&text).expect("JSON")
}

/// Without tracing of our own, the trace passes as it came.
#[tokio::test]
async fn a_trace_passes_as_it_came() {
    let collector = Collector::open().await;
    let config = json!({"mcpServers": {"up": server(&collector)}});
    let station = Station::open("passes", &config, &[]).await;
    station.until_ready("up_told").await;
    let whole = json!({"traceparent": PARENT, "tracestate": "a=1", "baggage": "b=2"});
    type Headers = &'static [(&'static str, &'static str)];
    let cases: [(Value, Headers, Value); 8] = [
        (json!({}), &[], json!({})),
        (whole.clone(), &[], whole.clone()),
        // What the message says comes first.
        (json!({"traceparent": PARENT}), &[("traceparent", OTHER)], json!({"traceparent": PARENT})),
        (
            json!({}),
            &[("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2")],
            json!({"traceparent": PARENT, "tracestate": "a=1,b=2"}),
        ),
        (json!({}), &[("traceparent", "00-0-0-01"), ("tracestate", "a=1")], json!({})),
        (json!({}), &[("traceparent", PARENT), ("traceparent", OTHER)], json!({})),
        // What is malformed is nobody's trace, and still the client's own word.
        (json!({"traceparent": "x"}), &[], json!({"traceparent": "x"})),
        (json!({"traceparent": "x"}), &[("traceparent", PARENT)], json!({"traceparent": PARENT})),
    ];
    for (meta, headers, expected) in cases {
        assert_eq!(told(&station, &meta, headers).await, expected, "{meta} {headers:?}");
    }
    station.close().await;
}

/// With tracing of our own, the server's parent is our span, and a caller that does not record is
/// not recorded.
#[tokio::test]
async fn a_trace_is_continued() {
    let mut collector = Collector::open().await;
    let config = json!({
        "telemetry": {"otlp": collector.url, "sample": 0},
        "mcpServers": {"up": server(&collector)},
    });
    let station = Station::open("continued", &config, &[]).await;
    station.until_ready("up_told").await;
    let meta = json!({"traceparent": PARENT, "tracestate": "a=1", "baggage": "b=2"});
    let heard = told(&station, &meta, &[]).await;
    let onward = heard["traceparent"].as_str().expect("a trace");
    assert!(onward.starts_with(&PARENT[..36]) && onward.ends_with("-01"), "{onward}");
    assert_ne!(onward, PARENT);
    assert_eq!((&heard["tracestate"], &heard["baggage"]), (&json!("a=1"), &json!("b=2")));
    let wanted = "gantry 3 tools/call up_told";
    let spans = collector.until(&[wanted]).await;
    assert_eq!(find(&spans, wanted)["span"], onward[36..52], "the span that we sent");
    assert_eq!(find(&spans, wanted)["state"], "a=1");

    let quiet = format!("{}00", &PARENT[..53]);
    let heard = told(&station, &json!({"traceparent": quiet}), &[]).await;
    let onward = heard["traceparent"].as_str().expect("a trace");
    assert!(onward.starts_with(&quiet[..36]) && onward.ends_with("-00"), "{onward}");
    let heard = told(&station, &json!({}), &[]).await;
    let onward = heard["traceparent"].as_str().expect("a trace");
    assert!(onward.ends_with("-00"), "a share of nothing: {onward}");
    let metrics = station.metrics().await;
    assert!(metrics.contains("gantry_telemetry_sent_total{signal=\"spans\"} 2\n"), "{metrics}");
    station.close().await;
}
