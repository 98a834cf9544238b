//! Call errors: kind, blame, whether a retry can help, a public text for the client and a private one for the log.
//!
//! Listeners map kinds to JSON-RPC codes and HTTP statuses; nothing here knows either.

use std::time::Duration;

use gantry_protocol::RawJson;

use crate::contract::{ErrorType, ValidationKind};

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nobody serves the method.
    MethodNotFound,
    /// The parameters are wrong, or name a prompt that is not there.
    InvalidParams,
    /// No tool has that name.
    ToolNotFound,
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
    /// Policy says no to the request.
    Refused,
    /// What the caller may know of is not run: a rule or the scope of its token denies it, or it is
    /// not trusted or not approved. A model should read why, and what to do, so that this is a
    /// result of the tool.
    Blocked,
    /// The answers came for a call that is no longer waiting for them.
    InputLost,
    /// The server is stopping.
    ShuttingDown,
    /// What serves the call cannot be reached, or went away.
    Unavailable,
    /// The server that serves the call refused the gateway's credentials.
    CredentialsRefused {
        /// The HTTP status: 401 or 403.
        status: u16,
    },
    /// The server that serves the call limits its rate (HTTP 429). A limit of the gateway's own is
    /// [`Self::LimitExceeded`].
    UpstreamLimit {
        /// When the server wants to be called again.
        retry_after: Option<Duration>,
    },
    /// What serves the call answered in a way that cannot be understood.
    Malformed,
    /// A handler failed with a code of its own.
    Handler {
        /// Its code.
        code: i64,
    },
    /// The tool or provider broke its contract.
    ToolFailed,
    /// What the tool gave is no JSON.
    BadOutput,
    /// What the tool gave does not fit its own output schema.
    BrokenPromise,
    /// What the tool gave is meant to be a tool result of the contract, and breaks its rules.
    BrokenContract,
    /// A fault of the gateway.
    Internal,
}

impl ErrorKind {
    /// What the contract calls it.
    pub fn error_type(&self) -> ErrorType {
        match self {
            Self::MethodNotFound
            | Self::InvalidParams
            | Self::InvalidArguments
            | Self::BrokenPromise
            | Self::BrokenContract => ErrorType::ValidationError,
            Self::ToolNotFound => ErrorType::ToolNotFoundError,
            Self::ResourceNotFound => ErrorType::ResourceNotFound,
            Self::LimitExceeded { .. } | Self::UpstreamLimit { .. } => ErrorType::ApiLimitExceeded,
            Self::CredentialsRefused { .. } => ErrorType::AuthenticationError,
            Self::Timeout => ErrorType::TimeoutError,
            Self::Cancelled => ErrorType::Cancelled,
            Self::Refused | Self::Blocked => ErrorType::PermissionError,
            Self::InputLost
            | Self::ShuttingDown
            | Self::Unavailable
            | Self::Malformed
            | Self::Internal => ErrorType::TransportError,
            Self::MissingCapability { .. } | Self::Handler { .. } | Self::ToolFailed => {
                ErrorType::ToolExecutionError
            }
            Self::BadOutput => ErrorType::SerializationError,
        }
    }

    /// Which of several causes a `ValidationError` has, where it has its own name.
    pub fn validation(&self) -> Option<ValidationKind> {
        match self {
            Self::InvalidArguments => Some(ValidationKind::Arguments),
            Self::BrokenPromise => Some(ValidationKind::OutputSchema),
            Self::BrokenContract => Some(ValidationKind::ResultContract),
            _ => None,
        }
    }

    /// Whether it is a policy that says no.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused | Self::Blocked | Self::LimitExceeded { .. })
    }

    /// Whether it says, before a provider was reached, that a call is refused or for what does not
    /// exist.
    pub(crate) fn is_refused_request(&self) -> bool {
        self.is_refusal()
            || matches!(
                self,
                Self::MethodNotFound
                    | Self::InvalidParams
                    | Self::ToolNotFound
                    | Self::ResourceNotFound
            )
    }

    /// Whether it is a failure of a tool, which a model should read, rather than of the request.
    pub(crate) fn is_of_tool(&self) -> bool {
        matches!(
            self,
            Self::InvalidArguments
                | Self::Blocked
                | Self::Timeout
                | Self::Unavailable
                | Self::CredentialsRefused { .. }
                | Self::UpstreamLimit { .. }
                | Self::Malformed
                | Self::ToolFailed
                | Self::BadOutput
                | Self::BrokenPromise
                | Self::BrokenContract
        )
    }
}

/// Whose fault an error is.
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

    /// A task is wanted of a tool that does not run as one.
    pub fn no_task() -> Self {
        let text = "this tool does not run as a task; call it without `task`";
        Self::new(ErrorKind::MethodNotFound, text)
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
            ErrorKind::Timeout
            | ErrorKind::Unavailable
            | ErrorKind::CredentialsRefused { .. }
            | ErrorKind::UpstreamLimit { .. }
            | ErrorKind::Malformed
            | ErrorKind::ToolFailed
            | ErrorKind::BadOutput
            | ErrorKind::BrokenPromise
            | ErrorKind::BrokenContract
            | ErrorKind::Handler { .. } => Blame::Tool,
            ErrorKind::ShuttingDown | ErrorKind::Internal => Blame::Gateway,
            _ => Blame::Caller,
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::LimitExceeded { .. }
                | ErrorKind::UpstreamLimit { .. }
                | ErrorKind::Timeout
                | ErrorKind::Unavailable
                | ErrorKind::ShuttingDown
        )
    }
}
