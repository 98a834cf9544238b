//! Scans JSON text that is known to be valid: ends of strings and values, depth, whitespace.
//!
//! Nothing here checks syntax. On text that is not valid the answers are meaningless but the
//! functions still end and never read out of bounds.

use bytes::{BufMut, Bytes, BytesMut};

/// Whether `text` nests no deeper than `limit`.
pub(crate) fn within_depth(text: &[u8], limit: usize) -> bool {
    // Nesting cannot exceed the number of opening brackets, and counting those is far cheaper
    // than following the strings.
    openings(text) <= limit || deepest(text) <= limit
}

/// How many opening brackets there are, in strings too. Counted in bytes, which the processor adds
/// up many at a time, and so in pieces that no byte can overflow in.
fn openings(text: &[u8]) -> usize {
    let count = |piece: &[u8]| -> u8 {
        piece.iter().map(|byte| u8::from(matches!(byte, b'{' | b'['))).sum()
    };
    text.chunks(u8::MAX.into()).map(|piece| usize::from(count(piece))).sum()
}

fn deepest(text: &[u8]) -> usize {
    let (mut at, mut depth, mut deepest) = (0, 0usize, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// The first position at or after `at` that is not whitespace.
pub(crate) fn skip_whitespace(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The position after the string that starts at `start`.
pub(crate) fn string_end(text: &[u8], start: usize) -> usize {
    read_string(text, start).0
}

/// The position after the string that starts at `start`, and whether it holds an escape.
pub(crate) fn read_string(text: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut escaped) = (start + 1, false);
    while at < text.len() {
        at += before_special(&text[at..]);
        match text.get(at) {
            Some(b'"') => return (at + 1, escaped),
            // What an escape hides ends nothing.
            _ => at += 2,
        }
        escaped = true;
    }
    (text.len(), true)
}

/// How many bytes precede the first quote or backslash. Most strings are short, so eight
/// bytes at a time beat a vector search, which has to be set up first.
fn before_special(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = holds(word, b'"') | holds(word, b'\\');
        if found != 0 {
            return index * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let special = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
    words.len() * 8 + special.unwrap_or(rest.len())
}

/// The lowest bit of each byte.
const ONES: u64 = u64::from_le_bytes([1; 8]);
/// The highest bit of each byte.
pub(super) const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);

/// Marks the high bit of each byte of `word` that is less than `byte`, which is at most 128; marks
/// above the lowest may be wrong.
pub(super) fn holds_less(word: u64, byte: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(byte)) & !word & HIGHS
}

/// Marks the high bit of each byte of `word` that equals `byte`; marks above the lowest may be
/// wrong.
pub(super) fn holds(word: u64, byte: u8) -> u64 {
    let zeroed = word ^ (ONES * u64::from(byte));
    zeroed.wrapping_sub(ONES) & !zeroed & HIGHS
}

/// The position after the value that starts at `start`.
pub(crate) fn value_end(text: &[u8], start: usize) -> usize {
    match text.get(start) {
        Some(b'"') => string_end(text, start),
        Some(b'{' | b'[') => nested_end(text, start),
        _ => {
            let rest = text.get(start..).unwrap_or_default();
            let ends =
                |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            rest.iter().position(ends).map_or(text.len(), |length| start + length)
        }
    }
}

fn nested_end(text: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0usize);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// The text without the whitespace between its parts; none when there is no whitespace.
pub(crate) fn without_whitespace(text: &[u8]) -> Option<Bytes> {
    let mut out: Option<BytesMut> = None;
    let mut at = 0;
    while at < text.len() {
        let end = match text[at] {
            b'"' => string_end(text, at),
            _ => at + 1,
        };
        if skip_whitespace(text, at) > at {
            out.get_or_insert_with(|| BytesMut::from(&text[..at]));
        } else if let Some(out) = &mut out {
            out.put_slice(&text[at..end]);
        }
        at = end;
    }
    out.map(BytesMut::freeze)
}
