//! Lists page by page, and what is heard of their changes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::timeout;

use super::SOON;
use super::peer::{begin, connected, pipe, stateless};
use crate::event::{ChangedList, Event};
use crate::request::List;
use crate::settings::{ListLimits, Settings};

/// What a server answers to one request for a page.
type Page = Result<Value, Value>;

/// Pages, and what comes of them: how many items, how long they are good, and what was cut.
type Case = (Vec<Page>, (usize, u64, &'static str));

async fn list(pages: Vec<Page>) -> Result<(usize, u64, Option<String>), String> {
    let lists = ListLimits { items: 5, definition: 100, total: 250, page: 200 };
    let settings = Settings { lists, ..Settings::default() };
    let (connection, mut server, _events) = stateless(json!({"tools": {}}), settings).await;
    let serving = async {
        for page in pages {
            let sent = server.next().await;
            match page {
                Ok(result) => server.answer(&sent, result).await,
                Err(error) => server.fail(&sent, error).await,
            }
        }
        std::future::pending::<()>().await;
    };
    let listed = tokio::select! {
        listed = connection.list(List::Tools) => listed,
        () = serving => unreachable!(),
    };
    let listed = listed.map_err(|error| error.to_string())?;
    Ok((listed.items.len(), listed.ttl.as_millis() as u64, listed.truncated))
}

#[tokio::test]
async fn all_pages_are_had() {
    let page = |count: usize, ttl: u64, next: Value| {
        Ok(json!({"tools": vec![json!({}); count], "ttlMs": ttl, "nextCursor": next}))
    };
    let error = |code: i64| Err(json!({"code": code, "message": "no"}));
    let sized = |sizes: &[usize], next: Value| {
        let item = |size: &usize| json!({"name": "n".repeat(size - 11)});
        let items: Vec<Value> = sizes.iter().map(item).collect();
        Ok(json!({"tools": items, "ttlMs": 1, "nextCursor": next}))
    };
    let cases: [Case; 15] = [
        (vec![page(2, 7, Value::Null)], (2, 7, "")),
        (vec![page(2, 7, json!("")), page(1, 5, json!("b")), page(0, 9, Value::Null)], (3, 5, "")),
        (vec![page(1, 7, json!("a")), page(1, 7, json!("a"))], (2, 7, "repeats a cursor")),
        (vec![page(3, 7, json!("a")), page(3, 7, json!("b"))], (5, 7, "more than 5")),
        (vec![page(6, 7, Value::Null)], (5, 7, "more than 5")),
        (vec![page(1, 7, json!("a")), error(-32603)], (1, 7, "page 2")),
        (vec![page(1, 7, json!("a")), Ok(json!({}))], (1, 7, "no array")),
        (vec![error(-32601)], (0, 0, "")),
        (vec![page(0, 0, Value::Null)], (0, 0, "")),
        (vec![sized(&[100, 100], Value::Null)], (2, 1, "")),
        (vec![sized(&[50, 101, 50, 300], Value::Null)], (2, 1, "2 of `tools` left out (larger")),
        (
            vec![sized(&[90, 90, 90, 15], Value::Null)],
            (3, 1, "1 of `tools` left out (beyond the 2"),
        ),
        (
            vec![sized(&[99, 99], json!("a")), sized(&[99, 30], Value::Null)],
            (3, 1, "`limits.definitions`"),
        ),
        (
            vec![sized(&[300, 300], json!("a")), sized(&[50], json!("b"))],
            (0, 1, "has more than `limits.definitions`"),
        ),
        (vec![sized(&[50], json!("c".repeat(65 << 10)))], (1, 1, "a cursor beyond")),
    ];
    for (pages, (items, ttl, truncated)) in cases {
        let case = format!("{pages:?}");
        let found = list(pages).await.expect(&case);
        assert_eq!((found.0, found.1), (items, ttl), "{case}");
        let told = found.2.unwrap_or_default();
        assert!(
            told.contains(truncated) && told.is_empty() == truncated.is_empty(),
            "{case}: {told}"
        );
    }
    for (pages, expected) in
        [(vec![Ok(json!({}))], "no array"), (vec![error(-32603)], "no (-32603)")]
    {
        let error = list(pages).await.expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn what_is_not_declared_is_not_asked_for() {
    let (connection, mut server, _events) =
        connected("2025-06-18", json!({"tools": {}}), Settings::default()).await;
    for list in [List::Prompts, List::Resources, List::Templates] {
        assert!(connection.list(list).await.unwrap().items.is_empty());
    }
    assert!(server.heard.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_kept_open() {
    let capabilities = json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
    let (connection, mut server, mut events) = stateless(capabilities, Settings::default()).await;
    let first = server.next().await;
    assert_eq!(first["params"]["notifications"], json!({"toolsListChanged": true}));
    server.acknowledge(&first).await;
    server.send(json!({"method": "notifications/tools/list_changed", "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": first["id"]}}})).await;
    assert!(matches!(events.recv().await, Some(Event::ListChanged(ChangedList::Tools))));
    // A new set of resources opens a new one, and ends the old one when the new is in force.
    let uris = BTreeSet::from(["a:b".to_owned()]);
    let serving = async {
        let second = server.next().await;
        assert_eq!(
            second["params"]["notifications"],
            json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]})
        );
        server.acknowledge(&second).await;
        let ended = server.next().await;
        assert_eq!(
            (&ended["method"], &ended["params"]["requestId"]),
            (&json!("notifications/cancelled"), &first["id"])
        );
        second
    };
    let (watched, second) = tokio::join!(connection.watch(&uris), serving);
    watched.unwrap();
    server.send(json!({"method": "notifications/resources/updated", "params": {"uri": "a:b", "_meta": {"io.modelcontextprotocol/subscriptionId": second["id"]}}})).await;
    let Some(Event::ResourceUpdated { uri, params }) = events.recv().await else { panic!() };
    assert_eq!((uri.as_str(), params.as_str()), ("a:b", r#"{"uri":"a:b"}"#));
    // One that the server ends is opened again.
    server.answer(&second, json!({"resultType": "complete"})).await;
    let third = server.next().await;
    assert_eq!(third["params"]["notifications"], second["params"]["notifications"]);
    server.acknowledge(&third).await;
    assert!(matches!(events.recv().await, Some(Event::Reconnected)));
    // One that the server does not know is not heard.
    server.answer(&third, json!({"resultType": "complete"})).await;
    let fourth = server.next().await;
    assert!(!connection.is_subscribed());
    server.fail(&fourth, json!({"code": -32601, "message": "no"})).await;
}

/// What changes is heard from the beginning, or is asked for again.
#[tokio::test]
async fn a_server_is_subscribed_before_it_counts_as_connected() {
    for is_waited_for in [true, false] {
        let (mut server, pipe) = pipe();
        let capabilities = json!({"tools": {"listChanged": true}});
        let greeted =
            tokio::join!(begin(pipe, Settings::default()), server.discovered(capabilities));
        let ((opened, mut events), ()) = greeted;
        let (connection, mut listening) = opened.expect("the server is greeted");
        let request = server.next().await;
        assert_eq!(request["method"], "subscriptions/listen");
        assert!(listening.try_recv().is_err_and(|it| it == TryRecvError::Empty));
        assert!(!connection.is_subscribed());
        if is_waited_for {
            server.acknowledge(&request).await;
            timeout(SOON, listening).await.expect("in time").expect("it is listened to");
            assert!(events.try_recv().is_err());
        } else {
            drop(listening);
            server.acknowledge(&request).await;
            assert!(matches!(events.recv().await, Some(Event::Reconnected)));
        }
        assert!(connection.is_subscribed());
    }
}

#[tokio::test]
async fn an_older_server_is_told_of_each_resource() {
    let capabilities = json!({"resources": {"subscribe": true}});
    let (connection, mut server, _events) =
        connected("2025-06-18", capabilities, Settings::default()).await;
    let steps =
        [(&["a:1", "a:2"][..], "+a:1 +a:2"), (&["a:2", "a:3"], "+a:3 -a:1"), (&[], "-a:2 -a:3")];
    for (uris, expected) in steps {
        let uris: BTreeSet<String> = uris.iter().map(ToString::to_string).collect();
        let serving = async {
            let mut told = Vec::new();
            for _ in expected.split(' ') {
                let sent = server.next().await;
                let sign = if sent["method"] == "resources/subscribe" { '+' } else { '-' };
                told.push(format!("{sign}{}", sent["params"]["uri"].as_str().unwrap()));
                server.answer(&sent, json!({})).await;
            }
            told.join(" ")
        };
        let (watched, told) = tokio::join!(connection.watch(&uris), serving);
        watched.unwrap();
        assert_eq!(told, expected);
    }
}
