//! How the program ends: one table of exit codes.

use std::fmt::Write;
use std::process::ExitCode;

/// An end that is not success.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) code: Code,
    /// Empty when all has been said already.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// The exit codes. 0 is success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    /// The tool or operation failed.
    Failed = 1,
    /// The command line was wrong.
    Usage = 2,
    /// The configuration or the state directory was wrong.
    Configuration = 3,
    /// There is no such thing.
    NotFound = 4,
    /// Policy says no.
    Refused = 5,
    /// What is needed cannot be reached.
    Unreachable = 6,
    /// It took too long.
    Timeout = 7,
    /// A bug.
    Bug = 70,
    /// An interrupt has ended it, as shells have it.
    Interrupted = 130,
}

/// Every code with its meaning, for the help and the documentation.
const CODES: [(Code, &str); 9] = [
    (Code::Failed, "the tool or operation failed"),
    (Code::Usage, "wrong command line or argument"),
    (Code::Configuration, "invalid configuration or state directory"),
    (Code::NotFound, "no such tool, server or file"),
    (Code::Refused, "refused by a policy or a limit"),
    (Code::Unreachable, "a gateway or server is unreachable"),
    (Code::Timeout, "timeout"),
    (Code::Bug, "a bug: please report it"),
    (Code::Interrupted, "interrupted"),
];

/// The exit codes as a text for the help.
pub(crate) fn table() -> String {
    let mut table = "Exit codes:\n    0  done\n".to_owned();
    for (code, meaning) in CODES {
        // Writing to a string does not fail.
        let _ = writeln!(table, "  {:>3}  {meaning}", code as u8);
    }
    table
}

impl Exit {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// An end of which everything has been said already.
    pub(crate) fn silent(code: Code) -> Self {
        Self::new(code, "")
    }

    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::new(Code::Bug, message)
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn the_document_has_every_code() {
        let document = include_str!("../../../docs/cli.md");
        for line in table().lines().skip(1) {
            let (code, meaning) = line.trim().split_once("  ").expect("two columns");
            let row = format!("| {code} | {meaning} |");
            assert!(document.contains(&row), "docs/cli.md lacks `{row}`");
        }
    }
}
