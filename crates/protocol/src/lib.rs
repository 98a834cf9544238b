//! The Model Context Protocol as pure data: no IO, no clock.
//!
//! A message is a JSON-RPC envelope over raw JSON. The few members that the gateway needs are read, and
//! those few are edited in place. Everything else passes through byte for byte: key order, the text of
//! numbers, vendor members, extensions of later revisions.

pub mod capability;
pub mod compat;
pub mod error;
pub mod headers;
pub mod json;
pub mod jsonrpc;
pub mod meta;
pub mod method;
pub mod params;
pub mod redact;
pub mod result;
pub mod revision;
mod secret;
pub mod timestamp;
pub mod trace;

pub use capability::ClientCapabilities;
pub use error::{RpcError, code};
pub use json::{JsonError, JsonLimits, RawJson};
pub use jsonrpc::{Id, Incoming, Malformed, Message, Notification, Request, Response};
pub use meta::{Level, RequestMeta};
pub use method::Method;
pub use params::ParamsHead;
pub use redact::Redactor;
pub use result::ResultObject;
pub use revision::Revision;
pub use secret::Secret;
pub use trace::{Trace, TraceParent};
