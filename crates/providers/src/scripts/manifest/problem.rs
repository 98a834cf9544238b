//! A problem with a tool: file, line, what is wrong, and what to do about it.

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
    /// Whether the tool is taken all the same.
    pub is_warning: bool,
}

impl Problem {
    pub(crate) fn new(
        file: &Path,
        line: Option<usize>,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        let (message, advice) = (message.into(), advice.into());
        Self { file: file.to_owned(), line, message, advice, is_warning: false }
    }

    /// The same as something that does not keep the tool out.
    pub(crate) fn into_warning(self) -> Self {
        Self { is_warning: true, ..self }
    }
}

/// Files that are named of those with one and the same problem.
const NAMED: usize = 3;

impl Problem {
    /// The problems as lines, one for each cause: files in which the same is wrong share a line.
    pub fn by_cause<'a>(problems: impl IntoIterator<Item = &'a Self>) -> Vec<String> {
        let mut causes: Vec<Vec<&Self>> = Vec::new();
        for problem in problems {
            let is_same = |it: &&Self| it.message == problem.message && it.advice == problem.advice;
            match causes.iter_mut().find(|cause| cause.first().is_some_and(is_same)) {
                Some(cause) => cause.push(problem),
                None => causes.push(vec![problem]),
            }
        }
        causes.iter().map(|cause| Self::line_of(cause)).collect()
    }

    fn line_of(cause: &[&Self]) -> String {
        let place = |it: &&Self| it.to_string().split(": ").next().unwrap_or_default().to_owned();
        match cause {
            [] => String::new(),
            [one] => one.to_string(),
            [first, ..] => {
                let named: Vec<String> = cause.iter().take(NAMED).map(place).collect();
                let more = match cause.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    count => format!(" and {count} more"),
                };
                let (message, advice) = (printable(&first.message), printable(&first.advice));
                format!("{}{more}: {message}; {advice}", named.join(", "))
            }
        }
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Problem;

    #[test]
    fn what_has_one_cause_is_one_line() {
        let problem =
            |file: &str, message: &str| Problem::new(Path::new(file), None, message, "mend");
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
        let cases: [Case<'_>; 4] = [
            (&[], &[]),
            (&[("a", "x")], &["a: x; mend"]),
            (&[("a", "x"), ("b", "y"), ("c", "x")], &["a, c: x; mend", "b: y; mend"]),
            (
                &[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x"), ("e", "x")],
                &["a, b, c and 2 more: x; mend"],
            ),
        ];
        for (given, expected) in cases {
            let problems: Vec<Problem> = given.iter().map(|it| problem(it.0, it.1)).collect();
            assert_eq!(Problem::by_cause(&problems), expected, "{given:?}");
        }
    }
}
