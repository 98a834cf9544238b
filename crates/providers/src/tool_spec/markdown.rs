//! Markdown as headings, code blocks, tables of parameters and lines of text. Nothing else is
//! understood.

/// One piece of a document. Lines are counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// `# text`, with any number of marks.
    Heading { line: usize, text: &'a str },
    /// A code block between fences.
    Fence(Fence<'a>),
    /// Any other line, without its end.
    Text { line: usize, text: &'a str },
}

/// A code block between fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    /// The line of the opening fence.
    pub(super) line: usize,
    /// What stands after the opening fence.
    pub(super) info: &'a str,
    /// The whole block with its fences.
    pub(super) whole: &'a str,
    /// What stands between the fences.
    pub(super) body: &'a str,
    /// Whether the closing fence is there.
    pub(super) closed: bool,
}

/// Cuts a text into its pieces.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = Lines { text, at, number: 0 };
    let mut pieces = Vec::new();
    loop {
        let start = lines.at;
        let Some((line, whole)) = lines.next() else { return pieces };
        pieces.push(match (opening(whole), heading(whole)) {
            (Some(opening), _) => Piece::Fence(fence(&mut lines, start, opening)),
            (None, Some(text)) => Piece::Heading { line, text },
            (None, None) => Piece::Text { line, text: without_end(whole) },
        });
    }
}

/// The lines of a text with their ends.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    number: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        (self.at, self.number) = (self.at + end, self.number + 1);
        Some((self.number, &rest[..end]))
    }
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The mark of an opening fence, how often it stands there, and what follows it.
fn opening(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
    let info = line.trim_start_matches(mark);
    let count = line.len() - info.len();
    // Three marks and one more in the same line are a span of code inside a text.
    (count >= 3 && !(mark == '`' && info.contains('`'))).then(|| (mark, count, info.trim()))
}

/// Reads on from an opening fence at `start` to the closing one, or to the end of the text.
fn fence<'a>(
    lines: &mut Lines<'a>,
    start: usize,
    (mark, count, info): (char, usize, &'a str),
) -> Fence<'a> {
    let (text, line, body) = (lines.text, lines.number, lines.at);
    loop {
        let end = lines.at;
        let Some((_, inner)) = lines.next() else {
            return Fence { line, info, whole: &text[start..], body: &text[body..], closed: false };
        };
        let marks = inner.trim();
        if marks.len() >= count && marks.chars().all(|letter| letter == mark) {
            let whole = without_end(&text[start..lines.at]);
            return Fence { line, info, whole, body: &text[body..end], closed: true };
        }
    }
}

/// The text of a heading, without the marks that may also stand at its end. Four spaces before it
/// would make it code.
fn heading(line: &str) -> Option<&str> {
    let marked = line.trim_start_matches(' ');
    let text = marked.trim_start_matches('#');
    let (indent, marks) = (line.len() - marked.len(), marked.len() - text.len());
    let is_heading = indent < 4 && (1..=6).contains(&marks) && text.starts_with([' ', '\t']);
    is_heading.then(|| text.trim().trim_end_matches('#').trim_end())
}

impl Piece<'_> {
    /// The line in which the piece begins.
    pub(super) fn line(&self) -> usize {
        match self {
            Self::Heading { line, .. } | Self::Text { line, .. } => *line,
            Self::Fence(fence) => fence.line,
        }
    }
}

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
