//! Colours and width: only for someone who is looking.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// How text on one stream is dressed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colour: bool,
    /// Columns of the terminal; none when nobody looks.
    width: Option<usize>,
}

impl Style {
    pub(crate) fn of_stdout() -> Self {
        Self::of(&std::io::stdout())
    }

    pub(crate) fn of_stderr() -> Self {
        Self::of(&std::io::stderr())
    }

    fn of(stream: &(impl AsFd + IsTerminal)) -> Self {
        if !stream.is_terminal() {
            return Self { colour: false, width: None };
        }
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let size = rustix::termios::tcgetwinsize(stream);
        let width = size.ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
        Self { colour, width: Some(width.unwrap_or(80)) }
    }

    /// Nobody looks: no colours, and signs that every program can show.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { colour: false, width: None };

    /// A terminal with colours.
    #[cfg(test)]
    pub(crate) const RICH: Self = Self { colour: true, width: Some(80) };

    /// Whether someone looks.
    pub(crate) fn is_seen(self) -> bool {
        self.width.is_some()
    }

    /// The columns that a line may take; none when lines need not be cut.
    pub(crate) fn width(self) -> Option<usize> {
        self.width
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.dress("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.dress("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.dress("1;31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.dress("32", text)
    }

    fn dress(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
