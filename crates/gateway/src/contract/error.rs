//! Why something is not a tool call or a tool result.

use gantry_protocol::JsonError;

use super::version::CONTRACT_VERSION;

/// Why something is not a tool call or a tool result.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// It is no JSON at all.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is some other kind of value.
    #[error("{0} must be a JSON object")]
    NotAnObject(&'static str),
    /// A key that must be there is not.
    #[error("{what} must have `{key}`")]
    MissingKey {
        /// Where.
        what: &'static str,
        /// Which.
        key: &'static str,
    },
    /// A key that has no meaning.
    #[error("{what} may not have `{key}`; it has {allowed} and nothing else")]
    UnknownKey {
        /// Where.
        what: &'static str,
        /// Which.
        key: String,
        /// Those that do.
        allowed: String,
    },
    /// Two readers could act on different values.
    #[error("{what} has `{key}` more than once; send it once")]
    DoubledKey {
        /// Where.
        what: &'static str,
        /// Which.
        key: String,
    },
    /// A key has a value of the wrong kind.
    #[error("`{key}` must be {expected}")]
    WrongKind {
        /// Which.
        key: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// The name is not one that a tool call may have.
    #[error(
        "`tool_name` must be words of lower-case letters, digits and `_`, two or more, joined by \
         dots, like `text.count`; `{0}` is not"
    )]
    BadName(String),
    /// The status is none of the four.
    #[error(
        "`status` must be \"success\", \"failure\", \"no_change_needed\" or \"partial_success\"; \
         {0} is not"
    )]
    BadStatus(String),
    /// A failure does not say what failed.
    #[error("a tool result with the status \"failure\" must have `error`")]
    FailureWithoutError,
    /// A failure has a result all the same.
    #[error(
        "a tool result with the status \"failure\" may not have `data`; use \"partial_success\" \
         if some of it is done"
    )]
    FailureWithData,
    /// Another contract is asked for.
    #[error("the contract version `{0}` is not spoken here; ask for {CONTRACT_VERSION}")]
    Version(String),
}
