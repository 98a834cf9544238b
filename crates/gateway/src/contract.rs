//! The strict tool contract beside MCP: a tool call `{tool_name, arguments}`, a tool result `{status,
//! data, error, explanation}`, and the error types that both share.
//!
//! Pure data, and lossless in both directions against `tools/call`.

mod error_type;
mod mcp_result;
mod tool_call;
mod tool_result;

use std::collections::HashSet;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonError, RawJson};

pub use self::error_type::{ErrorType, ValidationKind};
pub(crate) use self::mcp_result::{ERROR_META, states_no_data};
pub use self::tool_call::ToolCall;
pub use self::tool_result::ToolResult;

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

/// How a tool call came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is done.
    Success,
    /// It is not done.
    Failure,
    /// There was nothing to do.
    NoChangeNeeded,
    /// Some of it is done.
    PartialSuccess,
}

impl Status {
    /// The four of them.
    pub const ALL: [Self; 4] =
        [Self::Success, Self::Failure, Self::NoChangeNeeded, Self::PartialSuccess];

    /// Its name in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::NoChangeNeeded => "no_change_needed",
            Self::PartialSuccess => "partial_success",
        }
    }

    /// The status that a JSON string names.
    pub fn read(value: &RawJson) -> Option<Self> {
        let name = value.to_text()?;
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// The values of certain keys of an object, none for those that are missing or null.
type Known<const N: usize> = [Option<RawJson>; N];

/// Reads an object that may have `keys` and no other.
pub(crate) fn read_object<const N: usize>(
    what: &'static str,
    value: &RawJson,
    keys: [&'static str; N],
) -> Result<Known<N>, ContractError> {
    let (known, further) = read_open_object(what, value, keys)?;
    match further.as_ref().and_then(|further| further.members().next()) {
        None => Ok(known),
        Some(member) => {
            let key = member.key().chars().take(80).collect();
            let allowed = keys.map(|key| format!("`{key}`")).join(", ");
            Err(ContractError::UnknownKey { what, key, allowed })
        }
    }
}

/// Reads an object that may have other keys beside `keys`; those come back as an object, if there
/// are any.
pub(crate) fn read_open_object<const N: usize>(
    what: &'static str,
    value: &RawJson,
    keys: [&'static str; N],
) -> Result<(Known<N>, Option<RawJson>), ContractError> {
    if !value.is_object() {
        return Err(ContractError::NotAnObject(what));
    }
    let mut found = [const { None }; N];
    let (mut seen, mut further) = (HashSet::new(), ObjectWriter::new());
    for member in value.members() {
        let is_new = match keys.iter().position(|key| member.is(key)) {
            Some(index) => found[index].replace(member.value()).is_none(),
            None => {
                further = further.member(&member);
                seen.insert(member.key().into_owned())
            }
        };
        if !is_new {
            let key = member.key().chars().take(80).collect();
            return Err(ContractError::DoubledKey { what, key });
        }
    }
    let known = found.map(|value| value.filter(|value| !value.is_null()));
    Ok((known, (!seen.is_empty()).then(|| further.finish().compact())))
}

/// The version of the contract spoken here. What is written for one 1.x is good for all.
pub const CONTRACT_VERSION: &str = "1.0.0";

/// The HTTP header in which either side names it.
pub const CONTRACT_HEADER: &str = "gantry-contract";

const MAJOR: &str = "1";

/// Checks that a version which someone asks for, `1`, `1.2` or `1.2.3`, is compatible.
pub fn check_version(asked: &str) -> Result<(), ContractError> {
    let mut numbers = asked.split('.');
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let known = numbers.next() == Some(MAJOR);
    match known && asked.split('.').count() <= 3 && numbers.all(is_number) {
        true => Ok(()),
        false => Err(ContractError::Version(asked.chars().take(40).collect())),
    }
}

#[cfg(test)]
mod tests;
