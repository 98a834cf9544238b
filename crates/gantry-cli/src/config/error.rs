//! What is wrong with a configuration.

use std::fmt;
use std::path::{Path, PathBuf};

use gantry_policy::ConditionError;

use crate::config::ValueError;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {} cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is not JSON, comments and trailing commas aside, or not TOML.
    #[error("{place}: not valid {form}: {reason}")]
    Syntax {
        /// Where.
        place: Place,
        /// What it should be.
        form: &'static str,
        /// Why.
        reason: String,
    },
    /// There is no such key.
    #[error("{place}: unknown key `{key}`; {advice}")]
    UnknownKey {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// What to do.
        advice: String,
    },
    /// The key stands there twice.
    #[error("{place}: the key `{key}` is given twice; remove one of them")]
    Doubled {
        /// Where the second one is.
        place: Place,
        /// The key.
        key: String,
    },
    /// The key has a meaning, but not in this version.
    #[error("{place}: `{key}` is not yet supported; remove it")]
    NotYet {
        /// Where.
        place: Place,
        /// The key.
        key: String,
    },
    /// A value has the wrong form.
    #[error("{place}: `{key}` has the wrong form; write {expected}")]
    Form {
        /// Where.
        place: Place,
        /// Whose value.
        key: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A variable has no value.
    #[error(
        "{place}: the variable `{name}`, needed by `{key}`, is not set; \
         set it, or give a default: `${{{name}:-value}}`"
    )]
    Unset {
        /// Where.
        place: Place,
        /// Whose value.
        key: String,
        /// The variable.
        name: String,
    },
    /// A value cannot be told.
    #[error("{place}: `{key}`: {error}")]
    Value {
        /// Where.
        place: Place,
        /// Whose value.
        key: String,
        /// Why.
        error: ValueError,
    },
    /// The condition of a rule cannot be used.
    #[error("{place}: {error}")]
    Condition {
        /// Where.
        place: Place,
        /// Why.
        error: ConditionError,
    },
    /// An included file cannot be read.
    #[error("{place}: the included file {} cannot be read: {error}", file.display())]
    Include {
        /// Where it is included.
        place: Place,
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file includes itself, perhaps by way of others.
    #[error("{place}: the files include each other; break the chain {chain}")]
    Cycle {
        /// Where it closes.
        place: Place,
        /// The files, from the first to the one that is there twice.
        chain: String,
    },
    /// A server's entry says two things that exclude each other, or too little.
    #[error("{place}: the server `{name}` {reason}")]
    Server {
        /// Where.
        place: Place,
        /// The server.
        name: String,
        /// What is wrong, and what to do.
        reason: &'static str,
    },
    /// A server has a name that cannot be used.
    #[error(
        "{place}: `{name}` cannot be the name of a server; use letters, digits, `-`, `_` and `.`, such as `{better}`"
    )]
    Name {
        /// Where.
        place: Place,
        /// The name.
        name: String,
        /// One that could be used.
        better: String,
    },
}

impl ConfigError {
    /// Whether the surroundings are to blame and not the text: the rest may go on without.
    pub(crate) fn is_of_surroundings(&self) -> bool {
        matches!(self, Self::Unset { .. } | Self::Value { .. })
    }
}

/// A file with line and column, both counted from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Place {
    /// The place of a byte.
    pub(crate) fn of(file: &Path, text: &[u8], offset: usize) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Self { file: file.to_owned(), line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}
