//! Why a request failed.

use std::fmt;
use std::time::Duration;

use gantry_protocol::RpcError;
use http::StatusCode;

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The server returned a JSON-RPC error.
    #[error("{0}")]
    Answered(RpcError),
    /// There is no connection, and the request was not sent.
    #[error("{0}")]
    Unreachable(String),
    /// The server refused the connection, and the request was not sent.
    #[error("{0}")]
    ConnectionRefused(String),
    /// The connection ended after the request was sent: the server may have done its work.
    #[error("{0}")]
    Lost(String),
    /// The same, before a byte of the response came.
    #[error("{0}")]
    Reset(String),
    /// The server answered with an HTTP status that is an error, and did not answer the request.
    #[error("{0}")]
    Http(Box<HttpError>),
    /// No response within the timeout.
    #[error("no answer came within {0:?}")]
    Timeout(Duration),
    /// The response is invalid.
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
    /// The session expired, and the server did not run the request.
    #[error("the session expired at the server")]
    SessionLost,
    /// The server changed its era or revision, refused the request for that, and did not run it.
    #[error("the server changed its protocol era or revision: {0}")]
    Outdated(String),
    /// Too many requests are in flight.
    #[error("too many requests in flight (limit {0}); raise `in_flight` or retry later")]
    Busy(usize),
}

/// An HTTP status that is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    /// The status.
    pub status: u16,
    /// The header `Retry-After`.
    pub retry_after: Option<Duration>,
    /// The error of the protocol in the body of a status that asks for another try (429, 502, 503).
    pub error: Option<RpcError>,
    /// Whether the server refused to be connected, so that the request was not sent.
    pub is_unsent: bool,
    /// How often the request was made.
    pub attempts: u32,
}

impl HttpError {
    /// A status with which the server refused to be connected.
    pub(crate) fn unsent(status: u16, retry_after: Option<Duration>) -> Self {
        Self { status, retry_after, error: None, is_unsent: true, attempts: 1 }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = StatusCode::from_u16(self.status).ok();
        let reason = status.and_then(|status| status.canonical_reason());
        let stage = if self.is_unsent { "it could not be connected: " } else { "" };
        write!(formatter, "{stage}the server answered with HTTP status {}", self.status)?;
        reason.map_or(Ok(()), |reason| write!(formatter, " ({reason})"))?;
        self.error.as_ref().map_or(Ok(()), |error| write!(formatter, ": {error}"))?;
        match self.attempts {
            ..=1 => Ok(()),
            attempts => write!(formatter, " ({attempts} attempts)"),
        }
    }
}

impl ClientError {
    /// Whether the server has certainly not begun the request.
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::Http(refusal) => refusal.is_unsent,
            Self::Unauthorized { .. } | Self::Busy(_) => true,
            _ => self.is_of_connection(),
        }
    }

    /// Whether another connection would help, and the server has certainly not begun the request.
    pub(crate) fn is_of_connection(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::ConnectionRefused(_)
                | Self::SessionLost
                | Self::Outdated(_)
        )
    }

    /// The same error with the number of attempts.
    pub(crate) fn after(self, attempts: u32) -> Self {
        match self {
            error if attempts < 2 => error,
            Self::ConnectionRefused(text) => {
                Self::ConnectionRefused(format!("{text} ({attempts} attempts)"))
            }
            Self::Reset(text) => Self::Reset(format!("{text} ({attempts} attempts)")),
            Self::Http(error) => Self::Http(Box::new(HttpError { attempts, ..*error })),
            error => error,
        }
    }
}
