//! The error for an exceeded quota: which limit, which setting, and what to do.

use std::fmt;

use gantry_gateway::{CallError, ErrorKind};
use gantry_protocol::{RpcError, code};

use crate::quota::Resource;

/// A quota is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuotaExceeded {
    pub(super) resource: Resource,
    /// The limit that was reached.
    pub(super) limit: usize,
    pub(super) bound: Bound,
}

/// Which of the limits was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// That of all principals together.
    Total,
    /// The percentage of the total that one principal may hold.
    Share { total: usize, percent: usize },
    /// The setting for one principal.
    PerPrincipal,
}

impl QuotaExceeded {
    /// Whether it is the limit of one principal, which can release something itself.
    pub(crate) fn is_of_principal(&self) -> bool {
        self.bound != Bound::Total
    }
}

impl Resource {
    /// The key in `clientLimits` of the configuration.
    fn setting(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Streams => "streams",
            Self::Watched => "watched",
            Self::Parked => "parked",
            Self::Tasks => "tasks",
            Self::Held => "held",
            Self::Replay => "replay",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Sessions => "active sessions",
            Self::Streams => "open event streams",
            Self::Watched => "resource subscriptions",
            Self::Parked => "calls waiting for answers",
            Self::Tasks => "running tasks",
            Self::Held => "bytes of sessions, subscriptions, waiting calls and tasks",
            Self::Replay => "bytes of events kept for reconnecting clients",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Sessions => "end one with DELETE, or retry later",
            Self::Streams => "close one, or retry later",
            Self::Watched => "unsubscribe from one first",
            Self::Parked => "answer one, or wait until it expires",
            Self::Tasks => "cancel one, or wait for its end",
            Self::Held => "end or answer what is open, or retry later",
            Self::Replay => "read the open streams, or retry later",
        }
    }
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, limit, bound } = self;
        let (setting, noun) = (resource.setting(), resource.noun());
        let who = match bound {
            Bound::Total => "the gateway",
            Bound::Share { .. } | Bound::PerPrincipal => "this principal",
        };
        write!(formatter, "{who} has reached its limit of {limit} {noun} (in `clientLimits`, ")?;
        match bound {
            Bound::Total => write!(formatter, "`{setting}`")?,
            Bound::Share { total, percent } => {
                write!(formatter, "`share` {percent}% of `{setting}` {total}")?;
            }
            Bound::PerPrincipal => write!(formatter, "`{setting}PerPrincipal`")?,
        }
        write!(formatter, "); {}", resource.advice())
    }
}

impl From<QuotaExceeded> for CallError {
    fn from(exceeded: QuotaExceeded) -> Self {
        Self::new(ErrorKind::LimitExceeded { retry_after: None }, exceeded.to_string())
    }
}

impl From<QuotaExceeded> for RpcError {
    fn from(exceeded: QuotaExceeded) -> Self {
        Self::new(code::LIMIT_EXCEEDED, exceeded.to_string())
    }
}
