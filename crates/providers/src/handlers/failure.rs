//! How a handler fails: in the result, where the model sees it, or with an error code of its own.

use gantry_gateway::contract::ErrorType;
use gantry_gateway::{
    CallError, ErrorDetail, ErrorKind, InputRequestError, Outcome, Reply, Target,
};
use gantry_protocol::RawJson;

/// Why a handler failed.
#[derive(Debug)]
pub enum Failure {
    /// The work failed. A tool's client gets a result marked as an error, which its model reads.
    Work(String),
    /// The request fails with a code and a reason of the handler's own.
    Request {
        /// The JSON-RPC code.
        code: i64,
        /// The reason.
        message: String,
        /// Details for programs.
        data: Option<RawJson>,
    },
    /// Something that the gateway has words for.
    Call(CallError),
}

impl Failure {
    /// The work failed for this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self::Work(reason.into())
    }

    /// The request fails with this code and reason.
    pub fn with_code(code: i64, message: impl Into<String>) -> Self {
        Self::Request { code, message: message.into(), data: None }
    }

    /// There is no such resource.
    pub fn resource_not_found(uri: &str) -> Self {
        let data = gantry_protocol::json::ObjectWriter::new().value("uri", uri).finish();
        let text = format!("there is no resource `{uri}`");
        Self::Call(CallError::new(ErrorKind::ResourceNotFound, text).with_data(data))
    }

    /// The end of a tool call that failed so.
    pub(super) fn into_tool_outcome(self) -> Outcome {
        match self {
            Self::Work(reason) => {
                let detail = ErrorDetail::new(ErrorType::ToolExecutionError, reason);
                Ok(Reply::result(detail.to_result()))
            }
            failure => failure.into_outcome(),
        }
    }

    /// The end of any other call that failed so.
    pub(super) fn into_outcome(self) -> Outcome {
        Err(match self {
            Self::Work(reason) => CallError::new(ErrorKind::Internal, reason),
            Self::Request { code, message, data } => {
                let error = CallError::new(ErrorKind::Handler { code }, message);
                CallError { data, ..error }
            }
            Self::Call(error) => error,
        })
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Self::Work(text)
    }
}

impl Failure {
    /// No answer came, which says more than a failed piece of work.
    pub(super) fn unanswered(error: InputRequestError) -> Self {
        Self::Call(error.into())
    }
}

/// The error for something that was removed while the call was on its way.
pub(super) fn removed(target: &Target) -> CallError {
    let kind = match target {
        Target::Tool(_) => ErrorKind::ToolNotFound,
        _ => ErrorKind::InvalidParams,
    };
    CallError::new(kind, format!("`{}` has just been removed", target.name()))
}
