//! A response that goes on: events as they happen, and a sign of life when none do.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use gantry_transport::sse::{Event, KEEP_ALIVE};

use super::body::Body;
use crate::authenticator::Identity;
use crate::era::{Follower, Listening, Outbound, StatelessCall};
use crate::quota::Permit;
use crate::server_state::ServerState;

/// Where a stream's events come from.
pub(crate) trait Source: Send + 'static {
    /// The next event as it goes over the wire; none at the end. Must be safe to drop and call
    /// again, since the sign of life interrupts it.
    fn next(&mut self, server_state: &ServerState) -> impl Future<Output = Option<Bytes>> + Send;
}

/// A body that sends what the source says.
///
/// It ends when what the visitor showed is good no more.
pub(crate) fn stream(
    server_state: &Arc<ServerState>,
    identity: &Identity,
    source: impl Source,
    permit: Permit,
) -> Body {
    let start = (server_state.clone(), identity.clone(), source, permit);
    let events = stream::unfold(start, |(server_state, identity, mut source, permit)| async move {
        let silence = tokio::time::sleep(server_state.settings.keep_alive);
        let event = tokio::select! {
            biased;
            () = identity.over() => return None,
            event = source.next(&server_state) => event?,
            () = silence => Bytes::from_static(KEEP_ALIVE),
        };
        Some((event, (server_state, identity, source, permit)))
    });
    Body::Events(Box::pin(events))
}

impl Source for Follower {
    async fn next(&mut self, _: &ServerState) -> Option<Bytes> {
        Follower::next(self).await
    }
}

/// A request that stands alone, answered as a stream.
pub(crate) struct LiveEvents {
    /// What was said before it was clear that there would be a stream.
    pub(crate) first: Option<Outbound>,
    pub(crate) live: Box<StatelessCall>,
}

impl Source for LiveEvents {
    async fn next(&mut self, _: &ServerState) -> Option<Bytes> {
        let said = match self.first.take() {
            Some(said) => said,
            None => self.live.next().await?,
        };
        let message = match said {
            Outbound::Notification(message) => message,
            Outbound::Answer(reply, _) => reply.into_bytes(),
        };
        Some(Event::message(message).encode())
    }
}

/// A stream of changes.
pub(crate) struct ListenEvents {
    listening: Listening,
    stage: Stage,
}

enum Stage {
    Begun,
    Open,
    Ended,
}

impl ListenEvents {
    pub(crate) fn new(listening: Listening) -> Self {
        Self { listening, stage: Stage::Begun }
    }
}

impl Source for ListenEvents {
    async fn next(&mut self, server_state: &ServerState) -> Option<Bytes> {
        let message = match self.stage {
            Stage::Begun => {
                let message = self.listening.acknowledgement(server_state).await;
                self.stage = Stage::Open;
                message
            }
            Stage::Open => match self.listening.next(server_state).await {
                Some(message) => message,
                None => {
                    self.stage = Stage::Ended;
                    self.listening.end(server_state)
                }
            },
            Stage::Ended => return None,
        };
        Some(Event::message(message).encode())
    }
}
