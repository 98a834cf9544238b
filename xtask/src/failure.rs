//! The one error of this program: a sentence for the developer who ran it.
//! Nothing here is retried or matched on, so a text is enough.

use std::fmt;
use std::path::Path;

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    /// The developer has read it already, as the last line of a summary.
    is_told: bool,
}

/// What every fallible function here returns.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure with this message: lower case, no full stop.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_told: false }
    }

    /// A failure to touch a file, naming the file.
    pub(crate) fn file(path: &Path, source: impl fmt::Display) -> Self {
        Self::new(format!("`{}`: {source}", path.display()))
    }

    /// A failure whose message stands on the screen already.
    pub(crate) fn told(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_told: true }
    }

    /// Whether printing it would say the same twice.
    pub(crate) fn is_told(&self) -> bool {
        self.is_told
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
