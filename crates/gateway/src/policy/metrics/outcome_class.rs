//! How a call ended, in the words that are counted.

use gantry_protocol::ResultObject;

use crate::contract::ERROR_META;
use crate::reply::{Outcome, Reply};

/// The types of error that are told apart. One that a tool made up counts as the tool's failure, so
/// that there are never more.
pub(super) const ERROR_TYPES: [&str; 14] = [
    TOOL_FAILED,
    "ValidationError",
    "FileNotFoundError",
    "AuthenticationError",
    "ResourceNotFound",
    "ApiLimitExceeded",
    "TimeoutError",
    "PermissionError",
    "TransportError",
    "ToolNotFoundError",
    "SchemaError",
    "SerializationError",
    "RegistrationError",
    "Cancelled",
];

const TOOL_FAILED: &str = "ToolExecutionError";

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeClass {
    /// Well.
    Good,
    /// With a result that tells of a failure of this type.
    ToolError(&'static str),
    /// With questions; the call goes on when the answers come.
    InputRequired,
    /// With an error of this type.
    Error(&'static str),
}

impl OutcomeClass {
    /// How a call with this outcome ended.
    pub fn of(outcome: &Outcome) -> Self {
        match (outcome, failure_type(outcome)) {
            (Ok(Reply::InputRequired(_)), _) => Self::InputRequired,
            (Ok(_), None) => Self::Good,
            (Ok(_), Some(error_type)) => Self::ToolError(error_type),
            (Err(_), error_type) => Self::Error(error_type.unwrap_or(TOOL_FAILED)),
        }
    }

    /// The type of the error, if it ended in one.
    pub fn error_type(self) -> Option<&'static str> {
        match self {
            Self::ToolError(error_type) | Self::Error(error_type) => Some(error_type),
            Self::Good | Self::InputRequired => None,
        }
    }
}

/// The type of the failure that a call ended in, one of a fixed list; none when it ended well.
fn failure_type(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Ok(Reply::Result(result)) => reported(result),
        Ok(_) => None,
        Err(error) => Some(known(error.kind.error_type().as_str())),
    }
}

/// What a result says of its own failure.
fn reported(result: &ResultObject) -> Option<&'static str> {
    if !result.is_error() {
        return None;
    }
    let detail = result.meta().and_then(|meta| meta.get(ERROR_META));
    let named = detail.and_then(|detail| detail.get("error_type")?.to_text());
    Some(known(named.as_deref().unwrap_or(TOOL_FAILED)))
}

fn known(name: &str) -> &'static str {
    ERROR_TYPES.into_iter().find(|known| *known == name).unwrap_or(TOOL_FAILED)
}
