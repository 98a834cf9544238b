//! The one list of what can go wrong with a tool, by name, each with what to do about it.

use std::fmt;

use gantry_protocol::RawJson;
use serde::{Serialize, Serializer};

/// What went wrong, in the words of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the contract's own; `advice` says what each means")]
pub enum ErrorType {
    ValidationError,
    FileNotFoundError,
    AuthenticationError,
    ResourceNotFound,
    ToolExecutionError,
    ApiLimitExceeded,
    TimeoutError,
    PermissionError,
    TransportError,
    ToolNotFoundError,
    SchemaError,
    SerializationError,
    RegistrationError,
    Cancelled,
    /// A name of a tool's own.
    Custom(String),
}

impl ErrorType {
    /// Every name but tools' own.
    pub const ALL: [Self; 14] = [
        Self::ValidationError,
        Self::FileNotFoundError,
        Self::AuthenticationError,
        Self::ResourceNotFound,
        Self::ToolExecutionError,
        Self::ApiLimitExceeded,
        Self::TimeoutError,
        Self::PermissionError,
        Self::TransportError,
        Self::ToolNotFoundError,
        Self::SchemaError,
        Self::SerializationError,
        Self::RegistrationError,
        Self::Cancelled,
    ];

    /// The type of that name; one that is not in the list is a tool's own.
    pub fn parse(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == name);
        known.unwrap_or_else(|| Self::Custom(name.to_owned()))
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::ValidationError => "ValidationError",
            Self::FileNotFoundError => "FileNotFoundError",
            Self::AuthenticationError => "AuthenticationError",
            Self::ResourceNotFound => "ResourceNotFound",
            Self::ToolExecutionError => "ToolExecutionError",
            Self::ApiLimitExceeded => "ApiLimitExceeded",
            Self::TimeoutError => "TimeoutError",
            Self::PermissionError => "PermissionError",
            Self::TransportError => "TransportError",
            Self::ToolNotFoundError => "ToolNotFoundError",
            Self::SchemaError => "SchemaError",
            Self::SerializationError => "SerializationError",
            Self::RegistrationError => "RegistrationError",
            Self::Cancelled => "Cancelled",
            Self::Custom(name) => name,
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::ValidationError => "correct what the message names and call again",
            Self::FileNotFoundError => "check the path and that the file is there, then call again",
            Self::AuthenticationError => "check the credentials that the tool uses",
            Self::ResourceNotFound => "check the name; a list shows what there is",
            Self::ToolExecutionError => {
                "read the message, remove the cause, then call again; it lies with the tool"
            }
            Self::ApiLimitExceeded => "wait a while, then call again, less often",
            Self::TimeoutError => "ask for less at once, or raise the tool's timeout",
            Self::PermissionError => "ask whoever runs the gateway to allow it",
            Self::TransportError => {
                "check that the gateway and the tool's server run, then call again"
            }
            Self::ToolNotFoundError => "list the tools and check the name for typing errors",
            Self::SchemaError => "correct the tool or its output schema: its result does not fit",
            Self::SerializationError => {
                "correct the tool: it must write one line of JSON to standard output"
            }
            Self::RegistrationError => {
                "choose another name, or raise the version as the change of schema demands"
            }
            Self::Cancelled => "call again if the result is still wanted",
            Self::Custom(_) => "see the documentation of the tool",
        }
    }
}

/// What a `ValidationError` of the gateway is about: `error_details.kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationKind {
    /// The arguments do not fit the tool's `inputSchema`.
    Arguments,
    /// The result does not fit the tool's `outputSchema`.
    OutputSchema,
    /// The result breaks the rules of a tool result.
    ResultContract,
}

impl ValidationKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Arguments, Self::OutputSchema, Self::ResultContract];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "SchemaError",
            Self::OutputSchema => "OutputSchemaError",
            Self::ResultContract => "ResultContractError",
        }
    }

    /// The kind that error details name.
    pub fn read(details: &RawJson) -> Option<Self> {
        let name = details.get("kind")?.to_text()?;
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// What to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Arguments => ErrorType::ValidationError.advice(),
            Self::OutputSchema => ErrorType::SchemaError.advice(),
            Self::ResultContract => {
                "correct the tool: what it prints must keep the rules of a tool result"
            }
        }
    }

    /// Whether the tool is at fault, and not its caller.
    pub fn is_of_tool(self) -> bool {
        self != Self::Arguments
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for ErrorType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
