//! Failures of a tool as results that a model can read and act on.

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use serde::Serialize;

use crate::error::{CallError, ErrorKind};

/// The `_meta` key under which a failed tool result carries its detail.
const ERROR_META: &str = "gantry/error";

/// What went wrong inside a tool call, in the standard vocabulary.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorDetail {
    /// One of the standard types.
    pub error_type: &'static str,
    /// For people and models.
    pub error_message: String,
    /// For programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_details: Option<RawJson>,
}

impl ErrorDetail {
    /// The detail of a failure that belongs into a tool's result; none for those that are
    /// failures of the request itself.
    pub fn of(error: &CallError) -> Option<Self> {
        let error_type = match error.kind {
            ErrorKind::InvalidArguments => "ValidationError",
            ErrorKind::Timeout => "TimeoutError",
            ErrorKind::ToolFailed => "ToolExecutionError",
            _ => return None,
        };
        let error_message = error.public.clone();
        Some(Self { error_type, error_message, error_details: error.data.clone() })
    }

    /// A tool result that reports this failure.
    pub fn to_result(&self) -> RawJson {
        let text = ObjectWriter::new().value("type", "text").value("text", &self.error_message);
        ObjectWriter::new()
            .array("content", [&text.finish()])
            .value("isError", &true)
            .raw("_meta", &ObjectWriter::new().value(ERROR_META, self).finish())
            .finish()
    }
}
