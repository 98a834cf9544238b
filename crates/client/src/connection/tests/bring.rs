//! Requests and answers: what is sent, what is brought back, and what goes on in between.

use std::time::Duration;

use gantry_protocol::{Level, Method};
use serde_json::{Value, json};

use super::peer::{connected, stateless};
use super::{Hearer, call, complete, raw, value};
use crate::error::ClientError;
use crate::request::{Answer, InputRequired, Request, TaskRequest};
use crate::request_handler::NoopHandler;
use crate::settings::Settings;

#[tokio::test]
async fn progress_and_logs_come_to_their_call() {
    for modern in [false, true] {
        let (connection, mut server, _events) = match modern {
            false => {
                connected("2025-06-18", json!({"tools": {}, "logging": {}}), Settings::default())
                    .await
            }
            true => stateless(json!({"tools": {}}), Settings::default()).await,
        };
        let line = Hearer::silent();
        let mut request = call("slow");
        request.wants_progress = true;
        request.log_level = Some(Level::Info);
        let serving = async {
            if !modern {
                let level = server.next().await;
                assert_eq!(
                    (&level["method"], &level["params"]["level"]),
                    (&json!("logging/setLevel"), &json!("info"))
                );
                server.answer(&level, json!({})).await;
            }
            let sent = server.next().await;
            let token = &sent["params"]["_meta"]["progressToken"];
            assert_eq!(*token, sent["id"]);
            server.send(json!({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})).await;
            server.send(json!({"method": "notifications/progress", "params": {"progressToken": 999, "progress": 2}})).await;
            server.send(json!({"method": "notifications/message", "params": {"level": "warning", "data": "x"}})).await;
            server.answer(&sent, json!({"content": []})).await;
            server
        };
        let (answer, _server) = tokio::join!(connection.request(request, &*line), serving);
        assert_eq!(complete(answer)["content"], json!([]));
        let expected =
            [r#"progress {"progress":1}"#, r#"log Warning {"data":"x","level":"warning"}"#];
        assert_eq!(line.heard(), expected, "{modern}");
    }
}

#[tokio::test]
async fn a_request_says_what_its_server_must_know() {
    let (connection, mut server, _events) = stateless(json!({}), Settings::default()).await;
    let params = json!({"name": "t", "inputResponses": {"old": 1}, "_meta": {"traceparent": "a", "progressToken": "theirs", "io.modelcontextprotocol/clientInfo": {"name": "other"}}});
    let mut request = Request::new(Method::ToolsCall, raw(&params));
    request.capabilities = raw(&json!({"roots": {}}));
    request.log_level = Some(Level::Error);
    request.input =
        InputRequired { entries: Some(raw(&json!({"k": {}}))), state: Some(raw(&json!("s"))) };
    request.task = Some(TaskRequest::default());
    let serving = async {
        let sent = server.next().await;
        server.answer(&sent, json!({})).await;
        sent
    };
    let (_, sent) = tokio::join!(connection.request(request, &NoopHandler), serving);
    let expected = json!({
        "name": "t",
        "inputResponses": {"k": {}},
        "requestState": "s",
        "_meta": {
            "traceparent": "a",
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
            "io.modelcontextprotocol/clientInfo": {"name": "gantry", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/logLevel": "error",
        },
    });
    assert_eq!(sent["params"], expected);
}

/// What an answer is shown as.
fn shown(answer: Result<Answer, ClientError>) -> String {
    match answer {
        Ok(Answer::Complete(result)) => format!("complete {result:?}"),
        Ok(Answer::Task(task)) => format!("task {}", value(&task)),
        Ok(Answer::InputRequired(input)) => format!("input {:?} {:?}", input.entries, input.state),
        Err(error) => format!("{error:?}"),
    }
}

#[tokio::test]
async fn answers_are_read_in_the_newest_form() {
    let input =
        json!({"resultType": "input_required", "inputRequests": {"k": {}}, "requestState": "s"});
    let task = json!({"task": {"taskId": "1", "status": "working", "ttl": 5, "pollInterval": 6}});
    let flat = json!({"resultType": "task", "taskId": "1", "ttlMs": 5});
    let url = json!({"code": -32042, "message": "visit", "data": {"elicitations": [{"mode": "url", "url": "https://a.example", "elicitationId": "1", "message": "m"}]}});
    let cases: [(bool, Result<Value, Value>, &str); 12] = [
        (true, Ok(json!({"content": []})), r#"complete {"content":[],"resultType":"complete"}"#),
        (true, Ok(input.clone()), r#"input Some({"k":{}}) Some("s")"#),
        (true, Ok(json!({"resultType": "input_required"})), "Malformed"),
        (true, Ok(json!({"resultType": "strange"})), "Malformed"),
        (true, Ok(json!([])), "Malformed"),
        (true, Ok(flat), "task {\"resultType\":\"task\""),
        (true, Err(json!({"code": -32602, "message": "m"})), "Answered"),
        (true, Err(json!({"message": "m"})), "Malformed"),
        (
            false,
            Ok(input),
            r#"complete {"inputRequests":{"k":{}},"requestState":"s","resultType":"complete"}"#,
        ),
        (
            false,
            Ok(task),
            r#"task {"pollIntervalMs":6,"resultType":"task","status":"working","taskId":"1","ttlMs":5}"#,
        ),
        (false, Err(json!({"code": -32002, "message": "m"})), "code: -32002"),
        (
            false,
            Err(url),
            r#"input Some({"visit-1":{"method":"elicitation/create","params":{"message":"m","mode":"url","url":"https://a.example"}}}) None"#,
        ),
    ];
    for (modern, outcome, expected) in cases {
        let tasks = json!({"tasks": {"requests": {"tools": {"call": {}}}}});
        let (connection, mut server, _events) = match modern {
            true => stateless(json!({}), Settings::default()).await,
            false => connected("2025-11-25", tasks, Settings::default()).await,
        };
        let mut request = call("t");
        request.capabilities = raw(&json!({"elicitation": {"url": {}}}));
        request.task = Some(TaskRequest { ttl: Some(Duration::from_secs(1)) });
        let serving = async {
            let sent = server.next().await;
            let task = json!({"ttl": 1000});
            assert_eq!(sent["params"].get("task"), (!modern).then_some(&task));
            match outcome.clone() {
                Ok(result) => server.answer(&sent, result).await,
                Err(error) => server.fail(&sent, error).await,
            }
        };
        let (answer, ()) = tokio::join!(connection.request(request, &NoopHandler), serving);
        let found = shown(answer);
        assert!(found.contains(expected), "{outcome:?}: {found}");
    }
}

#[tokio::test]
async fn dropping_a_request_cancels_it() {
    let (connection, mut server, _events) =
        connected("2025-06-18", json!({}), Settings::default()).await;
    let asked = connection.clone();
    let task = tokio::spawn(async move { asked.request(call("slow"), &NoopHandler).await });
    let sent = server.next().await;
    assert_eq!(connection.in_flight(), 1);
    task.abort();
    let cancelled = server.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], sent["id"]);
    assert_eq!(connection.in_flight(), 0);
    // The late answer is not minded.
    server.answer(&sent, json!({})).await;
    let serving = async {
        let sent = server.next().await;
        server.answer(&sent, json!({})).await;
    };
    let (answer, ()) = tokio::join!(connection.request(call("next"), &NoopHandler), serving);
    complete(answer);
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_request_and_progress_begins_it_anew() {
    let second = Duration::from_secs(1);
    // How often progress comes after 9 of 10 seconds, and how long it takes to give up in all.
    for (progress, at_most, expected) in [(0, 1000, 10), (3, 1000, 37), (30, 50, 50)] {
        let settings =
            Settings { silence: 10 * second, at_most: at_most * second, ..Settings::default() };
        let (connection, mut server, _events) = connected("2025-06-18", json!({}), settings).await;
        let mut request = call("slow");
        request.wants_progress = true;
        let began = tokio::time::Instant::now();
        let serving = async {
            let sent = server.next().await;
            for step in 0..progress {
                tokio::time::sleep(9 * second).await;
                let params = json!({"progressToken": sent["id"], "progress": step});
                server.send(json!({"method": "notifications/progress", "params": params})).await;
            }
            std::future::pending::<()>().await;
        };
        let answer = tokio::select! {
            answer = connection.request(request, &NoopHandler) => answer,
            () = serving => unreachable!(),
        };
        assert!(matches!(answer, Err(ClientError::Timeout(_))), "{answer:?}");
        assert_eq!(began.elapsed().as_secs(), expected);
        assert_eq!(server.next().await["method"], "notifications/cancelled");
    }
}
