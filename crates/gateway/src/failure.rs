//! Failures of a tool as results that a model can read and act on.

use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use serde::Serialize;

use crate::contract::{ContractError, ErrorType, ToolResult, read_object};
use crate::error::{CallError, ErrorKind};

const WHAT: &str = "an error detail";
const ADVICE: &str = "advice";

/// What went wrong inside a tool call, in the standard vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorDetail {
    /// One of the standard types, or a tool's own.
    pub error_type: ErrorType,
    /// For people and models.
    pub error_message: String,
    /// For programs. Where the gateway makes it, an object whose `advice` says what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_details: Option<RawJson>,
}

impl ErrorDetail {
    /// A failure of that type, with its advice.
    pub fn new(error_type: ErrorType, error_message: String) -> Self {
        let advice = ObjectWriter::new().value(ADVICE, error_type.advice()).finish();
        Self { error_type, error_message, error_details: Some(advice) }
    }

    /// The same with details beside the advice.
    #[must_use]
    pub fn with_details(self, details: &RawJson) -> Self {
        let details = match details.kind() {
            JsonKind::Null => return self,
            JsonKind::Object => details.clone(),
            _ => ObjectWriter::new().raw("data", details).finish(),
        };
        let advice = RawJson::string(self.error_type.advice());
        let advice = details.get(ADVICE).is_none().then_some(advice);
        let details = details.edit().set_some(ADVICE, advice).apply().compact();
        Self { error_details: Some(details), ..self }
    }

    /// The detail of a failure that belongs into a tool's result; none for those that are
    /// failures of the request itself.
    pub fn of(error: &CallError) -> Option<Self> {
        error.kind.is_of_tool().then(|| Self::from(error))
    }

    /// Reads a detail, which may have its three keys and no other.
    pub fn read(value: &RawJson) -> Result<Self, ContractError> {
        let keys = ["error_type", "error_message", "error_details"];
        let [kind, message, details] = read_object(WHAT, value, keys)?;
        let text = |value: Option<RawJson>, key| {
            let value = value.ok_or(ContractError::MissingKey { what: WHAT, key })?;
            value.to_text().ok_or(ContractError::WrongKind { key, expected: "a string" })
        };
        let error_type = ErrorType::parse(&text(kind, keys[0])?);
        let error_message = text(message, keys[1])?;
        let fits =
            |details: &RawJson| matches!(details.kind(), JsonKind::Object | JsonKind::String);
        if details.as_ref().is_some_and(|details| !fits(details)) {
            let expected = "an object, a string or null";
            return Err(ContractError::WrongKind { key: keys[2], expected });
        }
        let error_details = details.map(|details| details.compact());
        Ok(Self { error_type, error_message, error_details })
    }

    /// A tool result that reports this failure.
    pub fn to_result(&self) -> RawJson {
        ToolResult::failure(self.clone()).to_call_result()
    }
}

impl From<&CallError> for ErrorDetail {
    /// The detail of any failure, for those who take every failure as a result.
    fn from(error: &CallError) -> Self {
        let detail = Self::new(error.kind.error_type(), error.public.clone());
        let (data, details) = (error.data.as_ref(), ObjectWriter::new());
        match &error.kind {
            ErrorKind::MissingCapability { required } => {
                detail.with_details(&details.raw("requiredCapabilities", required).finish())
            }
            ErrorKind::LimitExceeded { retry_after: Some(wait) }
            | ErrorKind::UpstreamLimit { retry_after: Some(wait) }
                if data.is_none() =>
            {
                detail.with_details(&details.value("retryAfterMs", &wait.as_millis()).finish())
            }
            ErrorKind::CredentialsRefused { status } if data.is_none() => {
                detail.with_details(&details.value("status", status).finish())
            }
            ErrorKind::Handler { code } => {
                detail.with_details(&details.value("code", code).raw_some("data", data).finish())
            }
            _ => detail.with_details(data.unwrap_or(&RawJson::NULL)),
        }
    }
}
