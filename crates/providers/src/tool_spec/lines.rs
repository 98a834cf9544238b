//! Markdown as a row of pieces: headings, code blocks and lines of text. Only what the sections of a
//! document are found by is understood; all else is text.

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
