//! A tool result: `{status, data, error, explanation}`. A failure has an error and no data. Further
//! keys are kept.

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::{ContractError, Status, read_open_object};
use crate::error_detail::ErrorDetail;

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
    /// An object of all other keys, compact; none when there are none.
    pub(super) further: Option<RawJson>,
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
            _ => Ok(Self { status, data, error, explanation, further: None }),
        }
    }

    /// A failure.
    pub fn failure(error: ErrorDetail) -> Self {
        Self {
            status: Status::Failure,
            data: None,
            error: Some(error),
            explanation: None,
            further: None,
        }
    }

    /// Reads a result.
    pub fn from_json(value: &RawJson) -> Result<Self, ContractError> {
        let ([status, data, error, explanation], further) = read_open_object(WHAT, value, KEYS)?;
        let status = status.ok_or(ContractError::MissingKey { what: WHAT, key: "status" })?;
        let status = Status::read(&status)
            .ok_or_else(|| ContractError::BadStatus(status.as_str().chars().take(80).collect()))?;
        let error = error.map(|error| ErrorDetail::read(&error)).transpose()?;
        let explanation = explanation.map(|text| {
            let expected = "a string or null";
            text.to_text().ok_or(ContractError::WrongKind { key: "explanation", expected })
        });
        let result = Self::new(status, data, error, explanation.transpose()?)?;
        Ok(Self { further, ..result })
    }

    /// Reads a value that may be a tool result or anything else: none when it is data that merely
    /// has a `status`, the reason when it is meant to be a tool result and breaks the rules.
    ///
    /// `fits` is given where the tool's output schema describes a `status` of its own, and tells
    /// whether a value fits that schema: then the schema decides, except about a complete failure.
    /// Without it, one of the four statuses with other keys alone is data, unless it says `failure`:
    /// a failure that lacks its `error` must not come out as a success.
    pub fn read(
        value: &RawJson,
        fits: Option<&dyn Fn(&RawJson) -> bool>,
    ) -> Option<Result<Self, ContractError>> {
        let status = Status::read(&value.get("status")?)?;
        let result = Self::from_json(value);
        let Some(fits) = fits else {
            let is_named = |key: &str| KEYS[1..].contains(&key);
            let is_other = |key: &str| !KEYS.contains(&key);
            let has = |is: &dyn Fn(&str) -> bool| value.members().any(|it| is(&it.key()));
            let is_data = status != Status::Failure && has(&is_other) && !has(&is_named);
            return (!is_data).then_some(result);
        };
        let is_result = result.as_ref().is_ok_and(|result| {
            result.status == Status::Failure || result.data.as_ref().is_some_and(fits)
        });
        (is_result || !fits(value)).then_some(result)
    }

    /// The result as JSON: all four keys, then the further ones.
    pub fn to_json(&self) -> RawJson {
        let result = ObjectWriter::with_capacity(256)
            .value("status", self.status.as_str())
            .raw("data", self.data.as_ref().unwrap_or(&RawJson::NULL))
            .value("error", &self.error)
            .value("explanation", &self.explanation);
        let further = self.further.iter().flat_map(RawJson::members);
        further.fold(result, |result, member| result.member(&member)).finish().compact()
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

    /// The keys beside those of the contract, as an object; none when there are none.
    pub fn further(&self) -> Option<&RawJson> {
        self.further.as_ref()
    }

    /// The same with these members as its further keys, in place of those before. A member that
    /// has the name of one of the contract's keys is an error.
    pub fn with_further(self, members: &RawJson) -> Result<Self, ContractError> {
        let (known, further) = read_open_object(WHAT, members, KEYS)?;
        match KEYS.into_iter().zip(known).find(|(_, value)| value.is_some()) {
            Some((key, _)) => Err(ContractError::DoubledKey { what: WHAT, key: key.to_owned() }),
            None => Ok(Self { further, ..self }),
        }
    }
}
