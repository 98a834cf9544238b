//! Whether an object anywhere in a value names a member twice, found in one pass. Readers differ in
//! which of the two they take, so that a check and a tool could see different values.

use std::borrow::Cow;
use std::collections::HashSet;

use super::raw::RawJson;
use super::scan::read_string;

/// Members of an object that are compared one by one; of more a set is made.
const FEW: usize = 16;

/// Characters of a key that are reported.
const REPORTED: usize = 64;

/// An object or array that is open.
enum Open<'a> {
    Array,
    /// An object, with where its keys begin among all that are remembered.
    Object(usize),
    /// An object with many members.
    Large(HashSet<Cow<'a, [u8]>>),
}

impl RawJson {
    /// The first key that an object in this value has twice, at any depth; the beginning of it, if
    /// it is long.
    ///
    /// ```
    /// use gantry_protocol::RawJson;
    /// let twice = RawJson::from_static(r#"{"a":[{"b":1,"\u0062":2}]}"#);
    /// assert_eq!(twice.duplicate_key().as_deref(), Some("b"));
    /// ```
    pub fn duplicate_key(&self) -> Option<String> {
        let key = find(self.bytes())?;
        let key = String::from_utf8_lossy(&key);
        Some(key.chars().take(REPORTED).collect())
    }
}

/// Walks over text that is known to be valid.
fn find(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut keys: Vec<Cow<'_, [u8]>> = Vec::new();
    let (mut at, mut is_key) = (0, false);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                let (end, escaped) = read_string(text, at);
                if std::mem::take(&mut is_key) {
                    let key = key(&text[at..end], escaped);
                    if let Some(twice) = add(open.last_mut()?, &mut keys, key) {
                        return Some(twice);
                    }
                }
                at = end;
                continue;
            }
            b'{' => {
                open.push(Open::Object(keys.len()));
                is_key = true;
            }
            b'[' => open.push(Open::Array),
            b'}' | b']' => {
                if let Some(Open::Object(start)) = open.pop() {
                    keys.truncate(start);
                }
                is_key = false;
            }
            b',' => is_key = !matches!(open.last(), None | Some(Open::Array)),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Adds a key to the object that is open; gives it back if it was there.
fn add<'a>(
    open: &mut Open<'a>,
    keys: &mut Vec<Cow<'a, [u8]>>,
    key: Cow<'a, [u8]>,
) -> Option<Cow<'a, [u8]>> {
    match open {
        Open::Array => None,
        Open::Large(set) => set.replace(key),
        Open::Object(start) if keys[*start..].contains(&key) => Some(key),
        Open::Object(start) if keys.len() - *start < FEW => {
            keys.push(key);
            None
        }
        Open::Object(start) => {
            let known = keys.drain(*start..).chain([key]).collect();
            *open = Open::Large(known);
            None
        }
    }
}

/// The decoded key. One with an unpaired surrogate cannot be decoded and is compared as written.
fn key(quoted: &[u8], escaped: bool) -> Cow<'_, [u8]> {
    let written = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    match escaped.then(|| serde_json::from_slice::<String>(quoted)) {
        Some(Ok(said)) => Cow::Owned(said.into_bytes()),
        _ => Cow::Borrowed(written),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;
    use crate::JsonLimits;

    fn duplicate(text: &str) -> Option<String> {
        let limits = JsonLimits { size: usize::MAX, ..JsonLimits::default() };
        RawJson::parse(text.to_owned(), limits).expect(text).duplicate_key()
    }

    #[test]
    fn at_every_depth_and_however_it_is_written() {
        let many = |last: &str| {
            let members: Vec<String> = (0..100).map(|it| format!("\"k{it}\":{it}")).collect();
            format!("{{{},\"{last}\":0}}", members.join(","))
        };
        let cases = [
            ("{}".to_owned(), None),
            ("[]".to_owned(), None),
            ("1".to_owned(), None),
            ("\"a\"".to_owned(), None),
            (r#"{"a":1,"b":2}"#.to_owned(), None),
            (r#"{"a":1,"a":2}"#.to_owned(), Some("a")),
            (r#" { "a" : "a" , "b" : "a" } "#.to_owned(), None),
            (r#"{"a":{"a":{"a":1}}}"#.to_owned(), None),
            (r#"[{"a":1},{"a":2}]"#.to_owned(), None),
            (r#"{"a":[1,"b","b"],"b":["a","a"]}"#.to_owned(), None),
            (r#"{"x":[0,{"y":{"a":1,"b":{},"a":2}}]}"#.to_owned(), Some("a")),
            (r#"{"a":{"b":1},"b":2,"a":3}"#.to_owned(), Some("a")),
            (r#"{"a":1,"\u0061":2}"#.to_owned(), Some("a")),
            (r#"{"":1,"":2}"#.to_owned(), Some("")),
            (r#"{"\"":1,"\u0022":2}"#.to_owned(), Some("\"")),
            (r#"{"\ud800":1,"\ud801":2}"#.to_owned(), None),
            (r#"{"A":1,"a":2}"#.to_owned(), None),
            (r#"{"a":"{\"a\":1,\"a\":2}"}"#.to_owned(), None),
            (many("other"), None),
            (many("k99"), Some("k99")),
            (many("k3"), Some("k3")),
            (format!("{{\"x\":{},\"x\":1}}", many("other")), Some("x")),
        ];
        for (text, expected) in cases {
            assert_eq!(duplicate(&text).as_deref(), expected, "{text}");
        }
        let long = "k".repeat(5000);
        let told = duplicate(&format!("{{\"{long}\":1,\"{long}\":2}}"));
        assert_eq!(told.map(|it| it.len()), Some(REPORTED));
    }

    /// An object with very many members takes as long as it is large.
    #[test]
    fn many_members_take_linear_time() {
        let members: Vec<String> = (0..200_000).map(|it| format!("\"k{it}\":0")).collect();
        let text = format!("{{{}}}", members.join(","));
        let started = Instant::now();
        assert_eq!(duplicate(&text), None);
        // Comparing each with each would take minutes.
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }

    proptest! {
        #[test]
        fn it_finds_what_a_plain_reader_finds(
            members in prop::collection::vec(("[ab]{0,2}", 0..3_u8), 0..30),
        ) {
            let inside: Vec<String> =
                members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            let mut seen = HashSet::new();
            let expected = members.iter().find(|(key, _)| !seen.insert(key)).map(|it| it.0.clone());
            let object = format!("{{{}}}", inside.join(","));
            prop_assert_eq!(duplicate(&object), expected.clone());
            prop_assert_eq!(duplicate(&format!("{{\"x\":[1,{object}]}}")), expected);
        }
    }
}
