//! An MCP client for every protocol revision over every transport, with one API.
//!
//! Requests and responses here always have the form of the newest revision. For a legacy server
//! (one that opens with `initialize`) they are lowered and lifted on the way. A [`Connection`] is
//! one connection to a server; a [`Client`] reconnects with backoff, retries what is safe to retry,
//! and caches lists.

mod backoff;
mod client;
mod connection;
mod error;
mod event;
mod http;
mod peer;
mod request;
mod request_handler;
mod settings;
mod target;
mod tool;
mod transport;

pub use backoff::Backoff;
pub use client::{Client, Health};
pub use connection::Connection;
pub use error::{ClientError, HttpError};
pub use event::{ChangedList, Event, State};
pub use gantry_protocol::Secret;
pub use http::Post;
pub use peer::Peer;
pub use request::{Answer, InputRequired, List, Listed, Request, TaskRequest};
pub use request_handler::{InputRefusal, InputRequest, NoopHandler, RequestHandler};
pub use settings::{Era, FloodLimits, ListLimits, RetrySettings, Settings, Start};
pub use target::{Endpoint, HttpKind, Target, UnixSocket};
pub use tool::Tool;

/// Entry points for fuzz targets.
#[cfg(fuzzing)]
pub mod fuzzing {
    use crate::http::Head;

    /// Reads the head of a response: its length, and what it says, written out; none while it is not
    /// whole. The error says why it is refused.
    pub fn response_head(bytes: &[u8]) -> Result<Option<(usize, String)>, String> {
        Ok(Head::read(bytes)?.map(|(length, head)| (length, format!("{head:?}"))))
    }
}
