//! Validates JSON text in one pass, without building a tree, and reports the members of an envelope on
//! the way: a message is validated and taken apart at once. Only common forms are accepted here. A
//! text that is refused may still be valid in a rare form: serde decides that, and reports what is
//! wrong.

use std::ops::Range;

use super::scan::{HIGHS, holds, holds_less, skip_whitespace};

/// Deeper texts are left to serde: this parser is recursive.
const DEEPEST: usize = 128;

/// Whether the text is one value, nested no deeper than `depth`, with space around it at most.
pub(super) fn is_value(text: &[u8], depth: usize) -> bool {
    let end = value(text, skip_whitespace(text, 0), depth.min(DEEPEST));
    end.is_some_and(|end| skip_whitespace(text, end) == text.len())
}

/// The same for an object; `member` gets each key and the range of its value. An object with an escape
/// in a key is left to serde.
pub(crate) fn is_object(
    text: &[u8],
    depth: usize,
    mut member: impl FnMut(&[u8], Range<usize>),
) -> bool {
    let Some(depth) = depth.min(DEEPEST).checked_sub(1) else { return false };
    let mut plain = true;
    let end = object(text, skip_whitespace(text, 0), depth, &mut |key, value| {
        let key = &text[key.start + 1..key.end - 1];
        plain &= !key.contains(&b'\\');
        member(key, value);
    });
    plain && end.is_some_and(|end| skip_whitespace(text, end) == text.len())
}

/// The position after the value that starts at `at`.
fn value(text: &[u8], at: usize, depth: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => string(text, at),
        b'{' => object(text, at, depth.checked_sub(1)?, &mut |_, _| ()),
        b'[' => array(text, at, depth.checked_sub(1)?),
        b't' => literal(text, at, b"true"),
        b'f' => literal(text, at, b"false"),
        b'n' => literal(text, at, b"null"),
        _ => number(text, at),
    }
}

fn object(
    text: &[u8],
    at: usize,
    depth: usize,
    member: &mut impl FnMut(Range<usize>, Range<usize>),
) -> Option<usize> {
    let mut at = skip_whitespace(text, expect(text, at, b'{')?);
    if text.get(at) == Some(&b'}') {
        return Some(at + 1);
    }
    loop {
        let key = at..string(text, at)?;
        let start = skip_whitespace(text, expect(text, skip_whitespace(text, key.end), b':')?);
        let end = value(text, start, depth)?;
        member(key, start..end);
        at = skip_whitespace(text, end);
        match text.get(at)? {
            b',' => at = skip_whitespace(text, at + 1),
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

fn array(text: &[u8], at: usize, depth: usize) -> Option<usize> {
    let mut at = skip_whitespace(text, expect(text, at, b'[')?);
    if text.get(at) == Some(&b']') {
        return Some(at + 1);
    }
    loop {
        at = skip_whitespace(text, value(text, at, depth)?);
        match text.get(at)? {
            b',' => at = skip_whitespace(text, at + 1),
            b']' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Characters beyond ASCII are checked when the end is known.
fn string(text: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut ascii) = (expect(text, start, b'"')?, true);
    loop {
        at += before_special(text.get(at..)?);
        match text.get(at)? {
            b'"' if ascii || std::str::from_utf8(&text[start..at]).is_ok() => return Some(at + 1),
            b'\\' => at = escape(text, at + 1)?,
            0x80.. => {
                ascii = false;
                at += 1;
            }
            _ => return None,
        }
    }
}

fn escape(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = text.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

fn number(text: &[u8], start: usize) -> Option<usize> {
    let at = start + usize::from(text.get(start) == Some(&b'-'));
    let mut at = match text.get(at)? {
        b'0' => at + 1,
        _ => digits(text, at)?,
    };
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = digits(text, at)?;
    }
    Some(at)
}

/// The position after one digit or more.
fn digits(text: &[u8], start: usize) -> Option<usize> {
    let length = text.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length > 0).then_some(start + length)
}

fn literal(text: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    text[at..].starts_with(word).then_some(at + word.len())
}

fn expect(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    (text.get(at) == Some(&byte)).then_some(at + 1)
}

/// How many bytes precede the first that is a quote, a backslash, a control character or part of
/// a character beyond ASCII.
fn before_special(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found =
            holds(word, b'"') | holds(word, b'\\') | holds_less(word, 0x20) | (word & HIGHS);
        if found != 0 {
            return index * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20 | 0x80..);
    words.len() * 8 + rest.iter().position(special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    fn is_valid(text: &[u8]) -> bool {
        std::str::from_utf8(text).is_ok() && serde_json::from_slice::<IgnoredAny>(text).is_ok()
    }

    #[test]
    fn texts() {
        for (text, expected) in [
            (r#" {"a" : [1, -0.5e+3 ,true,false,null,{}], "" : "\u00e9\n"} "#, true),
            (r#""schön, 日本""#, true),
            ("[[[]]]", true),
            ("[[[[]]]]", false),
            ("0", true),
            ("01", false),
            ("-", false),
            ("1.", false),
            ("1e", false),
            (".5", false),
            ("+1", false),
            ("truex", false),
            ("tru", false),
            ("[1,]", false),
            ("[,1]", false),
            ("[1 2]", false),
            (r#"{"a":1,}"#, false),
            (r#"{"a"}"#, false),
            (r#"{a:1}"#, false),
            (r#""\x""#, false),
            (r#""\u12g4""#, false),
            (r#""\u12"#, false),
            ("\"\t\"", false),
            ("\"a", false),
            ("", false),
            (" ", false),
            ("1 1", false),
        ] {
            assert_eq!(is_value(text.as_bytes(), 3), expected, "{text}");
        }
        assert!(!is_value(b"\"\xff\"", 3) && !is_value(b"\"\xc3\"", 3));
    }

    #[test]
    fn members() {
        let text = br#" {"a": 1 , "b":{"c":[]},"a":"x" } "#;
        let mut seen = Vec::new();
        assert!(
            is_object(text, 3, |key, value| seen.push((key.to_owned(), text[value].to_owned())))
        );
        let shown: Vec<_> = seen.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"a", b"1"), (b"b", br#"{"c":[]}"#), (b"a", br#""x""#)];
        assert_eq!(shown, expected);
        assert!(!is_object(br#"{"\u0061":1}"#, 3, |_, _| ()), "left to others");
        assert!(!is_object(br#"{"a":[[]]}"#, 2, |_, _| ()) && !is_object(b"[]", 3, |_, _| ()));
    }

    /// Texts that are JSON, and such as are nearly so.
    fn nearly() -> impl Strategy<Value = Vec<u8>> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<f64>().prop_map(|it| serde_json::json!(it).to_string()),
            any::<i64>().prop_map(|it| it.to_string()),
            any::<String>().prop_map(|it| serde_json::json!(it).to_string()),
        ];
        let value = leaf.prop_recursive(4, 24, 4, |inner| {
            let member = (any::<String>(), inner.clone());
            let member =
                member.prop_map(|(key, value)| format!("{}: {value}", serde_json::json!(key)));
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(" ,"))),
                prop::collection::vec(member, 0..4)
                    .prop_map(|all| format!("{{{}}}", all.join(","))),
            ]
        });
        let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4u8);
        (value, prop::collection::vec(change, 0..3)).prop_map(|(text, changes)| {
            let mut text = text.into_bytes();
            for (index, byte, kind) in changes.into_iter().filter(|(_, _, kind)| *kind < 3) {
                let at = index.index(text.len() + 1);
                match kind {
                    0 if at < text.len() => text[at] = byte,
                    1 if at < text.len() => drop(text.remove(at)),
                    _ => text.insert(at, byte),
                }
            }
            text
        })
    }

    proptest! {
        #[test]
        fn it_says_what_another_reader_says(text in nearly()) {
            prop_assert_eq!(is_value(&text, DEEPEST), is_valid(&text));
        }
    }
}
