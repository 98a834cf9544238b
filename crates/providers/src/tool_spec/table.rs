//! The tables of parameters: found in a section, and written so that they can be found again.

use super::lines::Piece;

/// One row of a table of parameters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) name: String,
    /// Whether the parameter is required, when the table says so.
    pub(super) required: Option<bool>,
}

/// The rows of the first table that has a column for names; none when there is no such table.
pub(super) fn rows(pieces: &[Piece<'_>]) -> Option<Vec<Row>> {
    let table = pieces.iter().map(|piece| match piece {
        Piece::Text { line, text } if text.trim_start().starts_with('|') => {
            Some((*line, cells(text)))
        }
        _ => None,
    });
    let mut table =
        table.skip_while(|row| row.as_ref().is_none_or(|it| name_column(&it.1).is_none()));
    let (_, header) = table.next()??;
    let name = name_column(&header)?;
    let required = header.iter().position(|cell| cell.to_lowercase().starts_with("required"));
    let body = table.map_while(|row| row).enumerate();
    let body = body.filter(|(index, (_, cells))| *index > 0 || !is_rule(cells));
    let row = |(_, (line, cells)): (usize, (usize, Vec<String>))| Row {
        line,
        name: read_name(cells.get(name).map_or("", String::as_str)),
        required: required.and_then(|column| is_yes(cells.get(column)?)),
    };
    Some(body.map(row).collect())
}

/// A text as the cell of a table.
pub(super) fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // After a backslash a pipe cannot be escaped by another one.
    line.replace("\\|", "\\&#124;").replace('|', "\\|")
}

/// JSON as a span of code in a cell.
pub(super) fn code(json: &str) -> String {
    format!("`{}`", json.replace('`', "\\u0060").replace('|', "\\u007c"))
}

/// The name of a parameter as the cell of a table: as it is, or as a JSON string when it would
/// not be recognised.
pub(super) fn name(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.trim() == name
        && !name.starts_with('"')
        && !name.contains(|letter: char| letter.is_control() || "`|".contains(letter));
    if is_plain { format!("`{name}`") } else { code(&serde_json::Value::from(name).to_string()) }
}

fn read_name(cell: &str) -> String {
    let bare = cell.trim_matches(|letter: char| letter.is_whitespace() || letter == '*');
    let inside = bare.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let name = inside.unwrap_or(bare);
    let string = name.starts_with('"').then(|| serde_json::from_str(name).ok());
    string.flatten().unwrap_or_else(|| name.to_owned())
}

fn name_column(header: &[String]) -> Option<usize> {
    const NAMES: [&str; 6] =
        ["name", "parameter", "parameter name", "field", "field name", "argument"];
    header.iter().position(|cell| {
        let word = cell.replace(['*', '_', '`'], "").trim().to_lowercase();
        NAMES.contains(&word.as_str())
    })
}

fn is_yes(cell: &str) -> Option<bool> {
    match cell.replace(['*', '`'], "").trim().to_lowercase().as_str() {
        "yes" | "true" | "required" | "✓" | "✔" | "✅" | "x" => Some(true),
        "no" | "false" | "optional" | "" | "-" | "–" | "✗" | "❌" => Some(false),
        _ => None,
    }
}

/// The line between the header and the rows.
fn is_rule(cells: &[String]) -> bool {
    cells.iter().all(|cell| cell.contains('-') && cell.chars().all(|it| "-: ".contains(it)))
}

fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_escaped = letter == '\\' && letters.peek() == Some(&'|');
        match (letter, cells.last_mut()) {
            ('|', _) => cells.push(String::new()),
            (_, Some(cell)) if is_escaped => cell.extend(letters.next()),
            (_, Some(cell)) => cell.push(letter),
            (_, None) => {}
        }
    }
    // What stands after the last mark is no cell.
    if row.ends_with('|') {
        cells.pop();
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}
