//! JSON-RPC 2.0: envelopes read from raw text, and written around raw text.

mod envelope;
mod id;
mod write;

pub use envelope::{
    Batch, BatchTooLong, Incoming, Malformed, Message, Notification, Request, Response, decode,
};
pub use id::Id;
pub use write::{Reply, error, error_without_id, notification, request, result};
