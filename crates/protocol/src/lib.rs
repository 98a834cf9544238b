//! The Model Context Protocol as pure data: no IO, no clock.
//!
//! A message is an envelope over raw JSON. The few members that matter are read, those few are
//! edited in place, and everything else stays as it came, byte for byte.

pub mod capability;
pub mod compat;
pub mod error;
pub mod headers;
pub mod json;
pub mod jsonrpc;
pub mod level;
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
pub use level::Level;
pub use meta::RequestMeta;
pub use method::Method;
pub use params::ParamsHead;
pub use redact::Redactor;
pub use result::ResultObject;
pub use revision::Revision;
pub use secret::Secret;
pub use trace::{Trace, TraceParent};
