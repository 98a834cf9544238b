//! Tools whose headers have changed since they were listed.

use gantry_protocol::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::connection::tests::site::{Reply, Seen, Site, error, result};
use crate::connection::tests::{SOON, raw};
use crate::event::{ChangedList, Event};
use crate::request::Request;
use crate::request_handler::NoopHandler;
use crate::settings::Settings;

/// A server whose tools are these, and that wants to see a region in a header.
fn serve(seen: &Seen, tools: &Value) -> Reply {
    let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
    let listed = json!({"resultType": "complete", "ttlMs": 60_000, "tools": tools});
    match seen.method() {
        "server/discover" => (200, "", result(seen, &found)),
        "tools/list" => (200, "", result(seen, &listed)),
        _ if seen.header("mcp-param-region") == Some("eu") => {
            (200, "", result(seen, &json!({"resultType": "complete", "content": []})))
        }
        _ => (400, "", error(seen, &json!({"code": -32020, "message": "m"}))),
    }
}

fn tool(name: &str, annotation: &str, header: &str) -> Value {
    let region = json!({"type": "string", annotation: header});
    json!({"name": name, "inputSchema": {"type": "object", "properties": {"region": region}}})
}

#[tokio::test]
async fn a_call_with_the_wrong_headers_is_corrected_once() {
    let again = "server/discover tools/call tools/list tools/call";
    let refused = "server/discover tools/call tools/list";
    let cases = [
        (json!([tool("u", "x-other", "a"), tool("t", "x-mcp-header", "Region")]), again, true),
        (json!([tool("t", "x-mcp-header", "Place")]), again, false),
        (json!([tool("t", "x-mcp-header", "not a header")]), refused, false),
        (json!([tool("t", "x-other", "Region")]), refused, false),
        (json!([tool("u", "x-mcp-header", "Region")]), refused, false),
        (json!([]), refused, false),
    ];
    for (tools, expected, is_answered) in cases {
        let case = tools.to_string();
        let mut site = Site::open(move |seen| Some(serve(seen, &tools))).await;
        let (events, mut told) = mpsc::channel(8);
        let client = site.client_telling(Settings::default(), events);
        let params = json!({"name": "t", "arguments": {"region": "eu"}});
        let call = Request::new(Method::ToolsCall, raw(&params));
        let answer = client.request(&call, &NoopHandler).await;
        assert_eq!(answer.is_ok(), is_answered, "{case}: {answer:?}");
        let seen = std::iter::from_fn(|| site.seen.try_recv().ok());
        let trail: Vec<_> = seen.map(|seen| seen.method().to_owned()).collect();
        assert_eq!(trail.join(" "), expected, "{case}");
        if expected == again {
            let event = timeout(SOON, told.recv()).await.expect("others are told");
            assert!(matches!(event, Some(Event::ListChanged(ChangedList::Tools))), "{event:?}");
        }
    }
}
