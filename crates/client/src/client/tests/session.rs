//! Connections of one client that follow each other, as a server on the web sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gantry_protocol::Method;
use serde_json::{Value, json};

use crate::backoff::Backoff;
use crate::connection::tests::site::{Rule, Site, newer, older, result};
use crate::connection::tests::{SOON, call, complete};
use crate::request::List;
use crate::request_handler::NoopHandler;
use crate::settings::Settings;

/// The session that each greeting begins, and the last one for all further ones.
const SESSIONS: [&str; 3] =
    ["mcp-session-id: s1\r\n", "mcp-session-id: s2\r\n", "mcp-session-id: s3\r\n"];

/// Settings with waits so long that nothing comes after one.
fn patient() -> Settings {
    Settings { backoff: Backoff { first: SOON, at_most: SOON }, ..Settings::default() }
}

/// A server with sessions that knows only those from a number on.
async fn forgetful(from: usize) -> Site {
    let greeted = Arc::new(AtomicUsize::new(0));
    Site::open(move |seen| {
        let session = seen.header("mcp-session-id").and_then(|id| id.strip_prefix('s'));
        let is_known = session.is_none_or(|number| number.parse::<usize>().unwrap() >= from);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}});
        match seen.method() {
            "initialize" => {
                let number = greeted.fetch_add(1, Ordering::SeqCst).min(SESSIONS.len() - 1);
                Some((200, SESSIONS[number], result(seen, &hello)))
            }
            "tools/call" | "tools/list" if !is_known => Some((404, "", Value::Null)),
            "tools/list" => Some((200, "", result(seen, &json!({"tools": []})))),
            _ => older(seen),
        }
    })
    .await
}

/// What the server was asked, each with the session it came in.
fn trail(site: &mut Site) -> String {
    let seen = std::iter::from_fn(|| site.seen.try_recv().ok());
    let asked = seen.filter(|seen| !seen.body["id"].is_null()).map(|seen| {
        let session = seen.header("mcp-session-id").unwrap_or("none");
        format!("{} {session}", seen.method())
    });
    asked.collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn a_session_that_is_lost_is_begun_anew_once() {
    let cases = [
        (1, true, "server/discover none, initialize none, # s1"),
        (2, true, "server/discover none, initialize none, # s1, initialize none, # s2"),
        (3, false, "server/discover none, initialize none, # s1, initialize none, # s2"),
    ];
    for (known_from, is_answered, expected) in cases {
        for method in [Method::ToolsCall, Method::ToolsList] {
            let mut site = forgetful(known_from).await;
            let client = site.client(patient());
            let answered = match method {
                Method::ToolsList => client.list(List::Tools).await.map(drop),
                _ => client.request(&call("t"), &NoopHandler).await.map(drop),
            };
            assert_eq!(answered.is_ok(), is_answered, "{known_from} {method}: {answered:?}");
            let expected = expected.replace('#', method.as_str());
            assert_eq!(trail(&mut site), expected, "{known_from} {method}");
        }
    }
}

#[tokio::test]
async fn an_era_is_asked_for_once() {
    let cases: [(Rule, &str); 2] = [(older, "initialize none"), (newer, "server/discover none")];
    for (rule, expected) in cases {
        let mut site = Site::open(rule).await;
        let client = site.client(patient());
        client.peer().await.unwrap();
        trail(&mut site);
        for round in 0..3 {
            client.restart().await;
            client.peer().await.unwrap();
            assert_eq!(trail(&mut site), expected, "{round}");
        }
        assert_eq!(client.health().restarts, 3);
    }
}

#[tokio::test]
async fn an_era_is_asked_for_again_when_a_server_cannot_be_greeted() {
    let greeted = Arc::new(AtomicUsize::new(0));
    let mut site = Site::open(move |seen| match seen.method() {
        "initialize" if greeted.fetch_add(1, Ordering::SeqCst) == 1 => Some((503, "", Value::Null)),
        _ => older(seen),
    })
    .await;
    let soon = Duration::from_millis(1);
    let backoff = Backoff { first: soon, at_most: soon };
    let client = site.client(Settings { backoff, ..Settings::default() });
    client.peer().await.unwrap();
    trail(&mut site);
    client.restart().await;
    site.next("initialize").await;
    site.next("server/discover").await;
    complete(client.request(&call("t"), &NoopHandler).await);
}
