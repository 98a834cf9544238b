//! A tool result: `{status, data, error, explanation}`. A failure has an error and no data.

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::error::ContractError;
use super::status::Status;
use super::strict::read_object;
use crate::failure::ErrorDetail;

const WHAT: &str = "a tool result";
const KEYS: [&str; 4] = ["status", "data", "error", "explanation"];

/// A tool result of the contract. One that breaks its rule cannot be made.
///
/// ```
/// use gantry_gateway::contract::{Status, ToolResult};
/// use gantry_protocol::RawJson;
/// let text = RawJson::from_static(r#"{"status":"partial_success","data":{"copied":2}}"#);
/// let result = ToolResult::from_json(&text).unwrap();
/// assert_eq!(result.status(), Status::PartialSuccess);
/// assert_eq!(ToolResult::from_call_result(&result.to_call_result()), result);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    pub(super) status: Status,
    pub(super) data: Option<RawJson>,
    pub(super) error: Option<ErrorDetail>,
    pub(super) explanation: Option<String>,
}

impl ToolResult {
    /// A result of these parts, if they go together.
    pub fn new(
        status: Status,
        data: Option<RawJson>,
        error: Option<ErrorDetail>,
        explanation: Option<String>,
    ) -> Result<Self, ContractError> {
        let data = data.map(|data| data.compact());
        if data.as_ref().is_some_and(|data| !data.is_object()) {
            return Err(ContractError::WrongKind { key: "data", expected: "an object or null" });
        }
        match (status, &data, &error) {
            (Status::Failure, Some(_), _) => Err(ContractError::FailureWithData),
            (Status::Failure, None, None) => Err(ContractError::FailureWithoutError),
            _ => Ok(Self { status, data, error, explanation }),
        }
    }

    /// A failure.
    pub fn failure(error: ErrorDetail) -> Self {
        Self { status: Status::Failure, data: None, error: Some(error), explanation: None }
    }

    /// Reads a result.
    pub fn from_json(value: &RawJson) -> Result<Self, ContractError> {
        let [status, data, error, explanation] = read_object(WHAT, value, KEYS)?;
        let status = status.ok_or(ContractError::MissingKey { what: WHAT, key: "status" })?;
        let status = Status::read(&status)
            .ok_or_else(|| ContractError::BadStatus(status.as_str().chars().take(80).collect()))?;
        let error = error.map(|error| ErrorDetail::read(&error)).transpose()?;
        let explanation = explanation.map(|text| {
            let expected = "a string or null";
            text.to_text().ok_or(ContractError::WrongKind { key: "explanation", expected })
        });
        Self::new(status, data, error, explanation.transpose()?)
    }

    /// Reads a value that may be a result of the contract or anything else: none when it has no
    /// known `status`, or a key that the contract does not know; the reason when it is meant to be
    /// one and breaks the rules.
    pub fn read(value: &RawJson) -> Option<Result<Self, ContractError>> {
        Status::read(&value.get("status")?)?;
        let known = |key: &str| KEYS.contains(&key);
        value.members().all(|member| known(&member.key())).then(|| Self::from_json(value))
    }

    /// The result as JSON, with all four keys.
    pub fn to_json(&self) -> RawJson {
        ObjectWriter::with_capacity(256)
            .value("status", self.status.as_str())
            .raw("data", self.data.as_ref().unwrap_or(&RawJson::NULL))
            .value("error", &self.error)
            .value("explanation", &self.explanation)
            .finish()
            .compact()
    }

    /// How it came out.
    pub fn status(&self) -> Status {
        self.status
    }

    /// What the tool gave; never there when it failed.
    pub fn data(&self) -> Option<&RawJson> {
        self.data.as_ref()
    }

    /// What went wrong; always there when it failed.
    pub fn error(&self) -> Option<&ErrorDetail> {
        self.error.as_ref()
    }

    /// For people.
    pub fn explanation(&self) -> Option<&str> {
        self.explanation.as_deref()
    }
}
