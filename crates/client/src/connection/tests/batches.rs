//! Arrays of messages: read in time that is linear in their size, bounded in number, and only
//! where the revision has them.

use std::time::{Duration, Instant};

use serde_json::json;

use super::peer::{Server, connected};
use super::{call, complete};
use crate::connection::Connection;
use crate::error::ClientError;
use crate::request_handler::NoopHandler;
use crate::settings::{FloodLimits, Settings};

/// How often a measurement is taken; the fastest counts, for a busy machine only ever adds time.
const TRIES: usize = 2;

/// Elements that are no messages, each in a way of its own.
const MALFORMED: [&str; 8] = [
    r#"{"id":0}"#,
    r#"{"jsonrpc":"2.0","id":0}"#,
    r#"{"jsonrpc":"2.0","id":0,"id":0,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":0,"result":1,"error":1}"#,
    r#"{"\u0069d":0}"#,
    "1",
    "[[[[[[]]]]]]",
    r#""\"\"\"""#,
];

/// An array of about that many bytes.
fn array(element: &str, size: usize) -> String {
    let count = size / (element.len() + 1);
    format!("[{}]", vec![element; count].join(","))
}

/// How long a server is not heard after it has sent a text: until a call is answered behind it.
async fn busy(connection: &Connection, server: &mut Server, text: &str) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..TRIES {
        let serving = async {
            let sent = server.next().await;
            let start = Instant::now();
            server.text(text).await;
            server.answer(&sent, json!({"heard": true})).await;
            start
        };
        let (answer, start) = tokio::join!(connection.request(call("t"), &NoopHandler), serving);
        least = least.min(start.elapsed());
        complete(answer);
    }
    least
}

#[tokio::test]
async fn malformed_batches_take_linear_time() {
    for (element, batch) in MALFORMED.into_iter().flat_map(|it| [(it, 100), (it, usize::MAX)]) {
        // Reading is measured, not the wait that a flood of messages is charged with.
        let flood = FloodLimits { messages: u32::MAX, ..FloodLimits::default() };
        let settings = Settings { batch, flood, ..Settings::default() };
        let (connection, mut server, _events) = connected("2025-03-26", json!({}), settings).await;
        let (small, large) = (array(element, 64 << 10), array(element, 1 << 20));
        let small = busy(&connection, &mut server, &small).await.max(Duration::from_millis(20));
        let large = busy(&connection, &mut server, &large).await;
        // Sixteen times the size: linear work is sixteen times as long, quadratic 256 times.
        assert!(large < small * 64, "{element}, {batch}: {small:?}, then {large:?}");
    }
}

#[tokio::test]
async fn batches_are_read_where_the_revision_has_them_and_up_to_the_limit() {
    let cases = [
        ("2025-03-26", 1, true),
        ("2025-03-26", 3, true),
        ("2025-03-26", 4, false),
        ("2024-11-05", 1, false),
        ("2025-06-18", 1, false),
        ("2025-11-25", 1, false),
    ];
    for (revision, count, is_read) in cases {
        let settings = Settings { batch: 3, ..Settings::default() };
        let (connection, mut server, _events) = connected(revision, json!({}), settings).await;
        let serving = async {
            let sent = server.next().await;
            let answer = |batched: bool| json!({"jsonrpc": "2.0", "id": sent["id"], "result": {"batched": batched}});
            let mut batch = vec![json!(1); count - 1];
            batch.push(answer(true));
            server.text(&json!(batch).to_string()).await;
            server.text(&answer(false).to_string()).await;
        };
        let (answer, ()) = tokio::join!(connection.request(call("t"), &NoopHandler), serving);
        assert_eq!(complete(answer)["batched"], is_read, "{revision}, {count} messages");
    }
}

/// A malformed answer ends its call in a batch as it does alone.
#[tokio::test]
async fn a_malformed_answer_in_a_batch_ends_its_call() {
    let (connection, mut server, _events) =
        connected("2025-03-26", json!({}), Settings::default()).await;
    let serving = async {
        let sent = server.next().await;
        server.text(&json!([1, {"jsonrpc": "2.0", "id": sent["id"]}]).to_string()).await;
    };
    let (answer, ()) = tokio::join!(connection.request(call("t"), &NoopHandler), serving);
    assert!(matches!(answer, Err(ClientError::Malformed(_))), "{answer:?}");
}
