//! How far a call has come: one line on the terminal that is written over, nothing in a pipe.

use std::io::{IsTerminal, Write};

use gantry::RawJson;

use super::one_line;

/// The columns of the bar.
const BAR: usize = 24;

/// The line that shows progress.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    watched: bool,
    shown: bool,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        Self { watched: std::io::stderr().is_terminal(), shown: false }
    }

    /// Shows the params of a progress notification.
    pub(crate) fn show(&mut self, params: &RawJson) {
        if self.watched {
            self.shown = true;
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{}", line(params));
        }
    }

    /// Takes the line away, before something else is written.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

fn line(params: &RawJson) -> String {
    let number = |key: &str| params.get(key).and_then(|it| it.read::<f64>());
    let done = number("progress").unwrap_or_default();
    let message = params.get("message").and_then(|it| it.to_text()).unwrap_or_default();
    let message: String = one_line(&message).chars().take(40).collect();
    match number("total").filter(|total| *total > 0.0) {
        Some(total) => {
            let share = (done / total).clamp(0.0, 1.0);
            let filled = (share * BAR as f64) as usize;
            let bar = format!("{}{}", "━".repeat(filled), "─".repeat(BAR - filled));
            format!("  {bar} {:3.0} %  {message}", share * 100.0)
        }
        None => format!("  … {done}  {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::line;
    use gantry::RawJson;

    #[test]
    fn lines() {
        let cases = [
            (r#"{"progress":1,"total":2,"message":"half"}"#, "  ━━━━━━━━━━━━──────────── "),
            (r#"{"progress":3,"total":2}"#, "  ━━━━━━━━━━━━━━━━━━━━━━━━ 100 %"),
            (r#"{"progress":7,"message":"a\nb"}"#, "  … 7  a b"),
            (r#"{"progress":7,"total":0}"#, "  … 7"),
        ];
        for (params, expected) in cases {
            let line = line(&RawJson::from_static(params));
            assert!(line.starts_with(expected), "{params}: {line}");
        }
    }
}
