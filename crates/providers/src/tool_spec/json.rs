//! The code blocks of a document as JSON values that know their lines, and JSON for people to read.

use bytes::Bytes;
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonError, JsonLimits};

use super::LARGEST;
use super::lines::Fence;

/// A JSON value inside a document.
pub(super) struct Located {
    pub(super) value: RawJson,
    bytes: Bytes,
    line: usize,
}

impl Located {
    /// Reads a code block; otherwise tells the line, what is wrong there and what to do.
    pub(super) fn read(fence: &Fence<'_>) -> Result<Self, (usize, String, &'static str)> {
        if !fence.closed {
            let advice = "end it with a line of the same marks as the first";
            return Err((fence.line, "the code block has no end".to_owned(), advice));
        }
        let bytes = Bytes::copy_from_slice(fence.body.as_bytes());
        let limits = JsonLimits { size: LARGEST, ..JsonLimits::default() };
        match RawJson::parse(bytes.clone(), limits) {
            Ok(value) => Ok(Self { value, bytes, line: fence.line }),
            Err(JsonError::Syntax(error)) => {
                let whole = error.to_string();
                let reason = whole.split(" at line ").next().unwrap_or_default();
                let text = format!("the code block is not valid JSON: {reason}");
                Err((fence.line + error.line().max(1), text, "correct the JSON here"))
            }
            Err(error) => {
                let text = error.to_string().replacen("the message", "the code block", 1);
                Err((fence.line, text, "make it smaller and flatter"))
            }
        }
    }

    /// The line in which the block begins.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The line of a value that was taken out of this one.
    pub(super) fn line_of(&self, part: &RawJson) -> usize {
        // A part shares the bytes of the whole, so its address tells where it stands.
        let offset = (part.bytes().as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        let before = self.bytes.iter().take(offset);
        self.line + 1 + before.filter(|byte| **byte == b'\n').count()
    }
}

/// The same value over several lines. Keys, strings and numbers keep their bytes.
pub(super) fn pretty(value: &RawJson) -> String {
    let compact = value.compact();
    let mut out = String::with_capacity(compact.as_str().len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut letters = compact.as_str().chars().peekable();
    while let Some(letter) = letters.next() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            out.push(letter);
            continue;
        }
        match letter {
            '{' | '[' if letters.peek().is_some_and(|next| !"}]".contains(*next)) => {
                depth += 1;
                out.push(letter);
                new_line(&mut out, depth);
            }
            '}' | ']' if !out.ends_with(['{', '[']) => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                in_string = letter == '"';
                out.push(letter);
            }
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}
