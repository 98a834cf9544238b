//! Servers that misbehave: only their own calls suffer.

use serde_json::json;

use super::peer::connected;
use super::{Hearer, call, complete};
use crate::error::ClientError;
use crate::request_handler::NoopHandler;
use crate::settings::Settings;

#[tokio::test]
async fn what_is_no_message_is_skipped() {
    let (connection, mut server, _events) =
        connected("2025-03-26", json!({}), Settings::default()).await;
    let serving = async {
        let sent = server.next().await;
        let id = &sent["id"];
        let deep = "[".repeat(500);
        for text in [
            "garbage",
            "{",
            "[]",
            "null",
            "{}",
            "\u{0}",
            &deep,
            r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
        ] {
            server.text(text).await;
        }
        server.send(json!({"id": 4711, "result": {}})).await;
        server.send(json!({"id": "x", "error": {}})).await;
        server.send(json!({"method": "notifications/unheard-of"})).await;
        // Batches are taken apart, also by those who should not send them.
        let batch = json!([{"jsonrpc": "2.0", "method": "notifications/message"}, 1, {"jsonrpc": "2.0", "id": id, "result": {"first": true}}]);
        server.text(&batch.to_string()).await;
        server.answer(&sent, json!({"second": true})).await;
    };
    let (answer, ()) = tokio::join!(connection.request(call("t"), &NoopHandler), serving);
    assert_eq!(complete(answer)["first"], true);
}

#[tokio::test]
async fn an_answer_that_is_none_ends_the_call() {
    let (connection, mut server, _events) =
        connected("2025-06-18", json!({}), Settings::default()).await;
    let serving = async {
        let sent = server.next().await;
        server
            .send(json!({"id": sent["id"], "result": {}, "error": {"code": 1, "message": ""}}))
            .await;
    };
    let (answer, ()) = tokio::join!(connection.request(call("t"), &NoopHandler), serving);
    assert!(matches!(answer, Err(ClientError::Malformed(_))), "{answer:?}");
}

#[tokio::test]
async fn the_end_is_told_to_all_who_wait() {
    let (connection, mut server, _events) =
        connected("2025-06-18", json!({}), Settings::default()).await;
    let serving = async {
        server.next().await;
        server.next().await;
        server.say.send(Err("it died".into())).await.unwrap();
    };
    let (first, second, reason, ()) = tokio::join!(
        connection.request(call("a"), &NoopHandler),
        connection.request(call("b"), &NoopHandler),
        connection.ended(),
        serving
    );
    assert_eq!(reason, "it died");
    for answer in [first, second] {
        assert!(
            matches!(&answer, Err(ClientError::Reset(reason)) if reason == "it died"),
            "{answer:?}"
        );
    }
    let answer = connection.request(call("c"), &NoopHandler).await;
    assert!(answer.is_err_and(|error| error.is_unsent()));
}

#[tokio::test]
async fn too_many_requests_are_refused() {
    let settings = Settings { in_flight: 1, ..Settings::default() };
    let (connection, mut server, _events) = connected("2025-06-18", json!({}), settings).await;
    let asked = connection.clone();
    let first = tokio::spawn(async move { asked.request(call("a"), &NoopHandler).await });
    let sent = server.next().await;
    let second = connection.request(call("b"), &NoopHandler).await;
    assert!(matches!(second, Err(ClientError::Busy(1))), "{second:?}");
    server.answer(&sent, json!({})).await;
    complete(first.await.unwrap());
}

#[tokio::test]
async fn a_flood_of_progress_holds_up_nobody() {
    let settings = Settings { queue: 4, ..Settings::default() };
    let (connection, mut server, _events) = connected("2025-06-18", json!({}), settings).await;
    let mut request = call("a");
    request.wants_progress = true;
    let asking = connection.request(request, &NoopHandler);
    tokio::pin!(asking);
    // The call is sent, and then nobody hears what comes for it.
    tokio::select! {
        biased;
        _ = &mut asking => panic!("it has no answer yet"),
        () = tokio::task::yield_now() => {}
    }
    let sent = server.next().await;
    for step in 0..100 {
        let params = json!({"progressToken": sent["id"], "progress": step});
        server.send(json!({"method": "notifications/progress", "params": params})).await;
    }
    let serving = async {
        let sent = server.next().await;
        server.answer(&sent, json!({})).await;
    };
    let (other, ()) = tokio::join!(connection.request(call("b"), &NoopHandler), serving);
    complete(other);
    server.answer(&sent, json!({})).await;
    complete(asking.await);
}

#[tokio::test(start_paused = true)]
async fn one_that_asks_and_does_not_hear_the_answer_is_given_up() {
    let settings = Settings { queue: 1, ..Settings::default() };
    let (connection, server, _events) = connected("2025-06-18", json!({}), settings).await;
    let line = Hearer::answering("", json!({"action": "accept"}));
    // The call fills the pipe, so that the answer finds no room.
    let asking = async {
        server.send(json!({"id": "q", "method": "elicitation/create", "params": {}})).await;
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = connection.request(call("t"), &*line) => answer,
        () = asking => unreachable!(),
    };
    assert!(matches!(answer, Err(ClientError::Timeout(_))), "{answer:?}");
    assert_eq!(line.heard().len(), 1);
}
