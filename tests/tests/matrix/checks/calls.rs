//! Calls that ask nothing: results, notices, cancellation, errors, and what must stay as it is.

use std::time::{Duration, Instant};

use gantry::Revision;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::expect;
use crate::client::{Client, result_of, text_of};
use crate::features::Cell;
use crate::peers::Kind;

/// How long a server may take to hear of something.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A number that floating point cannot hold.
const BIG: u64 = 9_007_199_254_740_993;

/// A plain call.
pub(crate) async fn call(client: &mut Client, _: &Cell) -> Result<(), String> {
    let said = client.call("echo", json!({"word": "hello"})).await?;
    let said: Value = serde_json::from_str(&said).map_err(|error| error.to_string())?;
    expect("the echo", said, json!({"word": "hello"}))
}

/// The schema and the value, or the text that stands for it.
pub(crate) async fn structured(client: &mut Client, cell: &Cell) -> Result<(), String> {
    let result = client.call_raw("add", json!({"a": 40, "b": 2})).await?;
    let said: Value = serde_json::from_str(&text_of(&result)).unwrap_or_default();
    expect("the text", said, json!({"sum": 42}))?;
    if cell.client < Revision::V2025_06_18 || cell.server < Revision::V2025_06_18 {
        return Ok(());
    }
    expect("the value", &result["structuredContent"], &json!({"sum": 42}))?;
    let listed = result_of(client.ask("tools/list", json!({})).await?)?;
    let tools = listed["tools"].as_array().into_iter().flatten();
    let schema = tools.filter(|tool| tool["name"] == "add").map(|tool| &tool["outputSchema"]);
    let kinds: Vec<_> = schema.map(|it| it["properties"]["sum"]["type"].as_str()).collect();
    expect("the schema", kinds, vec![Some("integer")])
}

/// Three reports, in order.
pub(crate) async fn progress(client: &mut Client, _: &Cell) -> Result<(), String> {
    let since = client.notices.len();
    expect("the result", client.call("progress", json!({})).await?, "done")?;
    let steps = numbers(&client.notices[since..]);
    expect("the steps", steps, vec![1.0, 2.0, 3.0])
}

fn numbers(notices: &[Value]) -> Vec<f64> {
    let reports = notices.iter().filter(|it| it["method"] == "notifications/progress");
    reports.filter_map(|it| it["params"]["progress"].as_f64()).collect()
}

/// Two messages, in order.
pub(crate) async fn log(client: &mut Client, cell: &Cell) -> Result<(), String> {
    if !cell.client.is_stateless() {
        result_of(client.ask("logging/setLevel", json!({"level": "debug"})).await?)?;
    }
    let since = client.notices.len();
    expect("the result", client.call("logs", json!({})).await?, "logged")?;
    let notices = client.notices[since..].iter();
    let logged = notices.filter(|it| it["method"] == "notifications/message");
    let logged: Vec<_> =
        logged.map(|it| json!([it["params"]["level"], it["params"]["data"]])).collect();
    let expected = [json!(["info", "one"]), json!(["warning", "two"])];
    // With a handshake rmcp logs on a stream that belongs to no call, so the answer may be first.
    let late = cell.kind == Kind::Rmcp && !cell.server.is_stateless();
    match late && expected.starts_with(&logged) {
        true => Ok(()),
        false => expect("the messages", logged, expected.to_vec()),
    }
}

/// The server hears that a call is no longer wanted.
pub(crate) async fn cancel(client: &mut Client, _: &Cell) -> Result<(), String> {
    let before = count(client).await?;
    let since = client.notices.len();
    let slow = client.begin("tools/call", json!({"name": "slow", "arguments": {}}));
    client.hear("notifications/progress", since).await?;
    client.cancel(&slow).await;
    let begun = Instant::now();
    while begun.elapsed() < TIMEOUT {
        if count(client).await? > before {
            return Ok(());
        }
        // Only the pause between two looks; nothing depends on its length.
        sleep(Duration::from_millis(5)).await;
    }
    Err("the server did not hear of it".to_owned())
}

async fn count(client: &mut Client) -> Result<u64, String> {
    let said = client.call("cancelled", json!({})).await?;
    said.parse().map_err(|error| format!("{said}: {error}"))
}

/// A failure of a tool is a result; a resource that is missing, an error of the revision.
pub(crate) async fn errors(client: &mut Client, cell: &Cell) -> Result<(), String> {
    let failed = client.call_raw("fail", json!({})).await?;
    expect("isError", &failed["isError"], true)?;
    expect("its text", text_of(&failed), "it broke")?;
    let missing = client.ask("resources/read", json!({"uri": "peer://missing"})).await?;
    let code = missing["error"]["code"].as_i64();
    // This SDK says it in the newest way to everyone.
    let ahead = cell.kind == Kind::Node2 && code == Some(-32602);
    match cell.client.is_stateless() {
        true => expect("the code", code, Some(-32602)),
        false if ahead => Ok(()),
        false => expect("the code", code, Some(-32002)),
    }
}

/// Numbers, members nobody knows, and `_meta` of a vendor.
pub(crate) async fn kept(client: &mut Client, cell: &Cell) -> Result<(), String> {
    // What JavaScript reads, it has rounded already.
    let big = match cell.kind {
        Kind::Node1 | Kind::Node2 => BIG - 1,
        _ => BIG,
    };
    let given = json!({"big": BIG, "unknown": {"list": [1, {"x": null}], "word": "ü"}});
    let mut expected = given.clone();
    expected["big"] = json!(big);
    let result = client.call_raw("echo", given).await?;
    let said: Value = serde_json::from_str(&text_of(&result)).unwrap_or_default();
    expect("the text", &said, &expected)?;
    let kept = &result["_meta"]["peer.example/kept"];
    expect("the vendor's member", kept, &json!({"big": big, "order": {"z": 1, "a": 2}}))?;
    if cell.client >= Revision::V2025_06_18 && cell.server >= Revision::V2025_06_18 {
        expect("the value", &result["structuredContent"], &expected)?;
    }
    Ok(())
}
