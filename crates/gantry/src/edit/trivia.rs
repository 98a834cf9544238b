//! What stands between the parts of a text: space and comments.

/// The first byte from `at` on that is neither space nor in a comment.
pub(super) fn skip(text: &str, at: usize) -> usize {
    let mut at = at;
    loop {
        let rest = &text[at..];
        let space = rest.len() - rest.trim_start().len();
        let rest = &rest[space..];
        at += space;
        at += match comment(rest) {
            Some(length) => length,
            None => return at,
        };
    }
}

/// Where the line ends on which `at` stands, when only space and comments come before that; the
/// end of the line itself is left out.
pub(super) fn line_end(text: &str, at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let rest = &text[at..];
        if rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n") {
            return Some(at);
        }
        let length = comment(rest)?;
        // A comment over several lines belongs to what follows.
        if rest[..length].contains('\n') {
            return None;
        }
        at += length;
    }
}

/// The length of the comment that a text begins with; the end of its line is left out.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let line = text.lines().next().unwrap_or_default();
        return Some(line.len());
    }
    let inner = text.strip_prefix("/*")?;
    Some(inner.find("*/").map_or(text.len(), |end| end + 4))
}

/// The space that the line of `at` begins with.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether only space stands before `at` on its line.
pub(super) fn is_first(text: &str, at: usize) -> bool {
    text[line_start(text, at)..at].trim().is_empty()
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}
