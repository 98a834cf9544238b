//! Passes on what a server says that belongs to no request. A listener that does not keep up is
//! told to look at everything again instead.

use tokio::sync::mpsc::{self, error::TrySendError};

use crate::event::Event;

/// The way to the one who listens.
#[derive(Debug)]
pub(super) struct Relay {
    listener: mpsc::Sender<Event>,
    /// Something was left out.
    missed: bool,
}

impl Relay {
    pub(super) fn new(listener: mpsc::Sender<Event>) -> Self {
        Self { listener, missed: false }
    }

    pub(super) fn tell(&mut self, event: Event) {
        if self.missed && self.listener.try_send(Event::Reconnected).is_ok() {
            self.missed = false;
        }
        if let Err(TrySendError::Full(_)) = self.listener.try_send(event) {
            self.missed = true;
        }
    }

    /// Waits until what was left out has been made good; for ever if nothing was.
    pub(super) async fn settle(&mut self) {
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
