//! Why a request came to nothing.

use std::time::Duration;

use gantry_protocol::RpcError;

/// Why a request came to nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The server answered with an error.
    #[error("{0}")]
    Answered(RpcError),
    /// There is no connection, and the request was not sent.
    #[error("{0}")]
    Unreachable(String),
    /// The connection ended after the request was sent: the server may have done its work.
    #[error("{0}")]
    Lost(String),
    /// Nothing was heard for too long.
    #[error("no answer came within {0:?}")]
    Timeout(Duration),
    /// What the server said cannot be understood.
    #[error("{0}")]
    Malformed(String),
    /// The server wants to know who asks (HTTP 401 or 403).
    #[error("the server refused the credentials with HTTP status {status}")]
    Unauthorized {
        /// The status.
        status: u16,
        /// The header `WWW-Authenticate`.
        challenge: Option<String>,
    },
    /// The server has forgotten the session, and did not look at the request.
    #[error("the server has forgotten the session")]
    SessionLost,
    /// What was agreed on with the server does not hold any more: it speaks another era or revision
    /// now, refused the request for that, and did not run it.
    #[error("the server does not speak as was agreed any more: {0}")]
    Outdated(String),
    /// More requests are under way than are allowed.
    #[error("{0} requests are under way already; raise `in_flight`, or wait")]
    Busy(usize),
}

impl ClientError {
    /// Whether the server has surely not begun with the request.
    pub fn is_unsent(&self) -> bool {
        self.is_of_connection() || matches!(self, Self::Unauthorized { .. } | Self::Busy(_))
    }

    /// Whether another connection would help, and the server has surely not begun with the request.
    pub(crate) fn is_of_connection(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::SessionLost | Self::Outdated(_))
    }
}
