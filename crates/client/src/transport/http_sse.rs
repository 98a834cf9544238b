//! HTTP+SSE of 2024-11-05: one event stream from the server, a POST for each message to it.

mod message_poster;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use gantry_transport::sse::{Event, EventDecoder};
use http::header::{self, HeaderValue};
use http::{StatusCode, Uri};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::message_poster::MessagePoster;
use super::{Outgoing, Pipe};
use crate::error::{ClientError, HttpError};
use crate::http::{Body, Http, Kind, Origin, Request, request_target};
use crate::settings::Settings;
use crate::target::Endpoint;

/// Reads the event stream.
#[derive(Debug)]
struct EventReader {
    body: Body,
    decoder: EventDecoder,
}

impl EventReader {
    fn new(body: Body, limit: usize) -> Self {
        Self { body, decoder: EventDecoder::new(limit) }
    }

    /// The endpoint for messages, which must be the first event.
    async fn endpoint(&mut self) -> Result<String, ClientError> {
        loop {
            let Some(event) = self.event().await? else {
                return Err(ClientError::Unreachable(
                    "the stream of events ended before it said where messages go".to_owned(),
                ));
            };
            match event.name.as_deref() {
                Some("endpoint") => return Ok(String::from_utf8_lossy(&event.data).into_owned()),
                _ if event.data.is_empty() => {}
                _ => {
                    return Err(ClientError::Malformed(
                        "the stream of events does not begin with the event `endpoint`".to_owned(),
                    ));
                }
            }
        }
    }

    /// Forwards messages until the stream ends, then the reason.
    async fn run(mut self, messages: mpsc::Sender<Result<Bytes, String>>) {
        loop {
            let (next, is_last) = match self.event().await {
                Ok(Some(event)) if is_message(&event) => (Ok(event.data), false),
                Ok(Some(_)) => continue,
                Ok(None) => (Err("the server ended its stream of events".to_owned()), true),
                Err(error) => (Err(error.to_string()), true),
            };
            if messages.send(next).await.is_err() || is_last {
                return;
            }
        }
    }

    async fn event(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            let event = self.decoder.next_event();
            if let Some(event) = event.map_err(|error| ClientError::Malformed(error.to_string()))? {
                return Ok(Some(event));
            }
            match self.body.chunk().await.transpose()? {
                Some(bytes) => self.decoder.feed(&bytes),
                None => return Ok(None),
            }
        }
    }
}

fn is_message(event: &Event) -> bool {
    !event.data.is_empty() && event.name.as_deref().is_none_or(|name| name == "message")
}

/// Opens the stream and waits for the `endpoint` event.
pub(crate) async fn open(endpoint: &Endpoint, settings: &Settings) -> Result<Pipe, ClientError> {
    let http = Arc::new(Http::new(endpoint, settings)?);
    let opening = open_stream(&http, endpoint, settings);
    let (reader, target) = tokio::time::timeout(settings.connect_within, opening)
        .await
        .unwrap_or(Err(ClientError::Timeout(settings.connect_within)))?;
    let (outgoing, messages) = mpsc::channel(settings.queue);
    let (tx, incoming) = mpsc::channel(settings.queue);
    let stop = CancellationToken::new();
    let poster = MessagePoster::new(http, target, settings, tx.clone());
    // Each stops the other through the token, which the owner of the pipe holds too.
    tokio::spawn(cancel_on_end(stop.clone(), reader.run(tx)));
    tokio::spawn(cancel_on_end(stop.clone(), poster.run(messages)));
    Ok(Pipe { outgoing: Outgoing::Queue(outgoing), incoming, stop })
}

async fn cancel_on_end(stop: CancellationToken, work: impl Future<Output = ()>) {
    stop.run_until_cancelled(work).await;
    stop.cancel();
}

async fn open_stream(
    http: &Arc<Http>,
    endpoint: &Endpoint,
    settings: &Settings,
) -> Result<(EventReader, Uri), ClientError> {
    let mut headers = http.headers().clone();
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    let url = request_target(&endpoint.url);
    let (head, body) = http.send(Request::get(&url, &headers)).await?;
    if matches!(head.status.as_u16(), 429 | 502 | 503) {
        let (status, retry_after) = (head.status.as_u16(), head.retry_after);
        return Err(ClientError::Http(Box::new(HttpError::unsent(status, retry_after))));
    }
    if head.status != StatusCode::OK || head.kind != Kind::Events {
        return Err(ClientError::Unreachable(format!(
            "`{}` has no event stream at `{}` (HTTP status {}); check the path of the address",
            http.origin(),
            url.path(),
            head.status
        )));
    }
    let mut reader = EventReader::new(body, settings.message.size);
    let place = reader.endpoint().await?;
    let target = resolve(&endpoint.url, &place, http.origin())?;
    Ok((reader, target))
}

/// Resolves the endpoint for messages. Another origin is refused: it would get the headers of this
/// one.
fn resolve(base: &Uri, place: &str, origin: &Origin) -> Result<Uri, ClientError> {
    let unusable = |why: &str| {
        ClientError::Malformed(format!("`{origin}` names a place for messages that {why}"))
    };
    let place = place.trim();
    let place: Uri = match place.strip_prefix("//") {
        Some(rest) => format!("{}://{rest}", base.scheme_str().unwrap_or("http")).parse(),
        None if place.starts_with('/') || place.contains("://") => place.parse(),
        None => format!("{}{place}", folder(base.path(), place)).parse(),
    }
    .map_err(|_| unusable("is no address"))?;
    if place.host().is_some() && Origin::of(&place).ok().as_ref() != Some(origin) {
        return Err(unusable("belongs to another origin; such a server is not spoken to"));
    }
    Ok(request_target(&place))
}

/// What a relative reference stands after: a query alone belongs to the path itself.
fn folder<'a>(path: &'a str, reference: &str) -> &'a str {
    if reference.starts_with('?') {
        return path;
    }
    &path[..=path.rfind('/').unwrap_or_default()]
}
