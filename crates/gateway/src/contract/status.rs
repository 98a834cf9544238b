//! How a tool call came out.

use gantry_protocol::RawJson;

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
