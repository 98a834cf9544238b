//! What is sent and what is dropped, against a collector that answers as it is told.

use std::sync::Arc;
use std::time::Duration;

use gantry_client::Endpoint;
use gantry_gateway::Trace;
use gantry_protocol::RawJson;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::telemetry::{Ids, Telemetry, TelemetrySettings};

const TIMEOUT: Duration = Duration::from_secs(30);

/// A collector that answers with these statuses in turn, the last one for ever; 0 is no answer.
struct Collector {
    settings: TelemetrySettings,
    /// The path and body of each request.
    requests: mpsc::Receiver<(String, Value)>,
    task: JoinHandle<()>,
}

impl Collector {
    async fn open(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/base/", listener.local_addr().unwrap()).parse().unwrap();
        let (tx, requests) = mpsc::channel(64);
        let task = tokio::spawn(async move {
            let mut statuses = statuses.iter().copied();
            let mut status = 200;
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                while let Some(request) = read(&mut stream).await {
                    status = statuses.next().unwrap_or(status);
                    let _ = tx.send(request).await;
                    if status == 0 {
                        std::future::pending::<()>().await;
                    }
                    let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 2\r\n\r\n{{}}");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
        });
        let settings = TelemetrySettings {
            gather: Duration::from_millis(1),
            first_wait: Duration::from_millis(1),
            ..TelemetrySettings::new(Endpoint::new(url))
        };
        Self { settings, requests, task }
    }

    async fn next(&mut self) -> (String, Value) {
        timeout(TIMEOUT, self.requests.recv()).await.expect("in time").expect("a request")
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(stream: &mut BufReader<tokio::net::TcpStream>) -> Option<(String, Value)> {
    let (mut path, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim();
        if path.is_empty() {
            line.split(' ').nth(1)?.clone_into(&mut path);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((path, serde_json::from_slice(&body).ok()?))
}

fn record(number: usize) -> RawJson {
    RawJson::of(&serde_json::json!({"n": number})).unwrap()
}

/// The lines of the metrics that say something about records, without their common part.
fn counts(telemetry: &Telemetry) -> (u64, u64) {
    let mut out = String::new();
    telemetry.write_metrics(&mut out);
    let count = |name: &str| {
        let line = format!("gantry_telemetry_{name}_total{{signal=\"records\"}} ");
        out.lines().find_map(|it| it.strip_prefix(&line)?.parse().ok()).unwrap()
    };
    (count("sent"), count("dropped"))
}

#[tokio::test]
async fn records_are_sent_with_their_trace() {
    let mut collector = Collector::open(&[200]).await;
    let telemetry = Telemetry::start(&collector.settings).unwrap();
    let trace = Trace::read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", None);
    let text = r#"{"a":null,"b":[true,1,2.5,"x"],"c":{"d":18446744073709551615}}"#;
    telemetry.export_record(&RawJson::from_static(text), trace.as_ref());
    let (path, body) = collector.next().await;
    assert_eq!(path, "/base/v1/logs");
    let record = &body["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    assert_eq!(record["traceId"], "0af7651916cd43dd8448eb211c80319c");
    let pairs = record["body"]["kvlistValue"]["values"].as_array().unwrap();
    assert_eq!(pairs[0]["value"], serde_json::json!({}));
    let values = pairs[1]["value"]["arrayValue"]["values"].as_array().unwrap();
    let kinds: Vec<_> = values.iter().map(|it| it.as_object().unwrap().keys().next()).collect();
    let kinds: Vec<&str> = kinds.into_iter().map(|it| it.unwrap().as_str()).collect();
    assert_eq!(kinds, ["boolValue", "intValue", "doubleValue", "stringValue"]);
    telemetry.stop().await;
    assert_eq!(counts(&telemetry), (1, 0));
}

#[tokio::test]
async fn no_records_when_they_are_not_wanted() {
    let collector = Collector::open(&[200]).await;
    let settings = TelemetrySettings { logs: false, ..collector.settings.clone() };
    let telemetry = Telemetry::start(&settings).unwrap();
    telemetry.export_record(&record(1), None);
    telemetry.stop().await;
    assert_eq!(counts(&telemetry), (0, 0));
}

#[tokio::test]
async fn the_end_sends_what_is_left_in_batches() {
    let mut collector = Collector::open(&[200]).await;
    let settings = TelemetrySettings {
        batch: 3,
        gather: Duration::from_secs(3600),
        ..collector.settings.clone()
    };
    let telemetry = Telemetry::start(&settings).unwrap();
    (0..7).for_each(|number| telemetry.export_record(&record(number), None));
    timeout(TIMEOUT, telemetry.stop()).await.expect("in time");
    assert_eq!(counts(&telemetry), (7, 0));
    for expected in [3, 3, 1] {
        let (_, body) = collector.next().await;
        let records = &body["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
        assert_eq!(records.as_array().unwrap().len(), expected);
    }
    telemetry.export_record(&record(8), None);
    assert_eq!(counts(&telemetry), (7, 1), "what comes after the end is counted as lost");
}

#[tokio::test]
async fn a_collector_is_tried_again_only_if_that_can_help() {
    let cases: [(&'static [u16], (u64, u64), usize); 4] = [
        (&[503, 429, 200], (1, 0), 3),
        (&[503], (0, 1), 3),
        (&[400], (0, 1), 1),
        (&[401], (0, 1), 3),
    ];
    for (statuses, expected, tries) in cases {
        let mut collector = Collector::open(statuses).await;
        let telemetry = Telemetry::start(&collector.settings).unwrap();
        telemetry.export_record(&record(1), None);
        telemetry.stop().await;
        assert_eq!(counts(&telemetry), expected, "{statuses:?}");
        let mut made = 0;
        while collector.requests.try_recv().is_ok() {
            made += 1;
        }
        assert_eq!(made, tries, "{statuses:?}");
    }
}

#[tokio::test]
async fn a_collector_that_hangs_costs_records_and_nothing_else() {
    let mut collector = Collector::open(&[0]).await;
    let settings = TelemetrySettings {
        queue: 2,
        batch: 1,
        flush_within: Duration::from_millis(50),
        ..collector.settings.clone()
    };
    let telemetry = Telemetry::start(&settings).unwrap();
    telemetry.export_record(&record(0), None);
    collector.next().await;
    (1..10).for_each(|number| telemetry.export_record(&record(number), None));
    assert_eq!(counts(&telemetry), (0, 7), "two wait, one is under way");
    timeout(TIMEOUT, telemetry.stop()).await.expect("the end waits only so long");
    timeout(TIMEOUT, telemetry.stop()).await.expect("a second end is none");
}

#[test]
fn who_begins_a_trace_decides_whether_it_is_recorded() {
    let trace = |flags: &str| {
        let parent = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
        Trace::read(&parent, Some("a=1"))
    };
    let cases = [
        (1.0, None, true),
        (0.0, None, false),
        (0.0, trace("01"), true),
        (1.0, trace("00"), false),
    ];
    for (sample, came, sampled) in cases {
        let span = Ids::new(sample).span(came.as_ref());
        assert_eq!(span.sampled, sampled, "{sample} {came:?}");
        let Some(came) = came else {
            assert_eq!((span.parent, span.state), (None, None));
            continue;
        };
        assert_eq!(span.parent, Some(0xb7ad_6b71_6920_3331));
        assert_eq!(span.state, came.state);
        assert_eq!(span.onward().id(), came.id());
    }
}

#[test]
fn ids_are_distinct_and_a_share_is_a_share() {
    let ids = Ids::new(0.25);
    let spans: Vec<_> = (0..4000).map(|_| ids.span(None)).collect();
    let traces: std::collections::BTreeSet<u128> = spans.iter().map(|span| span.trace).collect();
    let parts: std::collections::BTreeSet<u64> =
        spans.iter().flat_map(|span| [span.call, span.work]).collect();
    assert_eq!((traces.len(), parts.len()), (4000, 8000));
    let recorded = spans.iter().filter(|span| span.sampled).count();
    assert!((800..1200).contains(&recorded), "{recorded} of 4000");
}

#[tokio::test]
async fn a_header_that_no_request_may_have_is_refused_at_the_start() {
    let mut collector = Collector::open(&[200]).await;
    let secret = gantry_client::Secret::new("1\n2");
    collector.settings.collector.headers.push(("x".to_owned(), secret));
    let refused: Result<Arc<Telemetry>, _> = Telemetry::start(&collector.settings);
    assert!(refused.is_err_and(|error| !error.to_string().contains('2')));
}
