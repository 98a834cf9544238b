//! Why a call failed: kind, blame, whether to try again, and what to say to whom.
//!
//! Doors map kinds to codes and statuses; nothing in here knows either.

use std::time::Duration;

use gantry_protocol::RawJson;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nobody serves the method.
    MethodNotFound,
    /// The parameters are wrong, or name a tool or prompt that is not there.
    InvalidParams,
    /// The arguments of a tool do not fit its schema.
    InvalidArguments,
    /// No resource has that URI.
    ResourceNotFound,
    /// The call needs what the client did not declare.
    MissingCapability {
        /// The capabilities object that would have sufficed.
        required: RawJson,
    },
    /// A limit is reached.
    LimitExceeded {
        /// When it is worth trying again.
        retry_after: Option<Duration>,
    },
    /// It took too long.
    Timeout,
    /// The client gave up.
    Cancelled,
    /// Policy says no.
    Refused,
    /// The answers came for a call that is no longer waiting for them.
    InputLost,
    /// The server is stopping.
    ShuttingDown,
    /// A handler failed with a code of its own.
    Handler {
        /// Its code.
        code: i64,
    },
    /// The tool or provider broke its contract.
    ToolFailed,
    /// A fault of the gateway.
    Internal,
}

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// Who called.
    Caller,
    /// What was called.
    Tool,
    /// What stands between.
    Gateway,
}

/// A failed call.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{public}")]
pub struct CallError {
    /// What went wrong.
    pub kind: ErrorKind,
    /// For the client: what happened, where, and what to do next.
    pub public: String,
    /// For the log only.
    pub private: Option<String>,
    /// Details for the client's program.
    pub data: Option<RawJson>,
}

impl CallError {
    /// An error with a text for the client.
    pub fn new(kind: ErrorKind, public: impl Into<String>) -> Self {
        Self { kind, public: public.into(), private: None, data: None }
    }

    /// The parameters are wrong.
    pub fn invalid_params(public: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidParams, public)
    }

    /// Adds what only the log may say.
    #[must_use]
    pub fn with_private(mut self, private: impl Into<String>) -> Self {
        self.private = Some(private.into());
        self
    }

    /// Adds details for programs.
    #[must_use]
    pub fn with_data(mut self, data: RawJson) -> Self {
        self.data = Some(data);
        self
    }

    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self.kind {
            ErrorKind::Timeout | ErrorKind::ToolFailed | ErrorKind::Handler { .. } => Blame::Tool,
            ErrorKind::ShuttingDown | ErrorKind::Internal => Blame::Gateway,
            _ => Blame::Caller,
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::LimitExceeded { .. } | ErrorKind::Timeout | ErrorKind::ShuttingDown
        )
    }
}
