//! JSON Schema validation of tool arguments and results: compiled once, checked on every call.
//!
//! Nothing is ever fetched. A schema from an untrusted server cannot be so large, so deep or so entangled
//! that compiling it or checking a value against it takes long.

mod bounds;
mod cost;
mod defaults;
mod instance;
mod regex;
mod validator;
mod violation;
mod violation_text;

use std::sync::OnceLock;

use gantry_protocol::json::{JsonError, RawJson};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value;

use self::validator::CompiledSchema;

pub use self::violation::{Subject, Violation, Violations};

/// Bounds on a schema.
#[derive(Debug, Clone, Copy)]
pub struct SchemaLimits {
    /// The most bytes of the schema's text.
    pub size: usize,
    /// The deepest nesting of the schema's text.
    pub depth: usize,
    /// The most subschemas once every `$ref` stands for its target.
    pub subschemas: usize,
    /// The longest chain of subschemas and `$ref`s from the root.
    pub chain: usize,
    /// The most patterns.
    pub patterns: usize,
    /// The most bytes a compiled pattern may take.
    pub pattern_size: usize,
    /// The most steps back that a pattern with look-around may take on one value. All other
    /// patterns take linear time. Zero refuses patterns with look-around.
    pub backtracks: usize,
    /// The most bytes that filling in defaults may add to one value.
    pub defaults: usize,
    /// The most steps that checking one value may take. What would take more is not accepted.
    pub steps: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            size: 1024 * 1024,
            depth: 100,
            subschemas: 100_000,
            chain: 256,
            patterns: 200,
            pattern_size: 2 * 1024 * 1024,
            backtracks: 1000,
            defaults: 256 * 1024,
            steps: 20_000_000,
        }
    }
}

/// A schema. Costly to make ready, cheap to use; share it behind an `Arc`.
#[derive(Debug)]
pub struct Schema {
    source: RawJson,
    limits: SchemaLimits,
    /// None if it turned out to be no schema, which nothing fits.
    compiled: OnceLock<Option<CompiledSchema>>,
}

impl Schema {
    /// Compiles a schema: JSON Schema 2020-12, or the dialect that its `$schema` names.
    pub fn compile(source: &RawJson, limits: SchemaLimits) -> Result<Self, SchemaError> {
        let compiled = CompiledSchema::new(source, limits)?;
        Ok(Self { source: source.clone(), limits, compiled: Some(compiled).into() })
    }

    /// A schema that a program has derived from its types, and so knows to be one. It is compiled
    /// when it is first used, so that a program which offers many tools starts at once.
    pub fn derived(source: &RawJson, limits: SchemaLimits) -> Self {
        Self { source: source.clone(), limits, compiled: OnceLock::new() }
    }

    /// The limits that it keeps to.
    pub fn limits(&self) -> SchemaLimits {
        self.limits
    }

    /// Checks a value.
    ///
    /// A number beyond the range of a 64-bit float cannot be checked and is a violation; one with
    /// more digits than such a float holds is checked as the nearest float.
    pub fn check(&self, value: &RawJson) -> Result<(), Violations> {
        self.compiled().map_or_else(|| Err(Violations::unexplained()), |it| it.check(value))
    }

    /// Whether a value is checked in so short a time that it can be done at once, where others wait.
    pub fn is_quick(&self, value: &RawJson) -> bool {
        self.compiled().is_none_or(|it| it.is_quick(value))
    }

    /// Fills in the `default` of every property that is missing, in the object itself and in the
    /// objects it holds. All that is there stays byte for byte.
    pub fn fill_defaults(&self, arguments: &RawJson) -> RawJson {
        self.compiled().map_or_else(|| arguments.clone(), |it| it.fill_defaults(arguments))
    }

    /// The arguments as the tool shall see them: `{}` when there are none, defaults filled in,
    /// then checked.
    pub fn accept(&self, arguments: Option<&RawJson>) -> Result<RawJson, Violations> {
        let filled = self.fill_defaults(arguments.unwrap_or(&RawJson::EMPTY_OBJECT));
        match self.check(&filled) {
            Ok(()) => Ok(filled),
            Err(violations) => Err(violations.about(Subject::Arguments)),
        }
    }

    fn compiled(&self) -> Option<&CompiledSchema> {
        let compile = || match CompiledSchema::new(&self.source, self.limits) {
            Ok(compiled) => Some(compiled),
            Err(error) => {
                tracing::error!(%error, "derived JSON Schema is invalid");
                None
            }
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}

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
    fn unreadable(error: &impl ToString) -> Self {
        Self::Unreadable(error.to_string())
    }

    fn unknown_dialect(schema: &Value) -> Self {
        let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
        Self::UnknownDialect { dialect: violation_text::cut(dialect) }
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
                Self::External { reference: violation_text::cut(&uri) }
            }
            ReferencingError::UnknownSpecification { specification } => {
                Self::UnknownDialect { dialect: violation_text::cut(&specification) }
            }
            other => Self::Dangling(violation_text::cut(&other.to_string())),
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
                Self::Pattern { pattern: violation_text::value(&parts.instance), path }
            }
            kind => Self::Invalid { path, message: violation_text::fault(&kind, &parts.instance) },
        }
    }
}

#[cfg(test)]
mod tests;
