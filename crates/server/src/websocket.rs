//! The WebSocket door: one message a frame, any revision, subprotocol `mcp`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use gantry_protocol::RpcError;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::doorman::Visitor;
use crate::duplex::{self, Inbound};
use crate::http::{Body, Hall, answer};
use crate::lobby::Lobby;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Messages that may wait for a client that is slow to read.
const WAITING: usize = 64;

/// Turns an HTTP connection into a WebSocket.
pub(crate) fn upgrade(
    hall: &Arc<Hall>,
    visitor: Visitor,
    mut request: Request<hyper::body::Incoming>,
) -> Response<Body> {
    let headers = request.headers();
    let wanted = headers.get(UPGRADE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let version = headers.get(SEC_WEBSOCKET_VERSION).map(HeaderValue::as_bytes);
    let key = headers.get(SEC_WEBSOCKET_KEY).cloned();
    let (true, Some(b"13"), Some(key)) = (wanted.eq_ignore_ascii_case("websocket"), version, key)
    else {
        let mut response = answer::text(
            StatusCode::UPGRADE_REQUIRED,
            "this is a WebSocket endpoint; connect to it with the subprotocol `mcp`\n",
        );
        response.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
        return response;
    };
    let Some(permit) = hall.lobby.open_stream() else {
        return answer::text(StatusCode::TOO_MANY_REQUESTS, "too many connections\n");
    };
    let response = switch(&key, offers_mcp(headers));
    let lobby = hall.lobby.clone();
    let upgraded = hyper::upgrade::on(&mut request);
    hall.spawn(async move {
        serve(lobby, &visitor, upgraded).await;
        drop(permit);
    });
    response
}

fn offers_mcp(headers: &HeaderMap) -> bool {
    let offers = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    offers
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','))
        .any(|it| it.trim() == "mcp")
}

fn switch(key: &HeaderValue, mcp: bool) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::from_maybe_shared(derive_accept_key(key.as_bytes())) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if mcp {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    }
    response
}

async fn serve(lobby: Arc<Lobby>, visitor: &Visitor, upgraded: OnUpgrade) {
    let Ok(upgraded) = upgraded.await else { return };
    let limit = Some(lobby.settings.message.size);
    let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
    let socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let (sink, stream) = socket.split();
    let (out, messages) = mpsc::channel(WAITING);
    let (keep_alive, unread) = (lobby.settings.keep_alive, lobby.settings.unread);
    let writer = lobby.tasks.spawn(write(sink, messages, keep_alive, unread));
    duplex::serve(lobby, visitor, Frames(stream), out).await;
    let _ = writer.await;
}

struct Frames(SplitStream<Socket>);

impl Inbound for Frames {
    async fn next(&mut self) -> Option<Result<Bytes, RpcError>> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return Some(Ok(text.into())),
                Ok(Message::Binary(bytes)) => return Some(Ok(bytes)),
                Ok(Message::Close(_)) => return None,
                // Pings are answered by the library.
                Ok(_) => {}
                Err(Error::Capacity(error)) => {
                    return Some(Err(RpcError::parse_error(error.to_string())));
                }
                Err(_) => return None,
            }
        }
    }
}

/// Writes messages as they come, and a ping when none do, so that a dead client is noticed.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut messages: mpsc::Receiver<Bytes>,
    keep_alive: Duration,
    unread: Duration,
) {
    loop {
        let next = tokio::time::timeout(keep_alive, messages.recv()).await;
        let message = match next {
            Ok(Some(text)) => match Utf8Bytes::try_from(text) {
                Ok(text) => Message::Text(text),
                Err(_) => continue,
            },
            Ok(None) => break,
            Err(_) => Message::Ping(Bytes::new()),
        };
        match tokio::time::timeout(unread, sink.send(message)).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
    let _ = tokio::time::timeout(unread, sink.close()).await;
}
