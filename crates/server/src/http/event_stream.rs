//! Server-sent events as a response body: events as they happen, and a comment to keep the connection
//! alive when there are none.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::unfold;
use gantry_transport::sse::{Event, KEEP_ALIVE};

use crate::authenticator::Identity;
use crate::http::response::Body;
use crate::quota::Permit;
use crate::server_state::ServerState;
use crate::session::replay_log::ReplayReader;
use crate::stateless::listen_stream::ListenStream;
use crate::stateless::{Outbound, StatelessCall};

/// The source of the events of a stream.
pub(super) trait EventSource: Send + 'static {
    /// The next event, encoded; none at the end. Must be cancel safe: the keep-alive interrupts it.
    fn next(&mut self, server_state: &ServerState) -> impl Future<Output = Option<Bytes>> + Send;
}

/// The body with the events of a source. It ends when the client's token is revoked or expires.
pub(super) fn body(
    server_state: &Arc<ServerState>,
    identity: &Identity,
    source: impl EventSource,
    permit: Permit,
) -> Body {
    let start = (server_state.clone(), identity.clone(), source, permit);
    let events = unfold(start, |(server_state, identity, mut source, permit)| async move {
        let silent = tokio::time::sleep(server_state.settings.keep_alive);
        let event = tokio::select! {
            biased;
            () = identity.revoked() => return None,
            event = source.next(&server_state) => event?,
            () = silent => Bytes::from_static(KEEP_ALIVE),
        };
        Some((event, (server_state, identity, source, permit)))
    });
    Body::Events(Box::pin(events))
}

impl EventSource for ReplayReader {
    async fn next(&mut self, _: &ServerState) -> Option<Bytes> {
        ReplayReader::next(self).await
    }
}

/// The messages of a stateless call.
pub(super) struct CallEvents {
    /// The message that made the response a stream.
    pub(super) first: Option<Outbound>,
    pub(super) call: Box<StatelessCall>,
}

impl EventSource for CallEvents {
    async fn next(&mut self, _: &ServerState) -> Option<Bytes> {
        let message = match self.first.take() {
            Some(message) => message,
            None => self.call.next().await?,
        };
        Some(Event::message(message.into_bytes()).encode())
    }
}

/// The messages of `subscriptions/listen`.
pub(super) struct ListenEvents {
    stream: ListenStream,
    stage: Stage,
}

enum Stage {
    Opening,
    Open,
    Ended,
}

impl ListenEvents {
    pub(super) fn new(stream: ListenStream) -> Self {
        Self { stream, stage: Stage::Opening }
    }
}

impl EventSource for ListenEvents {
    async fn next(&mut self, server_state: &ServerState) -> Option<Bytes> {
        let message = match self.stage {
            Stage::Opening => {
                let message = self.stream.acknowledgement(server_state).await;
                self.stage = Stage::Open;
                message
            }
            Stage::Open => match self.stream.next(server_state).await {
                Some(message) => message,
                None => {
                    self.stage = Stage::Ended;
                    self.stream.end(server_state)
                }
            },
            Stage::Ended => return None,
        };
        Some(Event::message(message).encode())
    }
}
