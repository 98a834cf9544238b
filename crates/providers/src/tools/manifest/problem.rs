//! What is wrong with a tool, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a file that means to be a tool is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from one, when there is one to point at.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

impl Problem {
    pub(in crate::tools) fn new(
        file: &Path,
        line: Option<usize>,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { file: file.to_owned(), line, message: message.into(), advice: advice.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:", printable(&self.file.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(formatter, "{line}:")?;
        }
        write!(formatter, " {}; {}", printable(&self.message), printable(&self.advice))
    }
}

/// A text as it may be written to a terminal and into one line of a log: what is quoted from a
/// file, or is the name of one, may hold anything.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\'' | '\\' => shown.push(letter),
            _ => shown.extend(letter.escape_debug()),
        }
    }
    shown
}

impl std::error::Error for Problem {}

/// The line, counted from one, in which the byte at `offset` stands.
pub(super) fn line_at(text: &[u8], offset: usize) -> usize {
    text.iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
