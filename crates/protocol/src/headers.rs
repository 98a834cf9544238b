//! HTTP headers that repeat parts of a message (2026-07-28), so that what stands between client
//! and server can act on a message without reading it.

mod annotation;
mod argument;
mod number;
mod value;

pub use annotation::{HeaderAnnotationError, HeaderKind, HeaderParam, argument_headers};
pub use argument::{argument_value, check_argument};
pub use value::{HeaderError, decode_value, encode_value};

/// Names the revision.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// Repeats `method`.
pub const METHOD: &str = "mcp-method";
/// Repeats the member of `params` that [`crate::Method::name_member`] names.
pub const NAME: &str = "mcp-name";
/// Begins the name of each header that repeats an argument.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// Names the session (2025-03-26 to 2025-11-25).
pub const SESSION_ID: &str = "mcp-session-id";
/// Names the last event seen on a stream that is taken up again (2025-03-26 to 2025-11-25).
pub const LAST_EVENT_ID: &str = "last-event-id";

#[cfg(test)]
mod tests;
