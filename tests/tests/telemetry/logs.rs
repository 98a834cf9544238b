//! Log lines name the call that they are about.

use gantry_tests::request;
use serde_json::{Value, json};

use crate::station::Station;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn a_line_made_for_a_call_names_it() {
    let tool = "no_such_tool";
    let station = Station::open("logs", &json!({"tools": []}), &[("GANTRY_LOG", "debug")]).await;
    let call = request::call(tool, json!({}));
    call.header("traceparent", PARENT).ask(station.address).await;
    let log = station.close().await;
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<Value> = lines.filter(|line| line["call"].is_string()).collect();
    let about = lines.iter().find(|line| line["name"] == tool);
    let about = about.unwrap_or_else(|| panic!("no line names the call: {log}"));
    assert_eq!(about["fields"]["message"], "call ended");
    assert_eq!(about["method"], "tools/call");
    assert!(about["principal"].is_string(), "{about}");
    assert_eq!(about["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    let outside = log.lines().find(|line| line.contains("stopping; calls in flight"));
    assert!(outside.is_some_and(|line| !line.contains("\"call\"")), "{log}");
}
