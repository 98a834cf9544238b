//! WebSocket: one message a text frame, subprotocol `mcp`.

#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::header::{self, HeaderValue};
use http::{Request, StatusCode, Uri};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

use super::{Outgoing, Pipe};
use crate::error::{ClientError, HttpError};
use crate::http::{Origin, Stream, connect, endpoint_headers};
use crate::settings::Settings;
use crate::target::Endpoint;

/// The interval of keep-alive pings while nothing else is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// After this silence, pongs included, the server is considered gone.
const SILENCE: Duration = Duration::from_secs(90);

type Socket = WebSocketStream<Stream>;
type Incoming = mpsc::Sender<Result<Bytes, String>>;

/// Opens the socket.
pub(crate) async fn open(endpoint: &Endpoint, settings: &Settings) -> Result<Pipe, ClientError> {
    let origin = Origin::of(&endpoint.url)?;
    let opening = open_socket(endpoint, settings, &origin);
    let socket = tokio::time::timeout(settings.connect_within, opening)
        .await
        .unwrap_or(Err(ClientError::Timeout(settings.connect_within)))?;
    let (sink, stream) = socket.split();
    let (outgoing, messages) = mpsc::channel(settings.queue);
    let (tx, incoming) = mpsc::channel(settings.queue);
    let stop = CancellationToken::new();
    // Each stops the other through the token, which the owner of the pipe holds too.
    tokio::spawn(write(sink, messages, tx.clone(), stop.clone(), settings.grace));
    tokio::spawn(read(stream, tx, stop.clone()));
    Ok(Pipe { outgoing: Outgoing::Queue(outgoing), incoming, stop })
}

async fn open_socket(
    endpoint: &Endpoint,
    settings: &Settings,
    origin: &Origin,
) -> Result<Socket, ClientError> {
    let limit = Some(settings.message.size);
    let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
    let attempt = async |request| {
        let stream = connect(origin, endpoint.socket.as_ref(), settings.connect_within).await?;
        let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(config));
        Ok::<_, ClientError>(opened.await.map(|(socket, _)| socket))
    };
    let mut plain = request(endpoint, origin)?;
    let mut named = plain.clone();
    named.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    let opened = match attempt(named).await? {
        // A server that does not echo the subprotocol may still speak it.
        Err(Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(_))) => {
            plain.headers_mut().insert(header::SEC_WEBSOCKET_KEY, fresh_key()?);
            attempt(plain).await?
        }
        opened => opened,
    };
    opened.map_err(|error| refused(origin, &error))
}

fn request(endpoint: &Endpoint, origin: &Origin) -> Result<Request<()>, ClientError> {
    let mut request = Request::new(());
    *request.uri_mut() = address(&endpoint.url, origin)?;
    *request.headers_mut() = endpoint_headers(endpoint)?;
    let headers = request.headers_mut();
    headers.entry(header::HOST).or_insert(origin.host_header()?);
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(header::SEC_WEBSOCKET_KEY, fresh_key()?);
    Ok(request)
}

fn fresh_key() -> Result<HeaderValue, ClientError> {
    HeaderValue::try_from(generate_key())
        .map_err(|_| ClientError::Unreachable("no key for the handshake was found".to_owned()))
}

/// The address with a scheme of WebSocket, whichever it was written with.
fn address(url: &Uri, origin: &Origin) -> Result<Uri, ClientError> {
    let mut parts = url.clone().into_parts();
    let scheme = if origin.is_secure() { "wss" } else { "ws" };
    parts.scheme = scheme.parse().ok();
    Uri::from_parts(parts).map_err(|_| {
        ClientError::Unreachable(format!("the address of `{origin}` is none of a WebSocket"))
    })
}

fn refused(origin: &Origin, error: &Error) -> ClientError {
    let Error::Http(response) = error else {
        return ClientError::Unreachable(format!(
            "`{origin}` did not open a WebSocket: {error}; check the path of the address"
        ));
    };
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let challenge = response.headers().get(header::WWW_AUTHENTICATE);
        let challenge = challenge.and_then(|value| value.to_str().ok()).map(str::to_owned);
        return ClientError::Unauthorized { status: status.as_u16(), challenge };
    }
    if matches!(status.as_u16(), 429 | 502 | 503) {
        return ClientError::Http(Box::new(HttpError::unsent(status.as_u16(), None)));
    }
    ClientError::Unreachable(format!(
        "`{origin}` has no WebSocket there (HTTP status {status}); check the path of the address"
    ))
}

/// Forwards messages until the end, then the reason.
async fn read(mut stream: SplitStream<Socket>, messages: Incoming, stop: CancellationToken) {
    stop.run_until_cancelled(async {
        loop {
            let next = next_message(&mut stream).await;
            let is_last = next.is_err();
            if messages.send(next).await.is_err() || is_last {
                return;
            }
        }
    })
    .await;
    stop.cancel();
}

async fn next_message(stream: &mut SplitStream<Socket>) -> Result<Bytes, String> {
    loop {
        let Ok(next) = tokio::time::timeout(SILENCE, stream.next()).await else {
            return Err(format!("the server said nothing for {SILENCE:?}"));
        };
        match next {
            Some(Ok(Message::Text(text))) => return Ok(text.into()),
            Some(Ok(Message::Binary(bytes))) => return Ok(bytes),
            Some(Ok(Message::Close(Some(frame)))) => {
                return Err(format!("the server closed the WebSocket with code {}", frame.code));
            }
            Some(Ok(Message::Close(None))) | None => {
                return Err("the server closed the WebSocket".to_owned());
            }
            // Pings are answered by the library.
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(format!("the WebSocket broke: {error}")),
        }
    }
}

/// Writes messages, and pings when there are none; then closes the socket.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut messages: mpsc::Receiver<Bytes>,
    incoming: Incoming,
    stop: CancellationToken,
    grace: Duration,
) {
    let written = stop.run_until_cancelled(write_all(&mut sink, &mut messages)).await;
    drop(messages);
    if let Some(Err(error)) = written {
        let reason = format!("the WebSocket broke: {error}");
        stop.run_until_cancelled(incoming.send(Err(reason))).await;
    }
    stop.cancel();
    let _ = tokio::time::timeout(grace, sink.close()).await;
}

async fn write_all(
    sink: &mut SplitSink<Socket, Message>,
    messages: &mut mpsc::Receiver<Bytes>,
) -> Result<(), Error> {
    loop {
        let message = match tokio::time::timeout(KEEP_ALIVE, messages.recv()).await {
            // JSON that was checked is text; what is not cannot be sent.
            Ok(Some(text)) => match Utf8Bytes::try_from(text) {
                Ok(text) => Message::Text(text),
                Err(_) => continue,
            },
            Ok(None) => return Ok(()),
            Err(_) => Message::Ping(Bytes::new()),
        };
        sink.send(message).await?;
    }
}
