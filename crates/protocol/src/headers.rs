//! HTTP headers that repeat parts of a message (2026-07-28), so that proxies between client and server
//! can act on a message without parsing it.

mod annotation;
mod argument;
mod value;

pub use annotation::{HeaderAnnotationError, HeaderKind, HeaderParam, argument_headers};
pub use argument::{argument_value, check_argument};
pub use value::{HeaderError, decode_value, encode_value};

/// The protocol revision.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// Repeats `method`.
pub const METHOD: &str = "mcp-method";
/// Repeats the member of `params` that [`crate::Method::name_member`] names.
pub const NAME: &str = "mcp-name";
/// Begins the name of each header that repeats an argument.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// The session id (2025-03-26 to 2025-11-25).
pub const SESSION_ID: &str = "mcp-session-id";
/// The last event received on a stream that is resumed (2025-03-26 to 2025-11-25).
pub const LAST_EVENT_ID: &str = "last-event-id";

#[cfg(test)]
mod tests;
