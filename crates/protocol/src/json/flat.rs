//! An index over a JSON text: where every value begins and how far it reaches, eight bytes each. It
//! takes at most four times the memory of its text, where a tree of values takes up to eighty times.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use serde_json::Number;

use super::raw::{JsonKind, RawJson};
use super::scan;

/// The deepest nesting that is indexed.
const DEEPEST: usize = 128;

/// Objects with at least as many members are searched by halves: a search in every member of a large
/// one, for every name of a schema, would take the square of their number.
const MANY: usize = 32;

/// Bytes of a number that always stay within the range of a float, if it has no exponent.
const SHORT_NUMBER: usize = 300;

/// Why a text cannot be indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FlatError {
    /// The text has more bytes than can be counted.
    #[error("it has more than 4 GiB; send less")]
    Long,
    /// It nests too deeply.
    #[error("it is nested deeper than {DEEPEST} levels; flatten it")]
    Deep,
    /// A string has half of a character in it.
    #[error("a string has an escape that stands for half of a character; send whole characters")]
    Surrogate,
    /// A number is beyond the range of a float.
    #[error("a number is beyond the range of a 64-bit float; send it as a string")]
    Number,
}

/// A text with its index.
#[derive(Debug)]
pub struct FlatJson {
    text: Bytes,
    entries: Vec<Entry>,
    /// The keys of large objects in their order, by the number of the object.
    sorted: HashMap<u32, Box<[u32]>>,
}

/// One value, or the key before it.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Where it begins in the text.
    start: u32,
    /// The entry after it and all that it holds.
    next: u32,
}

/// One value of an indexed text. It is small and cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct FlatNode<'a> {
    json: &'a FlatJson,
    index: u32,
}

impl FlatJson {
    /// Indexes a value.
    pub fn new(value: &RawJson) -> Result<Self, FlatError> {
        let text = value.bytes().clone();
        let length = u32::try_from(text.len()).map_err(|_| FlatError::Long)?;
        let entries = Vec::with_capacity(most_entries(&text));
        let mut json = Self { text, entries, sorted: HashMap::new() };
        let (mut at, mut open): (u32, Vec<u32>) = (0, Vec::new());
        while at < length {
            at = json.step(at, &mut open)?;
        }
        // The text is JSON, and so all that was opened is closed.
        debug_assert!(open.is_empty() && !json.entries.is_empty());
        Ok(json)
    }

    /// The value itself.
    pub fn root(&self) -> FlatNode<'_> {
        FlatNode { json: self, index: 0 }
    }

    /// Reads one token, and gives the position after it.
    fn step(&mut self, at: u32, open: &mut Vec<u32>) -> Result<u32, FlatError> {
        let text = &self.text[..];
        let start = at as usize;
        let end = match text[start] {
            b'{' | b'[' if open.len() >= DEEPEST => return Err(FlatError::Deep),
            b'{' | b'[' => {
                open.push(self.push(at));
                return Ok(at + 1);
            }
            b'}' | b']' => {
                if let Some(index) = open.pop() {
                    self.close(index);
                }
                return Ok(at + 1);
            }
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => return Ok(at + 1),
            b'"' => {
                let (end, escaped) = scan::read_string(text, start);
                if escaped && decoded(&text[start..end]).is_none() {
                    return Err(FlatError::Surrogate);
                }
                end
            }
            _ => {
                let end = scan::value_end(text, start);
                if !is_plain_number(&text[start..end]) && number(&text[start..end]).is_none() {
                    return Err(FlatError::Number);
                }
                // Whatever stands there, it goes on.
                end.max(start + 1)
            }
        };
        self.push(at);
        Ok(small(end))
    }

    fn push(&mut self, start: u32) -> u32 {
        let index = small(self.entries.len());
        self.entries.push(Entry { start, next: index + 1 });
        index
    }

    fn close(&mut self, index: u32) {
        self.entries[index as usize].next = small(self.entries.len());
        let node = FlatNode { json: self, index };
        if node.kind() != JsonKind::Object || node.members().nth(MANY - 1).is_none() {
            return;
        }
        let mut keys: Box<[u32]> = node.members().map(|(key, _)| key.index).collect();
        // Stable, so that of two equal names the last one in the text is the last one here.
        keys.sort_by(|one, other| self.key(*one).cmp(&self.key(*other)));
        self.sorted.insert(index, keys);
    }

    fn key(&self, index: u32) -> Cow<'_, str> {
        FlatNode { json: self, index }.as_text().unwrap_or_default()
    }
}

impl<'a> FlatNode<'a> {
    /// What kind of value this is.
    pub fn kind(self) -> JsonKind {
        JsonKind::of(self.rest().first())
    }

    /// A number that identifies this value within its text.
    pub fn index(self) -> u32 {
        self.index
    }

    /// The text of which this value is a part, with its index.
    pub fn json(self) -> &'a FlatJson {
        self.json
    }

    /// A number or literal as it is written; nothing for any other kind of value.
    pub fn written(self) -> &'a [u8] {
        match self.kind() {
            JsonKind::Object | JsonKind::Array | JsonKind::String => &[],
            _ => {
                let rest = self.rest();
                &rest[..scan::value_end(rest, 0)]
            }
        }
    }

    /// The string's value, when this is a string.
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        if self.kind() != JsonKind::String {
            return None;
        }
        let rest = self.rest();
        let (end, escaped) = scan::read_string(rest, 0);
        match escaped {
            true => decoded(&rest[..end]).map(Cow::Owned),
            false => std::str::from_utf8(&rest[1..end - 1]).ok().map(Cow::Borrowed),
        }
    }

    /// The number, when this is one.
    pub fn as_number(self) -> Option<Number> {
        if self.kind() != JsonKind::Number {
            return None;
        }
        let rest = self.rest();
        number(&rest[..scan::value_end(rest, 0)])
    }

    /// Whether this is true or false, when it is one of them.
    pub fn as_boolean(self) -> Option<bool> {
        (self.kind() == JsonKind::Boolean).then(|| self.rest().first() == Some(&b't'))
    }

    /// The elements of an array, in order; nothing for any other kind of value.
    pub fn elements(self) -> FlatElements<'a> {
        let end = if self.kind() == JsonKind::Array { self.entry().next } else { 0 };
        FlatElements { json: self.json, at: self.index + 1, end }
    }

    /// The members of an object, in order, keys as strings; nothing for any other kind of value.
    pub fn members(self) -> FlatMembers<'a> {
        let end = if self.kind() == JsonKind::Object { self.entry().next } else { 0 };
        FlatMembers { json: self.json, at: self.index + 1, end }
    }

    /// The members of an object in the order of their keys.
    pub fn sorted_members(self) -> impl Iterator<Item = (Self, Self)> + use<'a> {
        let of = move |index| (Self { index, ..self }, Self { index: index + 1, ..self });
        let known = self.json.sorted.get(&self.index);
        let few = known.is_none().then(|| {
            let mut keys: Vec<u32> = self.members().map(|(key, _)| key.index).collect();
            keys.sort_by_cached_key(|index| self.json.key(*index));
            keys
        });
        known.into_iter().flatten().copied().chain(few.into_iter().flatten()).map(of)
    }

    /// Whether two values are equal: members in any order, numbers compared by `numbers`.
    pub fn equals(self, other: FlatNode<'_>, numbers: fn(&Number, &Number) -> bool) -> bool {
        match (self.kind(), other.kind()) {
            (JsonKind::Object, JsonKind::Object) => {
                self.members().count() == other.members().count()
                    && self.members().all(|(key, value)| {
                        let other = other.get(&key.as_text().unwrap_or_default());
                        other.is_some_and(|other| value.equals(other, numbers))
                    })
            }
            (JsonKind::Array, JsonKind::Array) => {
                let mut others = other.elements();
                let is_same = |one: Self| others.next().is_some_and(|it| one.equals(it, numbers));
                self.elements().all(is_same) && others.next().is_none()
            }
            (JsonKind::Number, JsonKind::Number) => match (self.as_number(), other.as_number()) {
                (Some(one), Some(other)) => numbers(&one, &other),
                _ => false,
            },
            (JsonKind::String, JsonKind::String) => self.as_text() == other.as_text(),
            (JsonKind::Boolean, JsonKind::Boolean) => self.as_boolean() == other.as_boolean(),
            (one, other) => one == other,
        }
    }

    /// The value of the last member called `key`.
    pub fn get(self, key: &str) -> Option<Self> {
        match self.json.sorted.get(&self.index) {
            Some(keys) => {
                let after = keys.partition_point(|index| self.json.key(*index).as_ref() <= key);
                let index = *keys.get(after.checked_sub(1)?)?;
                let found = Self { index, ..self };
                found.is_text(key).then_some(Self { index: index + 1, ..self })
            }
            None => self.members().filter(|(name, _)| name.is_text(key)).last().map(|it| it.1),
        }
    }

    /// Whether this is a string equal to `text`.
    pub fn is_text(self, text: &str) -> bool {
        let Some(inside) = self.rest().strip_prefix(b"\"") else { return false };
        let differs = inside.iter().zip(text.as_bytes()).position(|(one, other)| one != other);
        let at = differs.unwrap_or(text.len()).min(inside.len());
        // An escape may say the same in another way, and what it hides is no end.
        match memchr::memchr(b'\\', &inside[..at]).is_some() || inside.get(at) == Some(&b'\\') {
            true => self.as_text().is_some_and(|own| own == text),
            false => at == text.len() && inside.get(at) == Some(&b'"') && !text.contains('"'),
        }
    }

    /// The value that a JSON pointer leads to.
    pub fn at(self, pointer: &str) -> Option<Self> {
        pointer.split('/').skip(1).try_fold(self, |node, part| match node.kind() {
            JsonKind::Array => node.elements().nth(part.parse().ok()?),
            _ => node.get(&part.replace("~1", "/").replace("~0", "~")),
        })
    }

    /// How deep arrays and objects nest in it.
    pub fn depth(self) -> usize {
        let (mut ends, mut deepest): (Vec<u32>, usize) = (Vec::new(), 0);
        for index in self.index..self.entry().next {
            while ends.last().is_some_and(|end| *end <= index) {
                ends.pop();
            }
            let node = Self { index, ..self };
            if matches!(node.kind(), JsonKind::Array | JsonKind::Object) {
                ends.push(node.entry().next);
                deepest = deepest.max(ends.len());
            }
        }
        deepest
    }

    fn entry(self) -> Entry {
        self.json.entries[self.index as usize]
    }

    /// The text from where it begins.
    fn rest(self) -> &'a [u8] {
        &self.json.text[self.entry().start as usize..]
    }
}

/// The elements of an array.
#[derive(Debug, Clone)]
pub struct FlatElements<'a> {
    json: &'a FlatJson,
    at: u32,
    end: u32,
}

impl<'a> Iterator for FlatElements<'a> {
    type Item = FlatNode<'a>;

    fn next(&mut self) -> Option<FlatNode<'a>> {
        let node = FlatNode { json: self.json, index: self.at };
        (self.at < self.end).then(|| {
            self.at = node.entry().next;
            node
        })
    }
}

/// The members of an object.
#[derive(Debug, Clone)]
pub struct FlatMembers<'a> {
    json: &'a FlatJson,
    at: u32,
    end: u32,
}

impl<'a> Iterator for FlatMembers<'a> {
    type Item = (FlatNode<'a>, FlatNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = FlatNode { json: self.json, index: self.at };
        let value = FlatNode { index: self.at + 1, ..key };
        (self.at < self.end).then(|| {
            self.at = value.entry().next;
            (key, value)
        })
    }
}

/// A number that is known to be no larger than the length of a text.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// No text has more values and keys: each but the first has one of these bytes before it. Room that
/// is not used is never touched, and so costs nothing.
fn most_entries(text: &[u8]) -> usize {
    let is_lead = |byte: &&u8| matches!(byte, b',' | b':' | b'[' | b'{');
    1 + text.iter().filter(is_lead).count().min(text.len() / 2 + 1)
}

/// Whether it is a literal, or a number that a float can hold without a look.
fn is_plain_number(text: &[u8]) -> bool {
    text.len() <= SHORT_NUMBER && memchr::memchr2(b'e', b'E', text).is_none()
        || matches!(text.first(), Some(b't' | b'f' | b'n'))
}

fn number(text: &[u8]) -> Option<Number> {
    // Most are short and whole, and serde takes longer for those than for all the rest.
    if text.len() <= 15 && text.iter().all(u8::is_ascii_digit) {
        let value = text.iter().fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0'));
        return Some(value.into());
    }
    serde_json::from_slice(text).ok()
}

fn decoded(quoted: &[u8]) -> Option<String> {
    serde_json::from_slice(quoted).ok()
}

#[cfg(test)]
mod tests;
