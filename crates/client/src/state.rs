//! How a client stands to its server.

use std::time::Duration;

/// How a client stands to its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Known, not connected, and nothing wrong.
    Configured,
    /// Being connected.
    Starting,
    /// Connected.
    Ready,
    /// Connected, but something does not work.
    Degraded(String),
    /// Could not be connected, or was lost; tried again later.
    BackingOff {
        /// What went wrong.
        reason: String,
        /// How long until the next try.
        wait: Duration,
    },
    /// Not to be used.
    Disabled(String),
}

impl State {
    /// Its name, for tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded(_) => "degraded",
            Self::BackingOff { .. } => "backing off",
            Self::Disabled(_) => "disabled",
        }
    }

    /// Why it is so, if there is more to say than the name.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Degraded(reason) | Self::BackingOff { reason, .. } | Self::Disabled(reason) => {
                Some(reason)
            }
            _ => None,
        }
    }
}
