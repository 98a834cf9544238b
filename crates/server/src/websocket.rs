//! The WebSocket door: one message a frame, any revision, subprotocol `mcp`.

mod frames;
mod metered;

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
use crate::duplex::{self, Inbound};
use crate::headers::{Headers, text};
use crate::http::answer::{self, Answer};
use crate::http::{Body, Head, HttpState, WriteTimeout};
use crate::server_state::ServerState;
use metered::{Account, Metered};

type Socket = WebSocketStream<Metered>;

/// Messages that may wait for a client that is slow to read.
const WAITING: usize = 64;

/// How long a client has to confirm that the connection is closed.
const CLOSING: Duration = Duration::from_secs(2);

/// Messages up to this size are not charged.
const COUNTED: usize = 8 * 1024;

/// Turns an HTTP connection into a WebSocket.
pub(crate) fn upgrade(http_state: &HttpState, identity: &Identity, head: &Head) -> Answer {
    let headers = &head.headers;
    let wanted = headers.get("upgrade").unwrap_or_default();
    let wanted = wanted.eq_ignore_ascii_case("websocket") && head.is_newest && upgrades(headers);
    let version = headers.get("sec-websocket-version");
    let key = headers.get("sec-websocket-key");
    let (true, Some("13"), Some(key)) = (wanted, version, key) else {
        let text = "this is a WebSocket endpoint; connect to it with the subprotocol `mcp`\n";
        return answer::text(StatusCode::UPGRADE_REQUIRED, text)
            .with(UPGRADE, HeaderValue::from_static("websocket"));
    };
    let permit = match http_state.server_state.open_stream(&identity.principal) {
        Ok(permit) => permit,
        Err(exceeded) => {
            return answer::text(StatusCode::TOO_MANY_REQUESTS, format!("{exceeded}\n"));
        }
    };
    let (server_state, identity) = (http_state.server_state.clone(), identity.clone());
    let account =
        Account { budget: http_state.budget.clone(), principal: identity.principal.clone() };
    let serving = Body::Upgrade(Box::new(move |stream, came| {
        Box::pin(async move {
            serve(server_state, &identity, account, stream, came).await;
            drop(permit);
        })
    }));
    switch(serving, key, offers_mcp(headers))
}

fn upgrades(headers: &Headers) -> bool {
    words(headers, "connection").any(|word| word.eq_ignore_ascii_case("upgrade"))
}

fn offers_mcp(headers: &Headers) -> bool {
    words(headers, "sec-websocket-protocol").any(|word| word == "mcp")
}

fn words<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = &'a str> {
    headers.all(name).filter_map(text).flat_map(|it| it.split(',')).map(str::trim)
}

fn switch(serving: Body, key: &str, mcp: bool) -> Answer {
    let said = HeaderValue::from_static;
    let mut answer = Answer::new(StatusCode::SWITCHING_PROTOCOLS, serving)
        .with(UPGRADE, said("websocket"))
        .with(CONNECTION, said("Upgrade"));
    if let Ok(accept) = HeaderValue::from_maybe_shared(derive_accept_key(key.as_bytes())) {
        answer = answer.with(SEC_WEBSOCKET_ACCEPT, accept);
    }
    match mcp {
        true => answer.with(SEC_WEBSOCKET_PROTOCOL, said("mcp")),
        false => answer,
    }
}

async fn serve(
    server_state: Arc<ServerState>,
    identity: &Identity,
    account: Account,
    stream: WriteTimeout,
    came: BytesMut,
) {
    let stream = Metered::new(stream, &came, account.clone(), &server_state.settings);
    let limit = Some(server_state.settings.message.size);
    let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
    let socket =
        WebSocketStream::from_partially_read(stream, came.into(), Role::Server, Some(config)).await;
    let (sink, stream) = socket.split();
    let (out, messages) = mpsc::channel(WAITING);
    let (keep_alive, unread) = (server_state.settings.keep_alive, server_state.settings.unread);
    let writer = server_state.tasks.spawn(write(sink, messages, keep_alive, unread));
    duplex::serve(server_state, identity, Frames { stream, account }, out).await;
    let _ = writer.await;
}

struct Frames {
    stream: SplitStream<Socket>,
    account: Account,
}

impl Frames {
    /// Counts a message for as long as any part of it is held, like the body of a request.
    fn counted(&self, message: Bytes) -> Option<Bytes> {
        let mut charge = self.account.charge();
        let is_small = message.len() <= COUNTED;
        (is_small || charge.cover(message.len())).then(|| charge.hold(message))
    }
}

impl Inbound for Frames {
    async fn next(&mut self) -> Option<Result<Bytes, RpcError>> {
        loop {
            match self.stream.next().await? {
                Ok(Message::Text(text)) => return self.counted(text.into()).map(Ok),
                Ok(Message::Binary(bytes)) => return self.counted(bytes).map(Ok),
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
    let _ = tokio::time::timeout(CLOSING.min(unread), sink.close()).await;
}
