//! Questions of a server with handshake: whom they are asked, and what the server hears.

use std::sync::Arc;

use gantry_protocol::Level;
use serde_json::{Value, json};

use super::peer::{Server, connected};
use super::{Hearer, call, complete, raw};
use crate::event::Event;
use crate::request_handler::NoopHandler;
use crate::settings::Settings;

fn form() -> Value {
    json!({"id": "q", "method": "elicitation/create", "params": {"message": "m", "_meta": {"gantry/key": "k"}}})
}

async fn answered(server: &mut Server) -> (Value, Value) {
    let mut answer = server.next().await;
    (answer["result"].take(), answer["error"].take())
}

#[tokio::test]
async fn the_only_call_is_asked() {
    let (connection, mut server, _events) =
        connected("2025-06-18", json!({}), Settings::default()).await;
    let line = Hearer::answering("", json!({"action": "accept", "content": {}}));
    let serving = async {
        let sent = server.next().await;
        server.send(form()).await;
        assert_eq!(answered(&mut server).await.0["action"], "accept");
        server.answer(&sent, json!({})).await;
    };
    let (answer, ()) = tokio::join!(connection.request(call("t"), &*line), serving);
    complete(answer);
    assert_eq!(line.heard(), [r#"ask elicitation/create {"message":"m"} Some("k")"#]);
}

#[tokio::test]
async fn of_several_calls_one_is_found_or_none() {
    let (connection, mut server, _events) =
        connected("2025-06-18", json!({}), Settings::default()).await;
    let lines = ["same", "same", "other"]
        .map(|identity| Hearer::answering(identity, json!({"action": "accept"})));
    let mut sent = Vec::new();
    let mut tasks = Vec::new();
    for line in &lines[..2] {
        let (asked, line) = (connection.clone(), line.clone());
        tasks.push(tokio::spawn(async move { asked.request(call("t"), &*line).await }));
        sent.push(server.next().await);
    }
    // Both are made by the same one: the latest is asked.
    server.send(form()).await;
    assert_eq!(answered(&mut server).await.0["action"], "accept");
    assert_eq!((lines[0].heard().len(), lines[1].heard().len()), (0, 1));
    // Someone else, and a tool that never asked: the one known to ask is asked, if it is one.
    let (asked, line) = (connection.clone(), lines[2].clone());
    tasks.push(tokio::spawn(async move { asked.request(call("u"), &*line).await }));
    sent.push(server.next().await);
    server.send(form()).await;
    let (_, error) = answered(&mut server).await;
    assert!(error["message"].as_str().unwrap().contains("one of the 3 calls in flight"), "{error}");
    for sent in &sent {
        server.answer(sent, json!({})).await;
    }
    for task in tasks {
        complete(task.await.unwrap());
    }
    // From now on these run one at a time.
    let (first, second) = (connection.clone(), connection.clone());
    let first = tokio::spawn(async move { first.request(call("t"), &NoopHandler).await });
    let sent = server.next().await;
    let second = tokio::spawn(async move { second.request(call("u"), &NoopHandler).await });
    tokio::task::yield_now().await;
    assert!(server.heard.try_recv().is_err());
    server.answer(&sent, json!({})).await;
    let sent = server.next().await;
    server.answer(&sent, json!({})).await;
    complete(first.await.unwrap());
    complete(second.await.unwrap());
}

#[tokio::test]
async fn a_tool_that_is_known_to_ask_is_not_asked_for_somebody_elses_call() {
    // Tools in flight and who calls each, the latest last; and which is asked, "t" being known to.
    let cases = [
        ([("t", "ada"), ("u", "ada")], Some(0)),
        ([("t", "ada"), ("u", "bob")], None),
        ([("u", "bob"), ("t", "ada")], None),
        ([("t", ""), ("u", "")], None),
    ];
    for (calls, asked) in cases {
        let (connection, mut server, _events) =
            connected("2025-06-18", json!({}), Settings::default()).await;
        let begin = |tool: &'static str, line: &Arc<Hearer>| {
            let (connection, line) = (connection.clone(), line.clone());
            tokio::spawn(async move { connection.request(call(tool), &*line).await })
        };
        let recipients = calls.map(|(_, who)| Hearer::answering(who, json!({"action": "accept"})));
        let teacher = Hearer::answering("ada", json!({"action": "accept"}));
        let taught = begin("t", &teacher);
        let sent = server.next().await;
        server.send(form()).await;
        assert_eq!(answered(&mut server).await.0["action"], "accept");
        server.answer(&sent, json!({})).await;
        complete(taught.await.unwrap());

        let first = begin(calls[0].0, &recipients[0]);
        let mut sent = vec![server.next().await];
        let second = begin(calls[1].0, &recipients[1]);
        sent.push(server.next().await);
        server.send(form()).await;
        let (result, error) = answered(&mut server).await;
        assert_eq!(result["action"] == "accept", asked.is_some(), "{calls:?} {error}");
        let heard = recipients.each_ref().map(|hearer| hearer.heard().len());
        assert_eq!(heard, [0, 1].map(|it| usize::from(asked == Some(it))), "{calls:?}");
        for message in &sent {
            server.answer(message, json!({})).await;
        }
        complete(first.await.unwrap());
        complete(second.await.unwrap());
    }
}

#[tokio::test]
async fn what_is_asked_outside_of_a_call() {
    let roots = Some(raw(&json!({"roots": []})));
    let cases = [
        (None, "ping", json!({}), Value::Null),
        (None, "roots/list", Value::Null, json!(-32601)),
        (roots, "roots/list", json!({"roots": []}), Value::Null),
        (None, "elicitation/create", Value::Null, json!(-32600)),
        (None, "sampling/createMessage", Value::Null, json!(-32600)),
        (None, "strange/method", Value::Null, json!(-32601)),
    ];
    for (roots, method, result, code) in cases {
        let settings = Settings { roots, ..Settings::default() };
        let (_connection, mut server, _events) = connected("2025-06-18", json!({}), settings).await;
        server.send(json!({"id": 7, "method": method, "params": {}})).await;
        let (found, error) = answered(&mut server).await;
        assert_eq!((found, error["code"].clone()), (result, code), "{method}");
    }
}

#[tokio::test]
async fn a_question_without_an_answer_is_refused() {
    let cases = [
        ("elicitation/create", Value::Null, json!(-32602)),
        ("sampling/createMessage", Value::Null, json!(-32601)),
        ("roots/list", Value::Null, json!(-32601)),
    ];
    for (method, result, code) in cases {
        let (connection, mut server, _events) =
            connected("2025-06-18", json!({}), Settings::default()).await;
        let serving = async {
            let sent = server.next().await;
            server.send(json!({"id": 7, "method": method, "params": {}})).await;
            let (found, error) = answered(&mut server).await;
            assert_eq!((found, error["code"].clone()), (result, code), "{method}");
            server.answer(&sent, json!({})).await;
        };
        let (answer, ()) = tokio::join!(connection.request(call("t"), &NoopHandler), serving);
        complete(answer);
    }
}

#[tokio::test]
async fn an_open_question_ends_with_its_call_or_by_its_server() {
    let (connection, mut server, _events) =
        connected("2025-06-18", json!({}), Settings::default()).await;
    for withdrawn in [true, false] {
        let line = Hearer::silent();
        let serving = async {
            let sent = server.next().await;
            server.send(form()).await;
            if withdrawn {
                server
                    .send(
                        json!({"method": "notifications/cancelled", "params": {"requestId": "q"}}),
                    )
                    .await;
            }
            server.answer(&sent, json!({})).await;
        };
        let (answer, ()) = tokio::join!(connection.request(call("t"), &*line), serving);
        complete(answer);
        match withdrawn {
            true => assert!(server.heard.try_recv().is_err()),
            false => assert_eq!(answered(&mut server).await.0["action"], "cancel"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_while_a_question_is_open() {
    let second = std::time::Duration::from_secs(1);
    let settings = Settings { silence: 2 * second, at_most: 3 * second, ..Settings::default() };
    let (connection, mut server, _events) = connected("2025-06-18", json!({}), settings).await;
    let line = Hearer::silent();
    let serving = async {
        let sent = server.next().await;
        server.send(form()).await;
        tokio::time::sleep(60 * second).await;
        server
            .send(json!({"method": "notifications/cancelled", "params": {"requestId": "q"}}))
            .await;
        tokio::time::sleep(second).await;
        server.answer(&sent, json!({})).await;
    };
    let (answer, ()) = tokio::join!(connection.request(call("t"), &*line), serving);
    complete(answer);
}

#[tokio::test]
async fn a_log_message_of_nobody_is_an_event() {
    let (_connection, server, mut events) =
        connected("2025-06-18", json!({}), Settings::default()).await;
    server
        .send(json!({"method": "notifications/message", "params": {"level": "error", "data": 1}}))
        .await;
    assert!(matches!(events.recv().await, Some(Event::Log(Level::Error, _))));
}
