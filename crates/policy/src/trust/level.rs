//! How far the gateway, a server or a tool is trusted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far something is trusted. The order is that of trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing of it runs.
    Untrusted,
    /// It is in order: what destroys nothing runs.
    Verified,
    /// All of it runs.
    Trusted,
}

impl Level {
    /// All levels, the lowest first.
    pub const ALL: [Self; 3] = [Self::Untrusted, Self::Verified, Self::Trusted];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Verified => "verified",
            Self::Trusted => "trusted",
        }
    }

    /// The level of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
