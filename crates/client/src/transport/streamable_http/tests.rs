//! StreamableHttp HTTP against servers in this process: what goes out, what is made of what comes back,
//! and streams that are taken up again.

use std::time::Duration;

use bytes::Bytes;
use gantry_protocol::Revision;
use http::header::{HeaderName, HeaderValue};

use super::{MessageStream, Posted, StreamItem, StreamableHttp};
use crate::error::ClientError;
use crate::settings::Settings;
use crate::transport::fake_http_server::{
    FakeHttpServer, Play, Seen, chunk, events, json, response,
};
use gantry_protocol::Secret;

const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const EVENTS: &str = "content-type: text/event-stream\r\n";

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.message.size = 1024;
    settings
}

fn streamable(server: &FakeHttpServer) -> StreamableHttp {
    StreamableHttp::new(&server.endpoint, &settings()).unwrap()
}

async fn post(streamable: &StreamableHttp) -> Result<Posted, ClientError> {
    streamable.post(Bytes::from_static(MESSAGE.as_bytes()), &[]).await
}

/// What came of a message, in one line.
async fn told(posted: Result<Posted, ClientError>) -> String {
    match posted {
        Ok(Posted::Answer { body, session }) => format!("answer {body:?} {session:?}"),
        Ok(Posted::Accepted) => "accepted".to_owned(),
        Ok(Posted::Refused { status, body, .. }) => format!("refused {status} {body:?}"),
        Ok(Posted::Stream { mut messages, session }) => {
            let mut text = format!("stream {session:?}");
            while let Some(message) = next_text(&mut messages).await {
                match message {
                    Ok(message) => text.push_str(&format!(" {message:?}")),
                    Err(error) => text.push_str(&format!(" {}", kind(&error))),
                }
            }
            text
        }
        Err(error) => format!("{}: {error}", kind(&error)),
    }
}

async fn next_text(messages: &mut MessageStream) -> Option<Result<Bytes, ClientError>> {
    loop {
        match messages.next().await? {
            Ok(StreamItem::Message(text)) => return Some(Ok(text)),
            Ok(StreamItem::HangUp(_)) => {}
            Err(error) => return Some(Err(error)),
        }
    }
}

fn kind(error: &ClientError) -> &'static str {
    match error {
        ClientError::Unreachable(_) => "unreachable",
        ClientError::Lost(_) => "lost",
        ClientError::Reset(_) => "reset",
        ClientError::Malformed(_) => "malformed",
        ClientError::Unauthorized { .. } => "unauthorized",
        ClientError::SessionLost => "session lost",
        _ => "other",
    }
}

#[tokio::test]
async fn what_is_made_of_a_response() {
    let long = "x".repeat(2000);
    let cases = [
        ("json", Play::Say(json("{}")), r#"answer b"{}" None"#),
        (
            "json with parameters and a session",
            Play::Say(response(
                "200 OK",
                "Content-Type: Application/JSON; charset=utf-8\r\nMCP-Session-Id: a\r\n",
                "{}",
            )),
            r#"answer b"{}" Some("a")"#,
        ),
        ("no type", Play::Say(response("200 OK", "", " []")), r#"answer b" []" None"#),
        ("no type, no json", Play::Say(response("200 OK", "", "hello")), "malformed"),
        (
            "html",
            Play::Say(response("200 OK", "content-type: text/html\r\n", "<p>")),
            "malformed: `",
        ),
        ("accepted", Play::Say(response("202 Accepted", "", "")), "accepted"),
        (
            "empty",
            Play::Say(response("200 OK", "content-type: application/json\r\n", "")),
            "accepted",
        ),
        ("no content", Play::Say("HTTP/1.1 204 No Content\r\n\r\n".to_owned()), "accepted"),
        ("refused", Play::Say(response("400 Bad Request", "", "{}")), r#"refused 400 b"{}""#),
        ("not found", Play::Say(response("404 Not Found", "", "")), r#"refused 404 b"""#),
        (
            "endless refusal",
            Play::SayAndHold(response("500 Oh", "", &"y".repeat(100_000))),
            "refused 500 b\"yyyy",
        ),
        ("too long", Play::SayAndHold(json(&long)), "malformed: `127"),
        (
            "endless",
            Play::SayAndHold(format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{long}"
            )),
            "malformed",
        ),
        (
            "redirect",
            Play::Say(response("307 T", "location: https://u:p@other.test/x?y\r\n", "")),
            { "unreachable: `127.0.0.1:PORT` redirects to the host `other.test`," },
        ),
        ("redirect to a path", Play::Say(response("303 S", "location: /mcp/?y\r\n", "")), {
            "lost: `127.0.0.1:PORT` redirects to the path `/mcp/`,"
        }),
        ("closed", Play::SayAndClose(String::new()), "reset"),
        ("cut", Play::SayAndClose(json("{}").replace("2\r\n\r\n", "9\r\n\r\n")), "lost"),
        ("not http", Play::SayAndClose("SSH-2.0-x\r\n".to_owned()), "malformed"),
        (
            "stream",
            Play::Say(events("data: 1\n\ndata: 2\n\n") + &chunk("")),
            r#"stream None b"1" b"2""#,
        ),
        (
            "broken stream",
            Play::SayAndClose(events("id: 7\ndata: 1\n\n")),
            r#"stream None b"1" lost"#,
        ),
        ("other events", Play::Say(events("event: ping\ndata: 1\n\n") + &chunk("")), "stream None"),
        (
            "stream that is closed, not chunked",
            Play::SayAndClose(format!("HTTP/1.1 200 OK\r\n{EVENTS}\r\ndata: 1\n\n")),
            r#"stream None b"1""#,
        ),
        ("long event", Play::SayAndHold(events(&format!("data: {long}"))), "stream None malformed"),
    ];
    for (case, play, expected) in cases {
        let server = FakeHttpServer::new([play]).await;
        let told = told(post(&streamable(&server)).await).await;
        let port = server.endpoint.url.port().unwrap().to_string();
        let expected = expected.replace("PORT", &port);
        assert!(told.starts_with(&expected), "{case}: {told}");
        assert!(!told.contains("hidden"), "{case}: {told}");
    }
}

#[tokio::test]
async fn another_path_of_the_same_server_is_followed_once() {
    let moved = || Play::Say(response("307 T", "location: /mcp/?y\r\n", ""));
    for (then, expected) in
        [(Play::Say(json("{}")), "answer"), (moved(), "unreachable: `127.0.0.1:PORT` redirects")]
    {
        let mut server = FakeHttpServer::new([moved(), then]).await;
        let told = told(post(&streamable(&server)).await).await;
        let port = server.endpoint.url.port().unwrap().to_string();
        assert!(told.starts_with(&expected.replace("PORT", &port)), "{told}");
        let (_, _, first) = server.request().await;
        let (_, head, second) = server.request().await;
        assert!(head.starts_with("post /mcp/?y http/1.1\r\n"), "{head}");
        assert_eq!(first, second);
    }
}

#[tokio::test]
async fn credentials_that_are_refused_come_with_the_challenge() {
    let play = response("401 Unauthorized", "www-authenticate: Bearer realm=\"x\"\r\n", "");
    let server = FakeHttpServer::new([Play::Say(play)]).await;
    let Err(ClientError::Unauthorized { status, challenge }) = post(&streamable(&server)).await
    else {
        panic!("credentials were refused");
    };
    assert_eq!((status, challenge.as_deref()), (401, Some("Bearer realm=\"x\"")));
}

#[tokio::test]
async fn every_request_carries_what_was_agreed_on() {
    for (revision, session, version) in [
        (Revision::V2025_03_26, Some("s"), None),
        (Revision::V2025_06_18, Some("s"), Some("mcp-protocol-version: 2025-06-18\r\n")),
        (Revision::V2025_11_25, None, Some("mcp-protocol-version: 2025-11-25\r\n")),
        (Revision::V2026_07_28, None, None),
    ] {
        let mut server = FakeHttpServer::new(std::iter::repeat_n(Play::Say(json("{}")), 2)).await;
        server.endpoint.headers.push(("X-Key".to_owned(), Secret::new("a")));
        let streamable = streamable(&server);
        post(&streamable).await.unwrap();
        let (_, first, body) = server.request().await;
        assert!(first.starts_with("post /mcp?key=hidden http/1.1\r\n"), "{first}");
        for header in [
            "accept: application/json, text/event-stream",
            "content-type: application/json",
            "x-key: a",
        ] {
            assert_eq!(first.matches(header).count(), 1, "{first}");
        }
        assert!(!first.contains("mcp-") && !first.contains("accept-encoding"), "{first}");
        assert_eq!(body, MESSAGE);

        streamable.negotiated(revision, session.map(str::to_owned));
        let own = (HeaderName::from_static("mcp-method"), HeaderValue::from_static("ping"));
        streamable.post(Bytes::from_static(b"{}"), &[own]).await.unwrap();
        let (connection, second, _) = server.request().await;
        assert_eq!(connection, 0, "the connection is used again");
        assert!(second.contains("mcp-method: ping"), "{second}");
        assert_eq!(second.contains("mcp-session-id: s"), session.is_some(), "{second}");
        match version {
            Some(version) => assert!(second.contains(version), "{second}"),
            None => assert!(!second.contains("mcp-protocol-version"), "{second}"),
        }
    }
}

#[tokio::test]
async fn a_forgotten_session_is_told_apart() {
    let gone = || Play::Say(response("404 Not Found", "", "gone"));
    let server = FakeHttpServer::new([gone(), gone()]).await;
    let streamable = streamable(&server);
    streamable.negotiated(Revision::V2025_11_25, Some("s".to_owned()));
    assert_eq!(kind(&post(&streamable).await.unwrap_err()), "session lost");
    assert_eq!(kind(&streamable.listen().await.unwrap_err()), "session lost");
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_taken_up_where_it_broke() {
    let mut server = FakeHttpServer::new([
        Play::SayAndClose(events("id: a\nretry: 20\ndata:\n\n: half\nid: b\ndata: 1")),
        Play::Say(events("id: b\ndata: 1\n\n") + &chunk("")),
        Play::Say(response("503 Soon", "", "")),
        Play::SayAndHold(events("id: c\ndata: 2\n\n")),
    ])
    .await;
    let streamable = streamable(&server);
    streamable.negotiated(Revision::V2025_11_25, Some("s".to_owned()));
    let Ok(Posted::Stream { mut messages, .. }) = post(&streamable).await else {
        panic!("a stream")
    };
    assert_eq!(next_text(&mut messages).await.unwrap().unwrap(), "1");
    assert_eq!(next_text(&mut messages).await.unwrap().unwrap(), "2");
    drop(messages);
    let mut afters = Vec::new();
    loop {
        match server.seen().await {
            Seen::Request { head, connection, .. } if head.starts_with("get ") => {
                assert!(head.contains("accept: text/event-stream\r\n"), "{head}");
                assert!(head.contains("mcp-session-id: s"), "{head}");
                assert!(!head.contains("content-type"), "{head}");
                let id = head.split("last-event-id: ").nth(1).unwrap();
                afters.push((connection, id.split("\r\n").next().unwrap().to_owned()));
            }
            Seen::Closed(connection) if afters.last().is_some_and(|it| it.0 == connection) => break,
            _ => {}
        }
    }
    let ids: Vec<_> = afters.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_up_is_called_back() {
    let server = FakeHttpServer::new([
        Play::Say(events("id: a\nretry: 20\ndata:\n\n") + &chunk("")),
        Play::SayAndHold(events("id: b\ndata: 1\n\n")),
    ])
    .await;
    let streamable = streamable(&server);
    streamable.negotiated(Revision::V2025_11_25, Some("s".to_owned()));
    let Ok(Posted::Stream { mut messages, .. }) = post(&streamable).await else {
        panic!("a stream")
    };
    let said = messages.next().await;
    let retry = Duration::from_millis(20);
    assert!(matches!(said, Some(Ok(StreamItem::HangUp(time))) if time == retry), "{said:?}");
    assert_eq!(next_text(&mut messages).await.unwrap().unwrap(), "1");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_taken_up_is_lost() {
    let begun = || Play::SayAndClose(events("id: a\ndata: 1\n\n"));
    let cases = [
        ("never again", vec![Play::SayAndClose(String::new()); 5], "lost"),
        ("ends at once", vec![Play::Say(events(": no\n\n") + &chunk("")); 5], "lost"),
        ("no such thing", vec![Play::Say(response("405 No", "", ""))], "lost"),
        ("forgotten", vec![Play::Say(response("404 No", "", ""))], "lost"),
        ("who?", vec![Play::Say(response("401 No", "", ""))], "lost"),
    ];
    for (case, then, expected) in cases {
        let server = FakeHttpServer::new([begun()].into_iter().chain(then)).await;
        let streamable = streamable(&server);
        streamable.negotiated(Revision::V2025_06_18, Some("s".to_owned()));
        let told = told(post(&streamable).await).await;
        assert_eq!(told, format!(r#"stream None b"1" {expected}"#), "{case}");
    }
}

#[tokio::test]
async fn a_stream_without_session_is_never_taken_up() {
    let mut server = FakeHttpServer::new([Play::SayAndClose(events("id: a\ndata: 1\n\n"))]).await;
    let streamable = streamable(&server);
    streamable.negotiated(Revision::V2026_07_28, None);
    assert_eq!(told(post(&streamable).await).await, r#"stream None b"1" lost"#);
    assert!(server.request().await.1.starts_with("post "));
}

#[tokio::test]
async fn dropping_what_is_under_way_closes_the_connection() {
    let mut server = FakeHttpServer::new([
        Play::SayAndHold(events("data: 1\n\n")),
        Play::SayAndHold(String::new()),
    ])
    .await;
    let streamable = streamable(&server);
    let Ok(Posted::Stream { mut messages, .. }) = post(&streamable).await else {
        panic!("a stream")
    };
    assert_eq!(next_text(&mut messages).await.unwrap().unwrap(), "1");
    server.request().await;
    drop(messages);
    assert_eq!(server.seen().await, Seen::Closed(0));
    tokio::select! {
        _ = post(&streamable) => panic!("no answer ever comes"),
        _ = server.request() => {}
    }
    assert_eq!(server.seen().await, Seen::Closed(1));
}

#[tokio::test]
async fn a_stream_that_is_done_with_leaves_its_connection() {
    for (rest, used_again) in [(chunk(""), true), (String::new(), false)] {
        let first = Play::Say(events("data: 1\n\n") + &rest);
        let others = std::iter::repeat_n(Play::Say(json("{}")), 20);
        let mut server = FakeHttpServer::new([first].into_iter().chain(others)).await;
        let streamable = streamable(&server);
        let Ok(Posted::Stream { mut messages, .. }) = post(&streamable).await else {
            panic!("a stream")
        };
        assert_eq!(next_text(&mut messages).await.unwrap().unwrap(), "1");
        messages.done();
        server.request().await;
        let mut connections = Vec::new();
        for _ in 0..10 {
            let (one, other) = tokio::join!(post(&streamable), post(&streamable));
            assert!(one.is_ok() && other.is_ok());
            connections.push(server.request().await.0);
            connections.push(server.request().await.0);
        }
        assert_eq!(connections.contains(&0), used_again, "{connections:?}");
    }
}

#[tokio::test]
async fn the_general_stream_is_there_or_not() {
    for (play, there) in [
        (Play::SayAndHold(events("data: 1\n\n")), Some(true)),
        (Play::Say(response("405 Method Not Allowed", "", "")), Some(false)),
        (Play::Say(json("{}")), Some(false)),
        (Play::Say(response("500 Oh", "", "")), None),
    ] {
        let server = FakeHttpServer::new([play]).await;
        let listening = streamable(&server).listen().await;
        assert_eq!(listening.ok().map(|messages| messages.is_some()), there);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_ended_without_waiting_for_long() {
    let mut server = FakeHttpServer::new([Play::SayAndHold(String::new())]).await;
    let streamable = streamable(&server);
    streamable.end_session().await;
    streamable.negotiated(Revision::V2025_11_25, Some("s".to_owned()));
    let begun = tokio::time::Instant::now();
    streamable.end_session().await;
    assert!(begun.elapsed() <= settings().grace + Duration::from_millis(1));
    let (_, head, _) = server.request().await;
    assert!(head.starts_with("delete ") && head.contains("mcp-session-id: s"), "{head}");
}
