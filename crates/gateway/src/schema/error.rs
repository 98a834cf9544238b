//! Why a schema was not taken.

use gantry_protocol::json::JsonError;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value;

use super::describe;

/// Why a schema was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The text is too large.
    #[error("the schema has {size} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Bytes in the text.
        size: usize,
        /// The limit in force.
        limit: usize,
    },
    /// The text, or a chain of references in it, is too deep.
    #[error("the schema is nested deeper than the limit of {limit}")]
    TooDeep {
        /// The limit in force.
        limit: usize,
    },
    /// There are too many of something.
    #[error("the schema has more than {limit} {what}; split or simplify it")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// The limit in force.
        limit: usize,
    },
    /// The text cannot be read as JSON.
    #[error("the schema cannot be read: {0}")]
    Unreadable(String),
    /// `$schema` names a dialect that is not known.
    #[error(
        "the schema names the dialect `{dialect}`, which is not known; \
         use 2020-12, 2019-09, draft-07, draft-06 or draft-04"
    )]
    UnknownDialect {
        /// What `$schema` says.
        dialect: String,
    },
    /// A reference leads out of the document.
    #[error(
        "the schema refers to `{reference}`, which is outside of it; \
         references are never fetched, so put the target under `$defs`"
    )]
    External {
        /// The reference, resolved as far as possible.
        reference: String,
    },
    /// A reference leads nowhere.
    #[error("the schema has a reference that cannot be resolved: {0}")]
    Dangling(String),
    /// A pattern is not a regular expression, or too large a one.
    #[error("the pattern {pattern} at `{path}` is not a regular expression that can be run")]
    Pattern {
        /// The pattern, cut when long.
        pattern: String,
        /// Where it stands: a JSON pointer.
        path: String,
    },
    /// The document is not a schema of its dialect.
    #[error("the schema is not valid at `{path}`: {message}")]
    Invalid {
        /// Where: a JSON pointer.
        path: String,
        /// What is wrong there.
        message: String,
    },
}

impl SchemaError {
    pub(super) fn unreadable(error: &impl ToString) -> Self {
        Self::Unreadable(error.to_string())
    }

    pub(super) fn unknown_dialect(schema: &Value) -> Self {
        let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
        Self::UnknownDialect { dialect: describe::cut(dialect) }
    }
}

impl From<JsonError> for SchemaError {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::TooLarge { size, limit } => Self::TooLarge { size, limit },
            JsonError::TooDeep { limit } => Self::TooDeep { limit },
            other => Self::unreadable(&other),
        }
    }
}

impl From<ReferencingError> for SchemaError {
    fn from(error: ReferencingError) -> Self {
        match error {
            ReferencingError::Unretrievable { uri, .. } => {
                Self::External { reference: describe::cut(&uri) }
            }
            ReferencingError::UnknownSpecification { specification } => {
                Self::UnknownDialect { dialect: describe::cut(&specification) }
            }
            other => Self::Dangling(describe::cut(&other.to_string())),
        }
    }
}

impl From<ValidationError<'static>> for SchemaError {
    fn from(error: ValidationError<'static>) -> Self {
        let parts = error.into_parts();
        let path = parts.instance_path.as_str().to_owned();
        match parts.kind {
            ValidationErrorKind::Referencing(error) => error.into(),
            ValidationErrorKind::Format { format } if format == "regex" => {
                Self::Pattern { pattern: describe::value(&parts.instance), path }
            }
            kind => Self::Invalid { path, message: describe::fault(&kind, &parts.instance) },
        }
    }
}
