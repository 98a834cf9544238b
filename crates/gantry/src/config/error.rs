//! What is wrong with a configuration.

use std::path::PathBuf;

use super::Place;

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
    /// It is not JSON, comments and trailing commas aside.
    #[error("{place}: not valid JSON: {reason}")]
    Syntax {
        /// Where.
        place: Place,
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
}
