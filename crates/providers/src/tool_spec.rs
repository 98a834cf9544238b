//! Tool specification documents, `MCP_TOOL_SPECIFICATION.md`: eight sections in Markdown that
//! describe a tool for people, and from which it can be registered.
//!
//! A document is read into a manifest ([`crate::scripts::manifest`]).

mod check;
mod document;
mod markdown;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use check::check;
pub use read::read;
pub use write::{describe, write};

/// What a document is called, alone or after a name and a dot.
pub const FILE_NAME: &str = "MCP_TOOL_SPECIFICATION.md";

/// The most bytes of a document that are looked at.
const LARGEST: usize = 1024 * 1024;

/// How a document says that no example of a call can be given.
const NO_CALL: &str = "no value could be made up for `arguments`";

/// Whether a file of this name is a specification document.
///
/// ```
/// use gantry_providers::tool_spec::is_document;
/// assert!(is_document("MCP_TOOL_SPECIFICATION.md"));
/// assert!(is_document("count.MCP_TOOL_SPECIFICATION.md"));
/// assert!(!is_document("README.md"));
/// ```
pub fn is_document(file_name: &str) -> bool {
    file_name.strip_suffix(FILE_NAME).is_some_and(|stem| stem.is_empty() || stem.ends_with('.'))
}
