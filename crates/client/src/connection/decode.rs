//! Reading what a server says. It is not sorted here, so it can be done on any thread.

use bytes::Bytes;
use gantry_protocol::jsonrpc::{self, Batch, Incoming, Malformed, Message};
use gantry_protocol::{JsonLimits, RawJson, Revision};
use gantry_transport::{Offload, offload};

use super::connection_inner::ConnectionInner;

/// What a text says.
pub(super) struct Decoded {
    pub(super) text: Bytes,
    pub(super) content: Content,
}

pub(super) enum Content {
    Single(Message),
    /// The messages of an array, where each may be none.
    Batch(Vec<Result<Message, Skipped>>),
    /// It is no message.
    Skipped(Skipped),
    /// It is a batch, and why it is not read.
    Refused(String),
}

/// What is no message.
pub(super) struct Skipped {
    pub(super) malformed: Malformed,
    /// Its value, where an answer may be meant.
    pub(super) value: Option<RawJson>,
}

impl ConnectionInner {
    /// Reads a text.
    pub(super) fn decode(&self, text: Bytes) -> Offload<Decoded> {
        let (limits, batch, revision) =
            (self.settings.message, self.settings.batch, self.revision());
        offload(text.len(), move || {
            let content = content(&text, limits, |messages| elements(messages, batch, revision));
            Decoded { text, content }
        })
    }
}

fn content(text: &Bytes, limits: JsonLimits, elements: impl FnOnce(&Batch) -> Content) -> Content {
    match jsonrpc::decode(text.clone(), limits) {
        Ok(Incoming::Single(message)) => Content::Single(message),
        Ok(Incoming::Batch(batch)) => elements(&batch),
        Err(malformed) => {
            // Parsed again, but only once, and only where an answer may be meant.
            let value = malformed.id().and_then(|_| RawJson::parse(text.clone(), limits).ok());
            Content::Skipped(Skipped { malformed, value })
        }
    }
}

/// The messages of an array, where the revision has such a thing.
fn elements(batch: &Batch, most: usize, revision: Option<Revision>) -> Content {
    if !revision.is_some_and(Revision::has_batches) {
        return Content::Refused("this revision has no batches".to_owned());
    }
    match batch.elements(most) {
        Ok(elements) => Content::Batch(elements.into_iter().map(element).collect()),
        Err(error) => Content::Refused(error.to_string()),
    }
}

fn element(value: RawJson) -> Result<Message, Skipped> {
    Message::read(&value).map_err(|malformed| Skipped { malformed, value: Some(value) })
}
