//! A response that goes on: events as they happen, and a sign of life when none do.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use gantry_transport::sse::{Event, KEEP_ALIVE};

use super::body::Body;
use crate::doorman::Visitor;
use crate::era::{Follower, Listening, Live, Said};
use crate::lobby::Lobby;
use crate::quota::Permit;

/// Where a stream's events come from.
pub(crate) trait Source: Send + 'static {
    /// The next event as it goes over the wire; none at the end. Must be safe to drop and call
    /// again, since the sign of life interrupts it.
    fn next(&mut self, lobby: &Lobby) -> impl Future<Output = Option<Bytes>> + Send;
}

/// A body that sends what the source says.
///
/// It ends when what the visitor showed is good no more.
pub(crate) fn stream(
    lobby: &Arc<Lobby>,
    visitor: &Visitor,
    source: impl Source,
    permit: Permit,
) -> Body {
    let start = (lobby.clone(), visitor.clone(), source, permit);
    let events = stream::unfold(start, |(lobby, visitor, mut source, permit)| async move {
        let silence = tokio::time::sleep(lobby.settings.keep_alive);
        let event = tokio::select! {
            biased;
            () = visitor.over() => return None,
            event = source.next(&lobby) => event?,
            () = silence => Bytes::from_static(KEEP_ALIVE),
        };
        Some((event, (lobby, visitor, source, permit)))
    });
    Body::Events(Box::pin(events))
}

impl Source for Follower {
    async fn next(&mut self, _: &Lobby) -> Option<Bytes> {
        Follower::next(self).await
    }
}

/// A request that stands alone, answered as a stream.
pub(crate) struct LiveEvents {
    /// What was said before it was clear that there would be a stream.
    pub(crate) first: Option<Said>,
    pub(crate) live: Box<Live>,
}

impl Source for LiveEvents {
    async fn next(&mut self, _: &Lobby) -> Option<Bytes> {
        let said = match self.first.take() {
            Some(said) => said,
            None => self.live.next().await?,
        };
        let message = match said {
            Said::Notice(message) => message,
            Said::Answer(reply, _) => reply.into_bytes(),
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
    async fn next(&mut self, lobby: &Lobby) -> Option<Bytes> {
        let message = match self.stage {
            Stage::Begun => {
                let message = self.listening.acknowledgement(lobby).await;
                self.stage = Stage::Open;
                message
            }
            Stage::Open => match self.listening.next(lobby).await {
                Some(message) => message,
                None => {
                    self.stage = Stage::Ended;
                    self.listening.end(lobby)
                }
            },
            Stage::Ended => return None,
        };
        Some(Event::message(message).encode())
    }
}
