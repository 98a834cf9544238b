//! State changes of a client, and notifications that belong to no request.

use std::time::Duration;

use gantry_protocol::{Level, RawJson};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self};

/// A list that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum ChangedList {
    Tools,
    Prompts,
    Resources,
}

/// A notification that belongs to no request, in the newest form.
#[derive(Debug, Clone)]
pub enum Event {
    /// A list changed.
    ListChanged(ChangedList),
    /// A subscribed resource has new content.
    ResourceUpdated {
        /// Which.
        uri: String,
        /// The notification's params.
        params: RawJson,
    },
    /// A log message that belongs to no known request.
    Log(Level, RawJson),
    /// Anything subscribed or cached may have changed unnoticed: a new connection took over.
    Reconnected,
}

/// Forwards events to a bounded queue. A slow listener loses events, not its place: it gets
/// `Reconnected`, which costs it four lists and needs no unbounded queue.
#[derive(Debug)]
pub(crate) struct EventForwarder {
    listener: mpsc::Sender<Event>,
    /// Whether an event was dropped.
    missed: bool,
}

impl EventForwarder {
    pub(crate) fn new(listener: mpsc::Sender<Event>) -> Self {
        Self { listener, missed: false }
    }

    pub(crate) fn tell(&mut self, event: Event) {
        if self.missed && self.listener.try_send(Event::Reconnected).is_ok() {
            self.missed = false;
        }
        if let Err(TrySendError::Full(_)) = self.listener.try_send(event) {
            self.missed = true;
        }
    }

    /// Waits until the listener was told of dropped events; for ever if there are none.
    pub(crate) async fn settle(&mut self) {
        if !self.missed {
            return std::future::pending().await;
        }
        match self.listener.reserve().await {
            Ok(place) => {
                place.send(Event::Reconnected);
                self.missed = false;
            }
            Err(_) => std::future::pending().await,
        }
    }
}

/// The state of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Known, not connected, and nothing wrong.
    Configured,
    /// Being connected.
    Starting,
    /// Connected.
    Ready,
    /// Connected, but something does not work.
    Degraded(String),
    /// Could not be connected, or was lost; tried again later.
    BackingOff {
        /// What went wrong.
        reason: String,
        /// How long until the next try.
        wait: Duration,
    },
    /// Not to be used.
    Disabled(String),
}

impl State {
    /// Its name, for tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded(_) => "degraded",
            Self::BackingOff { .. } => "backing off",
            Self::Disabled(_) => "disabled",
        }
    }

    /// Why it is so, if there is more to say than the name.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Degraded(reason) | Self::BackingOff { reason, .. } | Self::Disabled(reason) => {
                Some(reason)
            }
            _ => None,
        }
    }
}
