//! The stream of events from the server: first where messages go, then messages.

use bytes::Bytes;
use gantry_transport::sse::{Event, EventDecoder};
use tokio::sync::mpsc;

use crate::error::ClientError;
use crate::http::Body;

/// What comes from the server.
#[derive(Debug)]
pub(super) struct EventReader {
    body: Body,
    decoder: EventDecoder,
}

impl EventReader {
    pub(super) fn new(body: Body, limit: usize) -> Self {
        Self { body, decoder: EventDecoder::new(limit) }
    }

    /// Where messages go, which must be the first thing that the server says.
    pub(super) async fn endpoint(&mut self) -> Result<String, ClientError> {
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

    /// Hands on messages until the stream ends, and then says why.
    pub(super) async fn run(mut self, messages: mpsc::Sender<Result<Bytes, String>>) {
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
