//! How the program ends: one table of exit codes.

use std::process::ExitCode;

/// An end that is not success.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// The exit codes. 0 is success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    /// The operation failed.
    Failed = 1,
    /// The command line was wrong.
    Usage = 2,
    /// The configuration or the state directory was wrong.
    Configuration = 3,
    /// A bug.
    Bug = 70,
}

impl Exit {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
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
