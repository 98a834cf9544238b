//! What becomes of a connection, and what follows it.

use crate::error::ClientError;

/// What the keeper does next.
pub(super) enum Next {
    /// Makes a connection.
    AtOnce,
    /// Waits until one is wanted.
    WhenWanted,
    /// Waits for a while, because of that.
    AfterWait(ClientError),
    /// Nothing.
    Never,
}

/// Why a connection is no longer kept.
pub(super) enum Over {
    /// It ended.
    Lost(String),
    /// It says more than it may, and goes on.
    Flooded(String),
    /// Nobody needed it.
    Idle,
    /// What was agreed on with the server does not hold any more.
    Outdated,
    /// Its time was up, or it is to be replaced.
    Replaced(&'static str),
    /// It is not to be kept any longer.
    Stopped,
}

impl Over {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::Lost(reason) | Self::Flooded(reason) => reason,
            Self::Idle => "nobody needed it",
            Self::Outdated => "the server does not speak as was agreed any more",
            Self::Replaced(reason) => reason,
            Self::Stopped => "it was stopped",
        }
    }
}
