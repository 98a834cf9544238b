//! What the calls of a batch come to.

use std::time::Duration;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use crate::error::{CallError, ErrorKind};
use crate::error_detail::ErrorDetail;
use crate::provider::{Outcome, Reply};

/// How far a call is.
#[derive(Debug)]
pub(super) enum State {
    Waiting,
    InFlight,
    Done(Box<BatchOutcome>),
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum BatchOutcome {
    /// It has a result, which may be that of a tool which failed.
    Result { result: RawJson, failed: bool, took: Duration },
    /// It has none.
    Error { error: ErrorDetail, took: Duration },
    /// It was not made.
    Skipped { reason: String },
}

impl State {
    /// Whether the call went well.
    pub(super) fn is_good(&self) -> bool {
        matches!(self, Self::Done(batch_outcome) if batch_outcome.is_good())
    }

    /// The result of a call that went well.
    pub(super) fn result(&self) -> Option<RawJson> {
        match self {
            Self::Done(batch_outcome) => match &**batch_outcome {
                BatchOutcome::Result { result, failed: false, .. } => Some(result.clone()),
                _ => None,
            },
            Self::Waiting | Self::InFlight => None,
        }
    }
}

impl BatchOutcome {
    /// The end of a call that was made.
    pub(super) fn of(outcome: Outcome, took: Duration) -> Self {
        match outcome {
            Ok(Reply::Result(result)) => {
                let failed = result.is_error();
                Self::Result { result: result.into_raw(), failed, took }
            }
            Ok(_) => {
                let text = "the provider gave something that is no result";
                let error = CallError::new(ErrorKind::Internal, text);
                Self::Error { error: ErrorDetail::from(&error), took }
            }
            Err(error) => Self::Error { error: ErrorDetail::from(&error), took },
        }
    }

    /// The end of a call that could not be made.
    pub(super) fn not_started(error: &CallError) -> Self {
        Self::Error { error: ErrorDetail::from(error), took: Duration::ZERO }
    }

    /// Bytes that its result holds.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Result { result, .. } => result.bytes().len(),
            Self::Error { .. } | Self::Skipped { .. } => 0,
        }
    }

    /// The same call without its result, for which there is no room.
    pub(super) fn too_large(self, limit: usize) -> Self {
        let text = format!(
            "the call was made, but the results of the batch are larger than {limit} bytes \
             together; make fewer calls in one batch"
        );
        let error = CallError::new(ErrorKind::LimitExceeded { retry_after: None }, text);
        match self {
            Self::Result { took, .. } => Self::Error { error: ErrorDetail::from(&error), took },
            other => other,
        }
    }

    pub(super) fn is_good(&self) -> bool {
        matches!(self, Self::Result { failed: false, .. })
    }

    /// In a word.
    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::Result { failed: false, .. } => "ok",
            Self::Result { .. } | Self::Error { .. } => "error",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// The entry in the result of the batch.
    pub(super) fn to_json(&self, id: &str) -> RawJson {
        let entry = ObjectWriter::new().value("id", id).value("status", self.status());
        let milliseconds = |took: &Duration| took.as_secs_f64() * 1000.0;
        match self {
            Self::Result { result, took, .. } => {
                entry.value("tookMs", &milliseconds(took)).raw("result", result)
            }
            Self::Error { error, took } => {
                entry.value("tookMs", &milliseconds(took)).value("error", error)
            }
            Self::Skipped { reason } => entry.value("reason", reason),
        }
        .finish()
    }
}
