//! Schema violations of a value, in words that a model can act on.

use std::fmt;

use gantry_protocol::json::{FlatError, FlatNode};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;

use super::violation_text;

/// The most violations that are reported at once.
const REPORTED: usize = 5;

/// What the checked value is, for the wording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Subject {
    /// The arguments of a call.
    Arguments,
    /// The structured result of a call.
    Result,
    /// Any value.
    #[default]
    Value,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where: a JSON pointer into the value, empty for the value as a whole.
    pub path: String,
    /// What is wrong, without the place: "must be at most 1000; got 5000".
    pub message: String,
}

/// All that is wrong with a value, up to five things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations {
    subject: Subject,
    list: Vec<Violation>,
}

impl Violations {
    /// The violations, at least one.
    pub fn list(&self) -> &[Violation] {
        &self.list
    }

    /// The same, said of this subject.
    #[must_use]
    pub fn about(mut self, subject: Subject) -> Self {
        self.subject = subject;
        self
    }

    /// What errors say of a value.
    pub(super) fn collect<'a>(
        value: FlatNode<'_>,
        errors: impl Iterator<Item = ValidationError<'a>>,
    ) -> Self {
        let mut list = Vec::new();
        for error in errors {
            list.extend(violations_of(value, &error));
            if list.len() >= REPORTED {
                break;
            }
        }
        list.truncate(REPORTED);
        Self { subject: Subject::default(), list }
    }

    pub(super) fn unexplained() -> Self {
        Self::whole("must match the schema, and does not".to_owned())
    }

    pub(super) fn beyond_budget(steps: usize) -> Self {
        Self::whole(format!(
            "cannot be checked against the schema in {steps} steps, so it is not accepted; send \
             less, simplify the schema, or raise `limits.validation` of the server"
        ))
    }

    pub(super) fn unreadable(error: FlatError) -> Self {
        Self::whole(format!("must be JSON that can be checked: {error}"))
    }

    fn whole(message: String) -> Self {
        let path = String::new();
        Self { subject: Subject::default(), list: vec![Violation { path, message }] }
    }
}

/// An error about names of members becomes one violation for each, at the place of the member.
fn violations_of(value: FlatNode<'_>, error: &ValidationError<'_>) -> Vec<Violation> {
    let path = error.instance_path().as_str();
    let at = |name: &str, message: &str| Violation {
        path: format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
        message: message.to_owned(),
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![at(property.as_str().unwrap_or_default(), "is required and missing")]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let unknown = unexpected.iter().take(REPORTED);
            unknown.map(|name| at(name, "is not known; remove it")).collect()
        }
        kind => {
            let message = violation_text::fault_at(kind, value.at(path));
            vec![Violation { path: path.to_owned(), message }]
        }
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = match self.subject {
            Subject::Arguments => ("the whole of the arguments", "argument"),
            Subject::Result => ("the result", "result member"),
            Subject::Value => ("the value", "member"),
        };
        for (index, Violation { path, message }) in self.list.iter().enumerate() {
            if index > 0 {
                formatter.write_str("; and ")?;
            }
            match path.as_str() {
                "" => write!(formatter, "{whole} {message}")?,
                path => write!(formatter, "{part} `{}` {message}", violation_text::place(path))?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}
