//! How a task ended.

use gantry_gateway::{CallError, ErrorKind, Outcome, Reply};
use gantry_protocol::{RawJson, RpcError};

/// How a task ended.
#[derive(Debug, Clone)]
pub(in crate::era) enum End {
    /// With a result, which may say that the tool failed.
    Result(RawJson),
    Error(RpcError),
    Cancelled,
}

impl End {
    /// What its call came to.
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Result(result) => Ok(Reply::result(result.clone())),
            Self::Error(error) => Err(failed(error.clone())),
            Self::Cancelled => Err(CallError::new(ErrorKind::Cancelled, "the task was cancelled")),
        }
    }
}

/// The failure of a call that ended with this error.
pub(in crate::era) fn failed(error: RpcError) -> CallError {
    let RpcError { code, message, data } = error;
    CallError { data, ..CallError::new(ErrorKind::Handler { code }, message) }
}
