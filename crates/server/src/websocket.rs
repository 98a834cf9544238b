//! The WebSocket transport at `/ws`: one JSON-RPC message per WebSocket message, any revision,
//! subprotocol `mcp`.

mod frame_meter;
mod metered_stream;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use gantry_protocol::RpcError;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderValue, StatusCode};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::authenticator::Identity;
use crate::duplex;
use crate::duplex::Inbound;
use crate::http::client_stream::WriteTimeout;
use crate::http::request_head::RequestHead;
use crate::http::response::{Body, HttpResponse};
use crate::http::{HttpState, response};
use crate::request_headers::{Headers, text};
use crate::server_state::ServerState;
use crate::websocket::metered_stream::{MeteredStream, ReceiveAccount};

type Socket = WebSocketStream<MeteredStream>;

/// Messages queued for a client that is slow to read.
const QUEUE_LENGTH: usize = 64;

/// How long a client has to confirm the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Messages up to this size are not charged to the receive budget.
const MAX_UNCHARGED: usize = 8 * 1024;

/// Upgrades an HTTP connection to a WebSocket.
pub(crate) fn upgrade(
    http_state: &HttpState,
    identity: &Identity,
    head: &RequestHead,
) -> HttpResponse {
    let headers = &head.headers;
    let upgrade = headers.get("upgrade").unwrap_or_default();
    let is_upgrade = upgrade.eq_ignore_ascii_case("websocket")
        && head.is_http11
        && tokens(headers, "connection").any(|token| token.eq_ignore_ascii_case("upgrade"));
    let version = headers.get("sec-websocket-version");
    let key = headers.get("sec-websocket-key");
    let (true, Some("13"), Some(key)) = (is_upgrade, version, key) else {
        let text = "this is a WebSocket endpoint; connect to it with the subprotocol `mcp`\n";
        return response::text(StatusCode::UPGRADE_REQUIRED, text)
            .with(UPGRADE, HeaderValue::from_static("websocket"));
    };
    let permit = match http_state.server_state.open_stream(&identity.principal) {
        Ok(permit) => permit,
        Err(exceeded) => {
            return response::text(StatusCode::TOO_MANY_REQUESTS, format!("{exceeded}\n"));
        }
    };
    let (server_state, identity) = (http_state.server_state.clone(), identity.clone());
    let budget = http_state.receive_budget.clone();
    let receive_account = ReceiveAccount { budget, principal: identity.principal.clone() };
    let upgraded = Body::Upgrade(Box::new(move |stream, buffered| {
        Box::pin(async move {
            serve(server_state, &identity, receive_account, stream, buffered).await;
            drop(permit);
        })
    }));
    let offers_mcp = tokens(headers, "sec-websocket-protocol").any(|token| token == "mcp");
    switching_protocols(upgraded, key, offers_mcp)
}

/// The comma-separated tokens of a header.
fn tokens<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = &'a str> {
    headers.all(name).filter_map(text).flat_map(|it| it.split(',')).map(str::trim)
}

fn switching_protocols(upgraded: Body, key: &str, offers_mcp: bool) -> HttpResponse {
    let value = HeaderValue::from_static;
    let mut response = HttpResponse::new(StatusCode::SWITCHING_PROTOCOLS, upgraded)
        .with(UPGRADE, value("websocket"))
        .with(CONNECTION, value("Upgrade"));
    if let Ok(accept) = HeaderValue::from_maybe_shared(derive_accept_key(key.as_bytes())) {
        response = response.with(SEC_WEBSOCKET_ACCEPT, accept);
    }
    match offers_mcp {
        true => response.with(SEC_WEBSOCKET_PROTOCOL, value("mcp")),
        false => response,
    }
}

async fn serve(
    server_state: Arc<ServerState>,
    identity: &Identity,
    receive_account: ReceiveAccount,
    stream: WriteTimeout,
    buffered: BytesMut,
) {
    let settings = &server_state.settings;
    let stream = MeteredStream::new(stream, &buffered, receive_account.clone(), settings);
    let limit = Some(server_state.settings.message.size);
    let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
    let socket =
        WebSocketStream::from_partially_read(stream, buffered.into(), Role::Server, Some(config))
            .await;
    let (sink, stream) = socket.split();
    let (out, messages) = mpsc::channel(QUEUE_LENGTH);
    let (keep_alive, unread) = (server_state.settings.keep_alive, server_state.settings.unread);
    let writer = server_state.tasks.spawn(write(sink, messages, keep_alive, unread));
    duplex::serve(server_state, identity, Messages { stream, receive_account }, out).await;
    let _ = writer.await;
}

/// The messages of a client.
struct Messages {
    stream: SplitStream<Socket>,
    receive_account: ReceiveAccount,
}

impl Messages {
    /// Charges a message for as long as any part of it is held, like the body of a request.
    fn charged(&self, message: Bytes) -> Option<Bytes> {
        let mut charge = self.receive_account.charge();
        let is_small = message.len() <= MAX_UNCHARGED;
        (is_small || charge.raise_to(message.len())).then(|| charge.attach_to(message))
    }
}

impl Inbound for Messages {
    async fn next(&mut self) -> Option<Result<Bytes, RpcError>> {
        loop {
            match self.stream.next().await? {
                Ok(Message::Text(text)) => return self.charged(text.into()).map(Ok),
                Ok(Message::Binary(bytes)) => return self.charged(bytes).map(Ok),
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

/// Writes messages as they come, and a ping when there are none, so that a dead client is detected.
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
    let _ = tokio::time::timeout(CLOSE_TIMEOUT.min(unread), sink.close()).await;
}
