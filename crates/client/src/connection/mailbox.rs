//! What waits to be heard by one call. Progress and log messages that find no room are left out;
//! an answer always finds room.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use gantry_protocol::{Id, Level, Method, RawJson};
use tokio::sync::Notify;

/// A request of the server.
#[derive(Debug, Clone)]
pub(super) struct ServerRequest {
    pub(super) id: Id,
    pub(super) method: Method,
    pub(super) params: Option<RawJson>,
}

/// What a call hears.
#[derive(Debug)]
pub(super) enum Inbound {
    /// The result, or the error object.
    Answer(Result<RawJson, RawJson>),
    /// The params, without the token.
    Progress(RawJson),
    Log(Level, RawJson),
    InputRequest(ServerRequest),
    /// The server no longer wants an answer to a question, or ends what it sent on its own.
    Withdrawn(Id),
    /// A subscription is in force.
    Acknowledged,
    /// The answer came and is no answer.
    Malformed(String),
    /// No answer will come.
    Lost(String),
}

/// The queue of one call, with one reader.
#[derive(Debug)]
pub(super) struct Mailbox {
    queue: Mutex<VecDeque<Inbound>>,
    room: usize,
    news: Notify,
}

impl Mailbox {
    pub(super) fn new(room: usize) -> Self {
        Self { queue: Mutex::default(), room, news: Notify::new() }
    }

    /// Adds something if there is room; says whether there was.
    pub(super) fn offer(&self, heard: Inbound) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = queue.len() < self.room;
        if fits {
            queue.push_back(heard);
            self.news.notify_one();
        }
        fits
    }

    /// Adds something that comes once in a call's life.
    pub(super) fn put(&self, heard: Inbound) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(heard);
        self.news.notify_one();
    }

    /// The next thing to hear. It may be dropped while it waits; nothing is lost.
    pub(super) async fn next(&self) -> Inbound {
        loop {
            let news = self.news.notified();
            if let Some(heard) = self.take() {
                return heard;
            }
            news.await;
        }
    }

    fn take(&self) -> Option<Inbound> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
