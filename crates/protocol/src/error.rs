//! JSON-RPC errors and the table of their codes.

use crate::json::{ObjectWriter, RawJson};

/// The codes, each with the one meaning it has here.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The envelope is wrong.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Nobody serves the method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are wrong, or name something that is not there.
    pub const INVALID_PARAMS: i64 = -32602;
    /// A fault of ours.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A resource is not there (up to 2025-11-25; later revisions use [`INVALID_PARAMS`]).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// An HTTP header is missing, malformed, or differs from the body (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The call needs a capability that the client did not declare (2026-07-28).
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// The revision is not served here (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// The user must visit a URL first (2025-11-25 only).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// Refused because a limit is reached. In the range the newest revision leaves to applications.
    pub const LIMIT_EXCEEDED: i64 = -32010;
    /// Not finished in time.
    pub const TIMEOUT: i64 = -32011;
    /// Refused by policy.
    pub const REFUSED: i64 = -32012;
    /// The server is stopping.
    pub const SHUTTING_DOWN: i64 = -32013;
    /// The call was cancelled.
    pub const CANCELLED: i64 = -32014;
}

/// An error object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// One of [`code`], or a handler's own.
    pub code: i64,
    /// For people.
    pub message: String,
    /// For programs.
    pub data: Option<RawJson>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data(mut self, data: RawJson) -> Self {
        self.data = Some(data);
        self
    }

    /// The text is not JSON.
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(code::PARSE_ERROR, message)
    }

    /// The envelope is wrong.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Nobody serves the method.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("the method `{method}` is not served here"))
    }

    /// The parameters are wrong.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// A header disagrees with the body.
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(code::HEADER_MISMATCH, message)
    }

    /// The error object as JSON.
    pub fn to_json(&self) -> RawJson {
        ObjectWriter::new()
            .value("code", &self.code)
            .value("message", &self.message)
            .raw_some("data", self.data.as_ref())
            .finish()
    }
}
