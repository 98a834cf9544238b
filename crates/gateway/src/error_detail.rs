//! Failures of a tool as results that a model can read and act on.

use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::contract::{ContractError, ErrorType, ToolResult, read_open_object};
use crate::error::{CallError, ErrorKind};

const WHAT: &str = "an error detail";
const ADVICE: &str = "advice";
/// Where a `ValidationError` says what it is about.
const KIND: &str = "kind";
const KEYS: [&str; 3] = ["error_type", "error_message", "error_details"];

/// What went wrong inside a tool call, in the standard vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorDetail {
    /// One of the standard types, or a tool's own.
    pub error_type: ErrorType,
    /// For people and models.
    pub error_message: String,
    /// For programs. Where the gateway makes it, an object whose `advice` says what to do.
    pub error_details: Option<RawJson>,
    /// An object of the keys that a tool added; none when there are none.
    pub further: Option<RawJson>,
}

impl ErrorDetail {
    /// A failure of that type, with its advice.
    pub fn new(error_type: ErrorType, error_message: String) -> Self {
        let advice = ObjectWriter::new().value(ADVICE, error_type.advice()).finish();
        Self { error_type, error_message, error_details: Some(advice), further: None }
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

    /// Reads a detail. Keys beside its own three are kept.
    pub fn read(value: &RawJson) -> Result<Self, ContractError> {
        let ([kind, message, details], further) = read_open_object(WHAT, value, KEYS)?;
        let text = |value: Option<RawJson>, key| {
            let value = value.ok_or(ContractError::MissingKey { what: WHAT, key })?;
            value.to_text().ok_or(ContractError::WrongKind { key, expected: "a string" })
        };
        let error_type = ErrorType::parse(&text(kind, KEYS[0])?);
        let error_message = text(message, KEYS[1])?;
        let fits =
            |details: &RawJson| matches!(details.kind(), JsonKind::Object | JsonKind::String);
        if details.as_ref().is_some_and(|details| !fits(details)) {
            let expected = "an object, a string or null";
            return Err(ContractError::WrongKind { key: KEYS[2], expected });
        }
        let error_details = details.map(|details| details.compact());
        Ok(Self { error_type, error_message, error_details, further })
    }

    /// A tool result that reports this failure.
    pub fn to_result(&self) -> RawJson {
        ToolResult::failure(self.clone()).to_call_result()
    }
}

impl Serialize for ErrorDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(KEYS[0], &self.error_type)?;
        map.serialize_entry(KEYS[1], &self.error_message)?;
        if let Some(details) = &self.error_details {
            map.serialize_entry(KEYS[2], details)?;
        }
        // The field is public: what has the name of another key must not replace it.
        let further = self.further.iter().flat_map(RawJson::members);
        for member in further.filter(|member| !KEYS.contains(&&*member.key())) {
            map.serialize_entry(&member.key(), &member.value())?;
        }
        map.end()
    }
}

impl From<&CallError> for ErrorDetail {
    /// The detail of any failure, for those who take every failure as a result.
    fn from(error: &CallError) -> Self {
        let detail = Self::new(error.kind.error_type(), error.public.clone());
        let (data, details) = (error.data.as_ref(), ObjectWriter::new());
        if let Some(kind) = error.kind.validation() {
            let told = data.filter(|data| data.is_object()).into_iter().flat_map(RawJson::members);
            let told = told.filter(|member| !member.is(KIND) && !member.is(ADVICE));
            let details =
                told.fold(details.value(KIND, kind.as_str()), |it, told| it.member(&told));
            return detail.with_details(&details.value(ADVICE, kind.advice()).finish());
        }
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
