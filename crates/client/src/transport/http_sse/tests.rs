//! HTTP+SSE against servers in this process.

use bytes::Bytes;
use http::Uri;

use super::{Origin, open, resolve};
use crate::error::ClientError;
use crate::settings::Settings;
use crate::transport::fake_http_server::{
    FakeHttpServer, Play, Seen, chunk, events, json, response,
};

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn begun(more: &str) -> Play {
    Play::SayAndHold(events(&format!("event: endpoint\ndata: /message?id=1\n\n{more}")))
}

#[tokio::test]
async fn messages_go_both_ways() {
    let mut server = FakeHttpServer::new([
        begun("data: 1\n\nevent: message\ndata: 2\n\nevent: other\ndata: 3\n\ndata: 4\n\n"),
        Play::Say(response("202 Accepted", "", "Accepted")),
        Play::Say(response("200 OK", "", "")),
    ])
    .await;
    let mut pipe = open(&server.endpoint, &Settings::default()).await.unwrap();
    for expected in ["1", "2", "4"] {
        assert_eq!(pipe.incoming.recv().await.unwrap().unwrap(), expected);
    }
    assert!(server.request().await.1.contains("accept: text/event-stream"));
    for message in [NOTIFICATION, REQUEST] {
        pipe.outgoing.send(Bytes::from_static(message.as_bytes())).await.unwrap();
        let (connection, head, body) = server.request().await;
        assert!(head.starts_with("post /message?id=1 http/1.1\r\n"), "{head}");
        assert_eq!((connection, body.as_str()), (1, message));
    }
    pipe.stop.cancel();
    pipe.outgoing.closed().await;
    assert!(pipe.incoming.recv().await.is_none());
    assert!(matches!(server.seen().await, Seen::Closed(_)));
}

#[tokio::test]
async fn a_request_that_is_not_taken_is_answered() {
    for (play, why) in [
        (Play::Say(response("404 Not Found", "", "")), "HTTP status 404"),
        (Play::Say(response("401 Unauthorized", "", "")), "HTTP status 401"),
        (Play::Say(response("307 T", "location: http://other.test/\r\n", "")), "other.test"),
        (Play::SayAndClose(String::new()), "did not answer"),
    ] {
        let server = FakeHttpServer::new([begun(""), play.clone(), play]).await;
        let mut pipe = open(&server.endpoint, &Settings::default()).await.unwrap();
        pipe.outgoing.send(Bytes::from_static(NOTIFICATION.as_bytes())).await.unwrap();
        pipe.outgoing.send(Bytes::from_static(REQUEST.as_bytes())).await.unwrap();
        let answer = pipe.incoming.recv().await.unwrap().unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            answer.starts_with(r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"#),
            "{answer}"
        );
        assert!(answer.contains(why), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_worked_on_does_not_hold_up_the_next() {
    let mut server = FakeHttpServer::new([
        begun(""),
        Play::SayAndHold(String::new()),
        Play::Say(response("202 Accepted", "", "")),
    ])
    .await;
    let pipe = open(&server.endpoint, &Settings::default()).await.unwrap();
    for message in [REQUEST, NOTIFICATION] {
        pipe.outgoing.send(Bytes::from_static(message.as_bytes())).await.unwrap();
    }
    server.request().await;
    assert_eq!(server.request().await.2, REQUEST);
    assert_eq!(server.request().await.2, NOTIFICATION);
}

#[tokio::test]
async fn the_end_of_the_stream_has_a_reason() {
    let begun = "event: endpoint\ndata: /message\n\n";
    for (play, reason) in [
        (Play::Say(events(begun) + &chunk("")), "the server ended its stream of events"),
        (Play::SayAndClose(events(begun)), "broke"),
        (Play::SayAndHold(events(&format!("{begun}data: {}", "x".repeat(2000)))), "1024 bytes"),
    ] {
        let server = FakeHttpServer::new([play]).await;
        let mut settings = Settings::default();
        settings.message.size = 1024;
        let mut pipe = open(&server.endpoint, &settings).await.unwrap();
        let told = pipe.incoming.recv().await.unwrap().unwrap_err();
        assert!(told.contains(reason), "{told}");
        assert!(pipe.incoming.recv().await.is_none());
        pipe.outgoing.closed().await;
    }
}

#[tokio::test]
async fn what_is_no_such_stream_is_refused() {
    for (play, why) in [
        (Play::Say(response("405 Method Not Allowed", "", "")), "405"),
        (Play::Say(json("{}")), "no event stream at `/mcp`"),
        (Play::Say(events("data: 1\n\n")), "does not begin with"),
        (Play::Say(events(": x\n\n") + &chunk("")), "ended before"),
        (
            Play::Say(events("event: endpoint\ndata: http://other.test/message\n\n")),
            "another origin",
        ),
    ] {
        let server = FakeHttpServer::new([play]).await;
        let error = open(&server.endpoint, &Settings::default()).await.unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("hidden"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
    let server = FakeHttpServer::new([Play::SayAndHold(events(": x\n\n"))]).await;
    let error = open(&server.endpoint, &Settings::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout(_)), "{error}");
}

#[test]
fn places_are_found_from_the_address() {
    let base: Uri = "http://a.test:8080/x/sse?k=1".parse().unwrap();
    let origin = Origin::of(&base).unwrap();
    for (place, expected) in [
        ("/message?id=1", Some("/message?id=1")),
        ("message", Some("/x/message")),
        ("?id=1", Some("/x/sse?id=1")),
        ("http://a.test:8080/m", Some("/m")),
        ("HTTP://A.test:8080/m", Some("/m")),
        ("//a.test:8080/m", Some("/m")),
        ("http://a.test/m", None),
        ("https://a.test:8080/m", None),
        ("//b.test/m", None),
        ("http://u:p@a.test:8080/m", None),
        ("", Some("/x/")),
        ("/a b", None),
    ] {
        let found = resolve(&base, place, &origin).ok().map(|uri| uri.to_string());
        assert_eq!(found.as_deref(), expected, "{place}");
    }
}
