//! One life of a server: connected, greeted, asked, and gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::error::ClientError;
use crate::event::Event;
use crate::line::Line;
use crate::peer::Peer;
use crate::request::{Answer, List, Listed, Request};
use crate::settings::Settings;
use crate::target::Target;

/// A connection to a server. Dropping it ends it, and the program behind it.
#[derive(Debug)]
pub struct Connection {}

impl Connection {
    /// Connects, finds out the era, and greets the server. What the server says that belongs to no
    /// request goes to `events`; what finds no room there is left out.
    pub async fn open(
        target: &Target,
        settings: Arc<Settings>,
        events: mpsc::Sender<Event>,
    ) -> Result<Self, ClientError> {
        let _ = (target, settings, events);
        todo!()
    }

    /// What the server said of itself.
    pub fn peer(&self) -> &Arc<Peer> {
        todo!()
    }

    /// Asks for something and waits for the answer. Dropping the future tells the server that
    /// nobody waits any more.
    pub async fn request(&self, request: Request, line: &dyn Line) -> Result<Answer, ClientError> {
        let _ = (request, line);
        todo!()
    }

    /// All pages of a list. A server that does not declare it has an empty one.
    pub async fn list(&self, list: List) -> Result<Listed, ClientError> {
        let _ = list;
        todo!()
    }

    /// Sets the resources whose changes are to be told.
    pub async fn watch(&self, uris: &BTreeSet<String>) -> Result<(), ClientError> {
        let _ = uris;
        todo!()
    }

    /// Waits until the connection has ended, and says why.
    pub async fn ended(&self) -> String {
        todo!()
    }

    /// Ends it in good order.
    pub async fn close(self: Arc<Self>) {
        todo!()
    }

    /// The number of the program behind it, if there is one.
    pub fn process(&self) -> Option<u32> {
        todo!()
    }

    /// The bytes of memory that the program holds now.
    pub fn memory(&self) -> Option<u64> {
        todo!()
    }

    /// The end of what the program wrote to standard error.
    pub fn log(&self) -> String {
        todo!()
    }

    /// Requests under way.
    pub fn in_flight(&self) -> usize {
        todo!()
    }
}
