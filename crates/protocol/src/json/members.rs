//! Iterating over an object's members or an array's elements without building a tree.

use std::borrow::Cow;
use std::ops::Range;

use super::raw::RawJson;
use super::scan;

/// A member appears twice in an object where it may appear once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the member `{0}` appears more than once; send it once")]
pub struct Duplicate(pub &'static str);

/// Why two readers may find different values under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ambiguity {
    /// The key appears twice.
    #[error(transparent)]
    Twice(#[from] Duplicate),
    /// Readers that ignore case find another member under the key too.
    #[error(
        "there is a member like `{0}` but for capital letters, which some servers take for it; leave it out"
    )]
    OtherCase(&'static str),
}

impl Ambiguity {
    /// The member.
    pub fn member(self) -> &'static str {
        match self {
            Self::Twice(Duplicate(name)) | Self::OtherCase(name) => name,
        }
    }
}

/// Whether a key is another one than `known` only by the case of its letters. Beside the letters of
/// ASCII there are four that some readers take for those.
pub fn is_same_but_for_case(key: &[u8], known: &str) -> bool {
    let fold = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        '\u{130}' | '\u{131}' => 'i',
        letter => letter.to_ascii_lowercase(),
    };
    // No letter is longer than three bytes, and most keys differ in length.
    if key.len() < known.len() || key.len() > 3 * known.len() {
        return false;
    }
    match std::str::from_utf8(key) {
        Ok(key) => key != known && key.chars().map(fold).eq(known.chars().map(fold)),
        Err(_) => false,
    }
}

/// The members of an object in the order of the text.
#[derive(Debug)]
pub struct Members<'a> {
    object: &'a RawJson,
    at: usize,
}

/// One member of an object.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    object: &'a RawJson,
    pub(super) key: Range<usize>,
    /// Whether the key is written with escapes.
    escaped: bool,
    pub(super) value: Range<usize>,
}

impl<'a> Members<'a> {
    pub(super) fn new(object: &'a RawJson) -> Self {
        let at = if object.is_object() { 1 } else { object.bytes().len() };
        Self { object, at }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let text: &[u8] = self.object.bytes();
        let key_start = scan::skip_whitespace(text, self.at);
        if text.get(key_start) != Some(&b'"') {
            return None;
        }
        let (key_end, escaped) = scan::read_string(text, key_start);
        let colon = scan::skip_whitespace(text, key_end);
        let value_start = scan::skip_whitespace(text, colon + 1);
        let value_end = scan::value_end(text, value_start);
        let after = scan::skip_whitespace(text, value_end);
        self.at = if text.get(after) == Some(&b',') { after + 1 } else { text.len() };
        Some(Member {
            object: self.object,
            key: key_start..key_end,
            escaped,
            value: value_start..value_end,
        })
    }
}

impl RawJson {
    /// The first of these members that two readers may read differently.
    pub fn ambiguous(&self, known: &[&'static str]) -> Option<Ambiguity> {
        known.iter().find_map(|known| {
            let count = self.members().filter(|member| member.is(known)).count();
            let is_other = |it: Member<'_>| is_same_but_for_case(&it.key_bytes(), known);
            match count {
                0 | 1 => self.members().any(is_other).then_some(Ambiguity::OtherCase(known)),
                _ => Some(Ambiguity::Twice(Duplicate(known))),
            }
        })
    }
}

impl Member<'_> {
    /// Whether this member is called `key`, escapes in the text resolved.
    pub fn is(&self, key: &str) -> bool {
        let text = self.quoted_key();
        let plain = &text[1..text.len() - 1];
        if self.escaped { self.key() == key } else { plain == key.as_bytes() }
    }

    /// The member's name. Escapes that name half a character have no value, so a key with one in
    /// it is given as it is written.
    pub fn key(&self) -> Cow<'_, str> {
        let text = self.quoted_key();
        let written = || String::from_utf8_lossy(&text[1..text.len() - 1]);
        match self.escaped {
            true => serde_json::from_slice(text).map_or_else(|_| written(), Cow::Owned),
            false => written(),
        }
    }

    /// The member's name as bytes, which cost nothing to compare.
    pub fn key_bytes(&self) -> Cow<'_, [u8]> {
        match self.escaped {
            true => Cow::Owned(self.key().into_owned().into_bytes()),
            false => {
                let text = self.quoted_key();
                Cow::Borrowed(&text[1..text.len() - 1])
            }
        }
    }

    /// The member's value.
    pub fn value(&self) -> RawJson {
        self.object.slice(self.value.clone())
    }

    /// The value, as it is written.
    pub(crate) fn value_text(&self) -> &[u8] {
        &self.object.bytes()[self.value.clone()]
    }

    /// Where the value starts in the text of the object.
    pub(crate) fn value_start(&self) -> usize {
        self.value.start
    }

    /// Key and value, as they are written.
    pub(super) fn text(&self) -> &[u8] {
        &self.object.bytes()[self.key.start..self.value.end]
    }

    fn quoted_key(&self) -> &[u8] {
        &self.object.bytes()[self.key.clone()]
    }
}

/// The text of a quoted string without escapes.
pub(super) fn plain_text(quoted: &[u8]) -> Option<&str> {
    let inside = quoted.get(1..quoted.len().checked_sub(1)?)?;
    match inside.contains(&b'\\') {
        true => None,
        false => std::str::from_utf8(inside).ok(),
    }
}

/// The elements of an array in order.
#[derive(Debug)]
pub struct Elements<'a> {
    array: &'a RawJson,
    at: usize,
}

impl<'a> Elements<'a> {
    pub(super) fn new(array: &'a RawJson) -> Self {
        let is_array = array.bytes().first() == Some(&b'[');
        Self { array, at: if is_array { 1 } else { array.bytes().len() } }
    }
}

impl Iterator for Elements<'_> {
    type Item = RawJson;

    fn next(&mut self) -> Option<RawJson> {
        let text: &[u8] = self.array.bytes();
        let start = scan::skip_whitespace(text, self.at);
        if matches!(text.get(start), None | Some(b']')) {
            return None;
        }
        let end = scan::value_end(text, start);
        let after = scan::skip_whitespace(text, end);
        self.at = if text.get(after) == Some(&b',') { after + 1 } else { text.len() };
        Some(self.array.slice(start..end))
    }
}
