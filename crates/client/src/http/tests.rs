//! Requests against servers of every kind of bad behaviour, and what is said of them.

use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Http, Origin, Request, request_target};
use crate::error::ClientError;
use crate::settings::Settings;
use crate::target::Endpoint;
use crate::transport::fake_http_server::{FakeHttpServer, Play, Seen, json};
use gantry_protocol::Secret;

fn http(endpoint: &Endpoint) -> Http {
    Http::new(endpoint, &Settings::default()).unwrap()
}

async fn get(http: &Http) -> Result<Bytes, ClientError> {
    let (_, body) = http.send(Request::get(&Uri::from_static("/"), http.headers())).await?;
    body.whole(1024).await
}

#[test]
fn origins() {
    for (url, expected) in [
        ("http://a.test/x", Ok(("a.test", "a.test:80", "a.test"))),
        ("https://A.test/x", Ok(("a.test", "a.test:443", "a.test"))),
        ("wss://a.test:8443", Ok(("a.test", "a.test:8443", "a.test:8443"))),
        ("http://[::1]:1/", Ok(("::1", "[::1]:1", "[::1]:1"))),
        ("ftp://a.test/", Err("`ftp`")),
        ("/mcp", Err("begin it with")),
        ("http://u:secret@a.test/", Err("holds a user name")),
    ] {
        let origin = Origin::of(&url.parse().unwrap());
        match (origin, expected) {
            (Ok(origin), Ok((host, shown, header))) => {
                assert_eq!((origin.host(), origin.to_string().as_str()), (host, shown), "{url}");
                assert_eq!(origin.host_header().unwrap(), header, "{url}");
            }
            (Err(error), Err(expected)) => {
                let error = error.to_string();
                assert!(error.contains(expected) && !error.contains("secret"), "{url}: {error}");
            }
            (origin, _) => panic!("{url}: {origin:?}"),
        }
    }
    let bare: Uri = "http://a.test?k=1".parse().unwrap();
    assert_eq!(request_target(&bare).to_string(), "/?k=1");
}

#[test]
fn headers_that_cannot_be_sent_are_named_and_their_values_are_not() {
    for (name, value) in
        [("X Key", "secret"), ("", "secret"), ("X-Key", "secret\r\nX: y"), ("Content-Length", "5")]
    {
        let mut endpoint = Endpoint::new(Uri::from_static("http://a.test/"));
        endpoint.headers.push((name.to_owned(), Secret::new(value)));
        let error = Http::new(&endpoint, &Settings::default()).unwrap_err();
        assert!(matches!(error, ClientError::Unreachable(_)));
        let error = error.to_string();
        assert!(error.contains(&format!("`{name}`")) && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn what_cannot_be_reached_says_what_to_check() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let free = listener.local_addr().unwrap();
    drop(listener);
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = plain.local_addr().unwrap();
    let plain = tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    for (url, expected) in [
        (format!("http://{free}/?key=hidden"), "check that the server runs"),
        // No host has a name of that length, so nobody is asked for it.
        (format!("http://{}.invalid/?key=hidden", "a".repeat(64)), "check how it is spelled"),
        (format!("https://{address}/?key=hidden"), "check its certificate"),
    ] {
        let endpoint = Endpoint::new(url.parse().unwrap());
        let error = get(&http(&endpoint)).await.unwrap_err();
        assert!(error.is_unsent(), "{error}");
        let error = error.to_string();
        assert!(error.contains(expected) && !error.contains("hidden"), "{error}");
        assert!(error.contains(endpoint.url.host().unwrap()), "{error}");
    }
    plain.await.unwrap();
}

#[tokio::test]
async fn connections_are_used_again_but_not_shared() {
    let mut server = FakeHttpServer::new(std::iter::repeat_n(Play::Say(json("{}")), 6)).await;
    let http = http(&server.endpoint);
    get(&http).await.unwrap();
    get(&http).await.unwrap();
    let (one, other) = tokio::join!(get(&http), get(&http));
    assert!(one.is_ok() && other.is_ok());
    let (one, other) = tokio::join!(get(&http), get(&http));
    assert!(one.is_ok() && other.is_ok());
    let mut connections = Vec::new();
    for _ in 0..6 {
        connections.push(server.request().await.0);
    }
    connections.sort_unstable();
    assert_eq!(connections, [0, 0, 0, 0, 1, 1]);
}

#[tokio::test]
async fn no_more_connections_wait_than_are_allowed() {
    let mut server = FakeHttpServer::new(std::iter::repeat_n(Play::Say(json("{}")), 2)).await;
    let settings = Settings { in_flight: 1, ..Settings::default() };
    let http = Http::new(&server.endpoint, &settings).unwrap();
    let (one, other) = tokio::join!(get(&http), get(&http));
    assert!(one.is_ok() && other.is_ok());
    while !matches!(server.seen().await, Seen::Closed(_)) {}
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_not_used_again() {
    let closing = json("{}").replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    let plays = [Play::SayAndClose(closing), Play::SayAndClose(json("{}")), Play::Say(json("{}"))];
    let mut server = FakeHttpServer::new(plays).await;
    let http = http(&server.endpoint);
    get(&http).await.unwrap();
    get(&http).await.unwrap();
    // The second server said nothing of closing: this is seen when it happens.
    while let Some(connection) = http.pool.take() {
        http.pool.give(connection);
        tokio::task::yield_now().await;
    }
    get(&http).await.unwrap();
    for connection in 0..3 {
        assert_eq!(server.request().await.0, connection);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_waited_for_long_is_closed() {
    let mut server = FakeHttpServer::new(std::iter::repeat_n(Play::Say(json("{}")), 2)).await;
    let http = http(&server.endpoint);
    get(&http).await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    get(&http).await.unwrap();
    assert_eq!(server.request().await.0, 0);
    assert_eq!(server.request().await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_connection_is_given_up() {
    // Takes the connection, and never begins to speak TLS.
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", server.local_addr().unwrap());
    let error = get(&http(&Endpoint::new(url.parse().unwrap()))).await.unwrap_err();
    assert!(error.is_unsent() && error.to_string().contains("60s"), "{error}");
}

#[tokio::test]
async fn what_servers_say_around_a_response() {
    let early =
        format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nx: y\r\n\r\n{}", json("1"));
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1".to_owned();
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(70_000));
    let closing = "HTTP/1.1 200 OK\r\n\r\n1".to_owned();
    for (play, expected) in [
        (Play::Say(early), Ok("1")),
        (Play::SayAndClose(closing), Ok("1")),
        (Play::SayAndClose(cut), Err("broke")),
        (Play::SayAndHold(endless), Err("its head is too long")),
        (Play::SayAndClose("HTTP/1.1 200".to_owned()), Err("did not answer the request")),
        (Play::SayAndClose(String::new()), Err("did not answer the request")),
        (Play::Say("HTTP/1.1 101 Switching\r\n\r\n".to_owned()), Err("something else")),
        (Play::Say("220 mail.test\r\n".to_owned()), Err("check scheme and port")),
    ] {
        let server = FakeHttpServer::new([play.clone()]).await;
        match (get(&http(&server.endpoint)).await, expected) {
            (Ok(body), Ok(expected)) => assert_eq!(body, expected, "{play:?}"),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{play:?}: {error}");
                assert!(!error.is_unsent(), "{play:?}: {error}");
            }
            (got, _) => panic!("{play:?}: {got:?}"),
        }
    }
}

#[tokio::test]
async fn a_connection_that_says_more_than_it_was_asked_is_not_used_again() {
    let plays = [Play::Say(format!("{}{}", json("1"), json("2"))), Play::Say(json("3"))];
    let mut server = FakeHttpServer::new(plays).await;
    let http = http(&server.endpoint);
    assert_eq!(get(&http).await.unwrap(), "1");
    assert_eq!(get(&http).await.unwrap(), "3");
    assert_eq!((server.request().await.0, server.request().await.0), (0, 1));
}

#[tokio::test]
async fn an_answer_may_come_before_the_request_was_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let answer = "HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nno!";
        stream.write_all(answer.as_bytes()).await.unwrap();
        // It reads nothing, and holds the connection for as long as the client does.
        stream
    });
    let http = http(&Endpoint::new(url.parse().unwrap()));
    let body = Bytes::from(vec![b' '; 32 << 20]);
    let target = Uri::from_static("/");
    let post = Request::post(&target, http.headers(), &body);
    let (head, body) = http.send(post).await.unwrap();
    assert_eq!((head.status.as_u16(), body.whole(10).await.unwrap().as_ref()), (413, &b"no!"[..]));
    assert!(http.pool.take().is_none(), "half a request still stands in it");
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_the_last_request_no_connection_stays_open() {
    let mut server = FakeHttpServer::new([Play::Say(json("{}"))]).await;
    let http = http(&server.endpoint);
    get(&http).await.unwrap();
    server.request().await;
    assert_eq!(server.seen().await, Seen::Closed(0));
}

/// What a server says before it has read everything may be no answer, or one that goes on while it
/// reads: the rest of the request is sent all the same.
#[tokio::test]
async fn a_server_may_speak_while_it_listens() {
    const LENGTH: usize = 32 << 20;
    for early in [
        "HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-len",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        let said = early.find("HTTP/1.1 200").map_or(0, |start| early.len() - start);
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(early.as_bytes()).await.unwrap();
            let (mut heard, mut bytes) = (0, vec![0; 1 << 20]);
            while heard < LENGTH {
                heard += stream.read(&mut bytes).await.unwrap();
            }
            stream.write_all(&whole.as_bytes()[said..]).await.unwrap();
        });
        let http = http(&Endpoint::new(url.parse().unwrap()));
        let body = Bytes::from(vec![b' '; LENGTH]);
        let target = Uri::from_static("/");
        let (_, body) =
            http.send(Request::post(&target, http.headers(), &body)).await.expect("an answer");
        assert_eq!(body.whole(10).await.unwrap(), "ok", "{early}");
        server.await.unwrap();
    }
}

/// However many there are: a runtime lets a task look at so many in one turn.
#[tokio::test]
async fn of_many_dead_connections_none_is_used() {
    const MANY: usize = 300;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let http = http(&Endpoint::new(format!("http://{address}/").parse().unwrap()));
    let mut ends = Vec::new();
    for _ in 0..MANY {
        let near = super::connect(&http.origin, None, Duration::from_secs(10)).await.unwrap();
        http.pool.give(Box::new(super::Http1Connection::new(near)));
        ends.push(listener.accept().await.unwrap());
    }
    drop(ends);
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(json("1").as_bytes()).await.unwrap();
        stream
    });
    // The runtime hears of what happened to them.
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::ZERO).await;
    assert_eq!(get(&http).await.unwrap(), "1");
    server.await.unwrap();
}
