//! The WebSocket against servers in this process.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::HeaderValue;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::open;
use crate::error::ClientError;
use crate::settings::Settings;
use crate::target::Endpoint;
use crate::transport::Pipe;
use crate::transport::fake_http_server::{FakeHttpServer, Play, response};
use gantry_protocol::Secret;

/// A pipe, and the server's end of it.
async fn pair(settings: &Settings) -> (Pipe, WebSocketStream<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/ws?key=hidden", listener.local_addr().unwrap());
    let mut endpoint = Endpoint::new(url.parse().unwrap());
    endpoint.headers.push(("X-Key".to_owned(), Secret::new("a")));
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        tokio_tungstenite::accept_hdr_async(stream, check).await.unwrap()
    };
    let (pipe, socket) = tokio::join!(open(&endpoint, settings), serve);
    (pipe.unwrap(), socket)
}

#[expect(clippy::result_large_err, reason = "the callback's own type")]
fn check(
    request: &Request,
    mut response: Response,
) -> Result<Response, tokio_tungstenite::tungstenite::handshake::server::ErrorResponse> {
    let header = |name: &str| request.headers().get(name).map(|it| it.to_str().unwrap());
    assert_eq!(request.uri().to_string(), "/ws?key=hidden");
    assert_eq!((header("x-key"), header("sec-websocket-protocol")), (Some("a"), Some("mcp")));
    response.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("mcp"));
    Ok(response)
}

#[tokio::test]
async fn messages_go_both_ways() {
    let (mut pipe, mut socket) = pair(&Settings::default()).await;
    pipe.outgoing.send(Bytes::from_static(b"{\"a\":1}")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("{\"a\":1}"));
    for message in [Message::text("1"), Message::binary("2"), Message::Ping(Bytes::new())] {
        socket.send(message).await.unwrap();
    }
    assert_eq!(pipe.incoming.recv().await.unwrap().unwrap(), "1");
    assert_eq!(pipe.incoming.recv().await.unwrap().unwrap(), "2");
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong(Bytes::new()));
    pipe.stop.cancel();
    assert!(matches!(socket.next().await, Some(Ok(Message::Close(_)))));
    pipe.outgoing.closed().await;
    assert!(pipe.incoming.recv().await.is_none());
}

#[tokio::test]
async fn a_server_that_names_no_subprotocol_is_spoken_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/ws", listener.local_addr().unwrap());
    let serve = async {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // The client hangs up on the first.
            if let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await
                && socket.send(Message::text("1")).await.is_ok()
                && let Some(Ok(answer)) = socket.next().await
            {
                return answer;
            }
        }
    };
    let speak = async {
        let endpoint = Endpoint::new(url.parse().unwrap());
        let mut pipe = open(&endpoint, &Settings::default()).await.unwrap();
        assert_eq!(pipe.incoming.recv().await.unwrap().unwrap(), "1");
        pipe.outgoing.send(Bytes::from_static(b"2")).await.unwrap();
        pipe
    };
    let (answer, _pipe) = tokio::join!(serve, speak);
    assert_eq!(answer, Message::text("2"));
}

#[tokio::test]
async fn the_end_has_a_reason() {
    for (last, expected) in [
        (Some(Message::Close(None)), "the server closed the WebSocket"),
        (Some(Message::text("x".repeat(2000))), "the WebSocket broke"),
        (None, "the WebSocket broke"),
    ] {
        let mut settings = Settings::default();
        settings.message.size = 1024;
        let (mut pipe, mut socket) = pair(&settings).await;
        if let Some(last) = last {
            socket.send(last).await.unwrap();
        } else {
            drop(socket);
        }
        let reason = pipe.incoming.recv().await.unwrap().unwrap_err();
        assert!(reason.starts_with(expected), "{reason}");
        assert!(pipe.incoming.recv().await.is_none());
        pipe.outgoing.closed().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_server_is_pinged() {
    let (_pipe, mut socket) = pair(&Settings::default()).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Ping(Bytes::new()));
    assert!(begun.elapsed() >= Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_even_answer_a_ping_is_gone() {
    let (mut pipe, socket) = pair(&Settings::default()).await;
    let reason = pipe.incoming.recv().await.unwrap().unwrap_err();
    assert!(reason.contains("said nothing"), "{reason}");
    drop(socket);
}

#[tokio::test]
async fn a_server_that_is_no_websocket_is_refused() {
    for (play, expected) in [
        (Play::Say(response("404 Not Found", "", "")), "HTTP status 404"),
        (Play::Say(response("200 OK", "", "")), "HTTP status 200"),
        (Play::SayAndClose(String::new()), "did not open a WebSocket"),
    ] {
        let server = FakeHttpServer::new([play]).await;
        let error = open(&server.endpoint, &Settings::default()).await.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hidden"), "{error}");
    }
    let challenge = response("401 Unauthorized", "www-authenticate: Bearer\r\n", "");
    let server = FakeHttpServer::new([Play::Say(challenge)]).await;
    let error = open(&server.endpoint, &Settings::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::Unauthorized { status: 401, challenge: Some(_) }));
}
