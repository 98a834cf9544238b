//! The records of calls as a collector reads them, by the official messages of OTLP.

use gantry_tests::request;
use gantry_tests::temp_folder::{command, finish, program};
use serde_json::{Value, json};

use crate::station::{Collector, Station};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A server to call.
fn server() -> Value {
    json!({"f": {"command": env!("CARGO_BIN_EXE_fixture-server")}})
}

/// The records and the spans of so many calls, in the order in which they came.
async fn sent(collector: &mut Collector, calls: usize) -> (Vec<Value>, Vec<Value>) {
    let (mut records, mut spans) = (Vec::new(), Vec::new());
    let is_whole = |span: &&Value| span["kind"] == 2;
    while records.len() < calls || spans.iter().filter(is_whole).count() < calls {
        let told = collector.next().await;
        match told.get("record").is_some() {
            true => records.push(told),
            // The lists that a test looks at are not recorded.
            false if told["name"] == "tools/list" => {}
            false => spans.push(told),
        }
    }
    (records, spans)
}

/// What the program itself has on file, without what chains the lines.
async fn kept(station: &Station, calls: usize) -> Vec<Value> {
    loop {
        let mut export = command(program());
        export.args(["audit", "export"]).env("XDG_STATE_HOME", &station.bench.folder);
        let text = finish(&mut export).await;
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let records: Vec<Value> = lines.filter(|line: &Value| line["call"].is_string()).collect();
        if records.len() >= calls {
            return records;
        }
    }
}

/// A call that is well, one that is refused by its arguments and one of nothing: each record comes as
/// it was kept, member for member, in the trace of its span.
#[tokio::test]
async fn each_record_is_read_as_it_was_kept_and_belongs_to_its_span() {
    let mut collector = Collector::open().await;
    let config = json!({
        "telemetry": {"otlp": collector.url, "service": "recorded"},
        "audit": {"arguments": "redacted"},
        "mcpServers": server(),
    });
    let station = Station::open("records", &config, &[]).await;
    station.until_ready("f_echo").await;
    let odd = json!({"text": "a b", "more": {"list": [true, null, -1, 2.5, "x"], "empty": {}}});
    let calls = [
        request::call("f_echo", json!({"text": "a b"})).header("traceparent", PARENT),
        request::call("f_echo", odd),
        request::call("no_such_tool", json!({})),
    ];
    for call in &calls {
        call.ask(station.address).await;
    }
    let (records, spans) = sent(&mut collector, calls.len()).await;
    let on_file = kept(&station, calls.len()).await;
    assert_eq!(records.len(), on_file.len(), "{records:?}");
    for told in &records {
        let record = &told["record"];
        let call = &record["call"];
        let own = on_file.iter().find(|it| it["call"] == *call).expect("it is on file");
        for (key, value) in record.as_object().expect("members") {
            assert_eq!(value, &own[key], "{key} of {told}");
        }
        assert!(record["took_us"].is_u64() && record["at"].is_string(), "{record}");
        let words = ["service", "scope", "event", "severity"].map(|key| &told[key]);
        assert_eq!(words, ["recorded", "gantry", "gantry.call", "INFO"]);
        let span = spans.iter().find(|span| span["attributes"]["gantry.call"] == *call);
        let span = span.expect("a span of that call");
        assert_eq!((&told["trace"], &told["span"]), (&span["trace"], &span["span"]), "{told}");
        assert_eq!((&record["trace"], &told["flags"]), (&span["trace"], &json!(1)), "{told}");
    }
    assert_eq!(records[0]["trace"], PARENT[3..35], "the caller's");
    let outcomes: Vec<&Value> = records.iter().map(|told| &told["record"]["outcome"]).collect();
    assert_eq!(outcomes[0], "ok");
    assert_ne!(outcomes[2], "ok");
    station.close().await;
}

/// A call that nobody traces has a record all the same, which names the caller's trace.
#[tokio::test]
async fn a_call_without_a_span_has_a_record() {
    let mut collector = Collector::open().await;
    let config = json!({"telemetry": {"otlp": collector.url, "sample": 0}, "mcpServers": server()});
    let station = Station::open("records-alone", &config, &[]).await;
    station.until_ready("f_echo").await;
    let quiet = format!("{}00", &PARENT[..53]);
    let call = || request::call("f_echo", json!({"text": "a"}));
    call().header("traceparent", &quiet).ask(station.address).await;
    let told = collector.next().await;
    assert_eq!((&told["trace"], &told["flags"]), (&json!(PARENT[3..35]), &json!(0)), "{told}");
    assert_eq!(told["record"]["tool"], "f_echo");
    station.close().await;
}
