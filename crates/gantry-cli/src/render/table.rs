//! Columns that line up, cut to the terminal's width. The last column gives way.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use crate::render::one_line;

/// The least width that is left to the last column.
const NARROWEST: usize = 16;

/// What stands between columns.
const GAP: usize = 2;

/// Rows of cells.
#[derive(Debug, Default)]
pub(crate) struct Table {
    indent: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table that begins this many columns from the left.
    pub(crate) fn indented(indent: usize) -> Self {
        Self { indent, rows: Vec::new() }
    }

    /// Adds a row. A cell is one line, in which what cannot be seen is made visible.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.into_iter().map(one_line).collect());
    }

    /// The text of the table: the first column bold, those between the first and the last dim.
    pub(crate) fn to_text(&self, style: Style) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns.saturating_sub(1)).map(widest).collect();
        let taken =
            self.indent + widths.iter().filter(|it| **it > 0).map(|it| it + GAP).sum::<usize>();
        let room = style.width().map(|width| width.saturating_sub(taken).max(NARROWEST));
        let lines = self.rows.iter().map(|row| self.line(row, &widths, room, style));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn line(&self, row: &[String], widths: &[usize], room: Option<usize>, style: Style) -> String {
        let mut line = " ".repeat(self.indent);
        for (column, cell) in row.iter().enumerate() {
            let Some(width) = widths.get(column) else {
                line.push_str(&room.map_or_else(|| cell.clone(), |room| cut(cell, room)));
                break;
            };
            // A column in which no row has anything takes no room.
            if *width == 0 {
                continue;
            }
            let padding = " ".repeat((width + GAP).saturating_sub(cell.chars().count()));
            let cell = if column == 0 { style.bold(cell) } else { style.dim(cell) };
            line.push_str(&cell);
            line.push_str(&padding);
        }
        line.trim_end().to_owned()
    }
}

/// The text, or its beginning with an ellipsis when it is too long.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

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

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn cells() {
        let cases = [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("a bcd", 3, "a…"), ("éàüö", 3, "éà…")];
        for (text, room, expected) in cases {
            assert_eq!(cut(text, room), expected, "{text} in {room}");
        }
    }
}
