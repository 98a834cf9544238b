//! Servers on the web, scripted: what each request carries, and what each status means.

use std::collections::BTreeSet;
use std::sync::Arc;

use gantry_protocol::headers::{HeaderKind, HeaderParam};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::site::{Reply, Seen, Site, error, newer, older};
use super::{SOON, call, complete, raw};
use crate::connection::Connection;
use crate::connection::dispatch::{decode, dispatch};
use crate::error::ClientError;
use crate::event::{ChangedList, Event};
use crate::request::Request;
use crate::request_handler::NoopHandler;
use crate::settings::Settings;
use crate::target::{Endpoint, HttpKind, Target};
use crate::transport::fake_http_server::{self, read_request};

#[tokio::test]
async fn the_era_is_found_out() {
    let unsupported =
        json!({"code": -32022, "message": "m", "data": {"supported": ["2025-06-18"]}});
    let unknown = json!({"code": -32601, "message": "m"});
    type Answer = Box<dyn Fn(&Seen) -> Reply + Send + Sync>;
    let plain = |status| -> Answer { Box::new(move |_| (status, "", Value::Null)) };
    let failing =
        |status, told: Value| -> Answer { Box::new(move |seen| (status, "", error(seen, &told))) };
    let cases: [(Answer, &str); 11] = [
        (plain(400), "2025-06-18"),
        (plain(404), "2025-06-18"),
        (plain(405), "2025-06-18"),
        (plain(406), "2025-06-18"),
        (plain(500), "500"),
        (plain(503), "503"),
        (plain(401), "401"),
        (failing(200, unknown.clone()), "2025-06-18"),
        (failing(404, unknown), "2025-06-18"),
        (failing(400, unsupported), "2025-06-18"),
        (failing(400, json!({"code": -32020, "message": "mismatch"})), "mismatch"),
    ];
    for (answer, expected) in cases {
        let site = Site::open(move |seen| match seen.method() {
            "server/discover" => Some(answer(seen)),
            _ => older(seen),
        })
        .await;
        let found = match site.connect().await {
            Ok(connection) => connection.peer().revision.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[tokio::test]
async fn a_session_is_kept_and_ended() {
    let mut site = Site::open(older).await;
    let connection = site.connect().await.unwrap();
    complete(connection.request(call("t"), &NoopHandler).await);
    for method in ["notifications/initialized", "tools/call"] {
        let seen = site.next(method).await;
        assert_eq!(seen.header("mcp-session-id"), Some("s1"), "{method}");
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-06-18"), "{method}");
    }
    connection.close().await;
    assert_eq!(site.next("DELETE").await.header("mcp-session-id"), Some("s1"));
}

#[tokio::test]
async fn the_trace_of_a_request_is_named_in_headers() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for rule in [older, newer] {
        for state in [None, Some("a=1")] {
            let mut site = Site::open(rule).await;
            let connection = site.connect().await.unwrap();
            let trace = gantry_protocol::Trace::read(parent, state).map(Arc::new);
            let traced = Request { trace, ..call("t") };
            complete(connection.request(traced, &NoopHandler).await);
            let seen = site.next("tools/call").await;
            assert_eq!(seen.header("traceparent"), Some(parent));
            assert_eq!(seen.header("tracestate"), state);
        }
    }
}

#[tokio::test]
async fn a_session_that_is_lost_is_told() {
    let site = Site::open(|seen| match seen.method() {
        "tools/call" => Some((404, "", Value::Null)),
        _ => older(seen),
    })
    .await;
    let connection = site.connect().await.unwrap();
    let answer = connection.request(call("t"), &NoopHandler).await;
    assert!(matches!(answer, Err(ClientError::SessionLost)), "{answer:?}");
    assert!(timeout(SOON, connection.ended()).await.unwrap().contains("session"));
}

#[tokio::test]
async fn dropping_a_request_cancels_it_by_the_way_of_its_era() {
    let waits = |rule: fn(&Seen) -> Option<Reply>| {
        move |seen: &Seen| if seen.method() == "tools/call" { None } else { rule(seen) }
    };
    let mut site = Site::open(waits(older)).await;
    let connection = site.connect().await.unwrap();
    let asked = connection.clone();
    let task = tokio::spawn(async move { asked.request(call("t"), &NoopHandler).await });
    let sent = site.next("tools/call").await;
    task.abort();
    let cancelled = site.next("notifications/cancelled").await;
    assert_eq!(cancelled.body["params"]["requestId"], sent.body["id"]);

    let mut site = Site::open(waits(newer)).await;
    let connection = site.connect().await.unwrap();
    let asked = connection.clone();
    let task = tokio::spawn(async move { asked.request(call("t"), &NoopHandler).await });
    site.next("tools/call").await;
    task.abort();
    assert!(task.await.is_err());
    // Nothing more is sent: the next that the server sees is the next request.
    let asked = connection.clone();
    let task = tokio::spawn(async move { asked.request(call("t"), &NoopHandler).await });
    assert_eq!(site.seen.recv().await.unwrap().method(), "tools/call");
    task.abort();
}

#[tokio::test]
async fn a_request_that_stands_alone_repeats_itself_in_headers() {
    let mut site = Site::open(newer).await;
    let connection = site.connect().await.unwrap();
    let params =
        json!({"name": "grüß", "arguments": {"region": "eu", "depth": {"n": 7}, "none": null}});
    let mut request = Request::new(gantry_protocol::Method::ToolsCall, raw(&params));
    let param = |name: &str, path: &[&str], kind| HeaderParam {
        header: format!("mcp-param-{name}"),
        path: path.iter().map(ToString::to_string).collect(),
        kind,
    };
    request.headers = Arc::new([
        param("region", &["region"], HeaderKind::String),
        param("n", &["depth", "n"], HeaderKind::Integer),
        param("none", &["none"], HeaderKind::String),
    ]);
    complete(connection.request(request, &NoopHandler).await);
    let seen = site.next("tools/call").await;
    let expected = [
        ("mcp-protocol-version", Some("2026-07-28")),
        ("mcp-method", Some("tools/call")),
        ("mcp-name", Some("=?base64?Z3LDvMOf?=")),
        ("mcp-param-region", Some("eu")),
        ("mcp-param-n", Some("7")),
        ("mcp-param-none", None),
        ("mcp-session-id", None),
    ];
    for (name, value) in expected {
        assert_eq!(seen.header(name), value, "{name}");
    }
}

#[tokio::test]
async fn what_a_status_means() {
    let refused = json!({"code": -32602, "message": "unknown tool"});
    let nameless = json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "nameless"}});
    let cases: Vec<(u16, Value, &str)> = vec![
        (200, json!({"error": refused}), "Answered"),
        (400, json!({"error": refused}), "Answered"),
        (404, json!({"error": refused}), "Answered"),
        (200, nameless.clone(), "nameless"),
        (400, nameless, "nameless"),
        (500, Value::Null, "Http("),
        (503, json!({"error": refused}), "status: 503, retry_after: Some(7s), error: Some("),
        (429, Value::Null, "status: 429, retry_after: Some(7s), error: None"),
        (202, Value::Null, "Malformed"),
        (200, json!({"id": 999, "result": {}}), "Lost"),
        (403, Value::Null, "Unauthorized"),
    ];
    for (status, body, expected) in cases {
        let site = Site::open(move |seen| match seen.method() {
            "tools/call" => {
                let mut body = body.clone();
                if !body.is_null() {
                    body["jsonrpc"] = json!("2.0");
                }
                if body["error"]["message"] == "unknown tool" {
                    body["id"] = seen.body["id"].clone();
                }
                Some((status, "retry-after: 7\r\n", body))
            }
            _ => newer(seen),
        })
        .await;
        let connection = site.connect().await.unwrap();
        let answer = connection.request(call("t"), &NoopHandler).await;
        assert!(format!("{answer:?}").contains(expected), "{status} {expected}: {answer:?}");
    }
}

#[tokio::test]
async fn the_server_is_subscribed_before_it_is_asked() {
    let mut site = Site::open(older).await;
    let connection = site.connect().await.unwrap();
    let seen = std::iter::from_fn(|| site.seen.try_recv().ok());
    assert!(seen.into_iter().any(|seen| seen.method() == "GET"));
    assert!(!connection.is_subscribed(), "it has no stream");
}

#[tokio::test]
async fn a_stream_that_does_not_come_is_not_waited_for() {
    let silent = |seen: &Seen| if seen.method() == "GET" { None } else { older(seen) };
    let site = Site::open(silent).await;
    let connection = site.connect().await.unwrap();
    connection.request(call("t"), &NoopHandler).await.unwrap();
}

#[tokio::test]
async fn a_question_on_the_general_stream_finds_the_only_call() {
    let waits = |seen: &Seen| if seen.method() == "tools/call" { None } else { older(seen) };
    let mut site = Site::open(waits).await;
    let connection = site.connect().await.unwrap();
    let line = super::Hearer::answering("", json!({"action": "accept"}));
    let (asked, answering) = (connection.clone(), line.clone());
    let task = tokio::spawn(async move { asked.request(call("t"), &*answering).await });
    site.next("tools/call").await;
    // As the general stream would bring it.
    let input_request =
        json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}});
    let input_request = decode(&connection.inner, input_request.to_string().into()).await;
    dispatch(&connection.inner, input_request, None);
    let answer = site.next("POST").await;
    assert_eq!(answer.body["result"]["action"], "accept");
    task.abort();
}

#[tokio::test]
async fn a_subscription_is_heard_until_the_next_has_taken_its_place() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let target = Target::Http(Endpoint::new(url.parse().unwrap()), HttpKind::Streamable);
    let say = |message: Value| format!("data: {message}\n\n");
    let acknowledge = |request: &str| {
        let id = serde_json::from_str::<Value>(request).unwrap()["id"].clone();
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        let params = json!({"notifications": {}, "_meta": meta});
        say(
            json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}),
        )
    };
    let changed = say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    let (sender, heard) = mpsc::channel(8);
    let (listened, listens) = oneshot::channel();
    let serve = async {
        let mut heard = heard;
        let (mut first, _) = listener.accept().await.unwrap();
        let (_, discover) = read_request(&mut first).await.unwrap();
        let id = serde_json::from_str::<Value>(&discover).unwrap()["id"].clone();
        let capabilities =
            json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
        let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities});
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": found}).to_string();
        first.write_all(fake_http_server::json(&answer).as_bytes()).await.unwrap();
        let (_, listen) = read_request(&mut first).await.unwrap();
        first.write_all(fake_http_server::events(&acknowledge(&listen)).as_bytes()).await.unwrap();
        listened.send(()).unwrap();
        let (mut second, _) = listener.accept().await.unwrap();
        let (_, again) = read_request(&mut second).await.unwrap();
        // While the second is not in force, the first has something to say.
        first.write_all(fake_http_server::chunk(&changed).as_bytes()).await.unwrap();
        assert!(matches!(heard.recv().await, Some(Event::ListChanged(ChangedList::Tools))));
        second.write_all(fake_http_server::events(&acknowledge(&again)).as_bytes()).await.unwrap();
        (first, second, heard)
    };
    let watch = async {
        let settings = Arc::new(Settings::default());
        let connection = Connection::open(&target, settings, sender).await.unwrap();
        listens.await.unwrap();
        connection.watch(&BTreeSet::from(["a:b".to_owned()])).await.unwrap();
        connection
    };
    let all = async {
        let ((mut first, _second, mut heard), _connection) = tokio::join!(serve, watch);
        // What was said on the first before the second was known may come after all.
        first.write_all(fake_http_server::chunk(&changed).as_bytes()).await.unwrap();
        assert!(matches!(heard.recv().await, Some(Event::ListChanged(ChangedList::Tools))));
    };
    timeout(SOON, all).await.expect("both changes are heard");
}
