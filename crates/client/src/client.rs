//! A server for as long as it is wanted: connected when needed, again when lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::error::ClientError;
use crate::event::Event;
use crate::line::Line;
use crate::peer::Peer;
use crate::request::{Answer, List, Listed, Request};
use crate::settings::Settings;
use crate::state::State;
use crate::target::Target;

/// A server, connected or not. Clones share it; it ends when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Client {}

/// What is known of the program or connection behind a client.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// The number of its process.
    pub process: Option<u32>,
    /// The bytes of memory that it holds.
    pub memory: Option<u64>,
    /// How often it was connected anew after it was lost.
    pub restarts: u64,
    /// Requests under way.
    pub in_flight: usize,
    /// How long the connection has lasted.
    pub age: Option<Duration>,
}

impl Client {
    /// A client that connects when its settings say so. What the server says that belongs to no
    /// request goes to `events`. Must be called within a tokio runtime.
    pub fn new(target: Target, settings: Settings, events: mpsc::Sender<Event>) -> Self {
        let _ = (target, settings, events);
        todo!()
    }

    /// How it stands.
    pub fn state(&self) -> State {
        todo!()
    }

    /// Hears how it stands.
    pub fn states(&self) -> watch::Receiver<State> {
        todo!()
    }

    /// What the server said of itself last; none if it was never reached.
    pub fn known(&self) -> Option<Arc<Peer>> {
        todo!()
    }

    /// Connects if need be, and gives what the server says of itself.
    pub async fn peer(&self) -> Result<Arc<Peer>, ClientError> {
        todo!()
    }

    /// Asks for something, connecting first if need be. A request that the server has surely not
    /// seen, or that a lost session refused, is sent once more over a new connection.
    pub async fn request(&self, request: Request, line: &dyn Line) -> Result<Answer, ClientError> {
        let _ = (request, line);
        todo!()
    }

    /// All pages of a list.
    pub async fn list(&self, list: List) -> Result<Listed, ClientError> {
        let _ = list;
        todo!()
    }

    /// Sets the resources whose changes are to be told, now and after every reconnection.
    pub fn watch(&self, uris: BTreeSet<String>) {
        let _ = uris;
        todo!()
    }

    /// What is known of the program or connection.
    pub fn health(&self) -> Health {
        todo!()
    }

    /// The end of what the program wrote to standard error, earlier lives included.
    pub fn log(&self) -> String {
        todo!()
    }

    /// Ends the connection; the next request, or the settings, begin a new one.
    pub async fn restart(&self) {
        todo!()
    }

    /// Ends the connection for good.
    pub async fn stop(&self) {
        todo!()
    }
}
