//! Shallow edit of an object: named members are set or removed, every other byte stays.

use std::borrow::Cow;
use std::ops::Range;

use bytes::{BufMut, BytesMut};

use super::members::Member;
use super::raw::RawJson;

/// A pending edit of one object. Nothing happens until [`Edit::apply`].
#[derive(Debug)]
pub struct Edit<'a> {
    object: &'a RawJson,
    changes: Vec<Change<'a>>,
}

#[derive(Debug)]
struct Change<'a> {
    key: Cow<'a, str>,
    value: Option<RawJson>,
    placed: bool,
}

impl<'a> Edit<'a> {
    pub(super) fn new(object: &'a RawJson) -> Self {
        Self { object, changes: Vec::new() }
    }

    /// Gives the member `key` a value: in its place when it is there, at the end when it is not.
    #[must_use]
    pub fn set(self, key: impl Into<Cow<'a, str>>, value: RawJson) -> Self {
        self.change(key.into(), Some(value))
    }

    /// Sets the member when there is a value, and leaves the object alone when there is none.
    #[must_use]
    pub fn set_some(self, key: impl Into<Cow<'a, str>>, value: Option<RawJson>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// Removes the member `key`, as often as it is there.
    #[must_use]
    pub fn remove(self, key: impl Into<Cow<'a, str>>) -> Self {
        self.change(key.into(), None)
    }

    /// The last change to a key wins.
    fn change(mut self, key: Cow<'a, str>, value: Option<RawJson>) -> Self {
        match self.changes.iter_mut().find(|change| change.key == key) {
            Some(change) => change.value = value,
            None => self.changes.push(Change { key, value, placed: false }),
        }
        self
    }

    /// Writes the edited object. A value that is not an object comes back as it is.
    ///
    /// ```
    /// use gantry_protocol::RawJson;
    /// let raw = RawJson::from_static(r#"{ "b": 1.10, "a": [2] , "c":3}"#);
    /// let edited = raw.edit().set("b", RawJson::string("x")).remove("a").apply();
    /// assert_eq!(edited.as_str(), r#"{ "b": "x" , "c":3}"#);
    /// ```
    pub fn apply(mut self) -> RawJson {
        if !self.object.is_object() || self.changes.is_empty() {
            return self.object.clone();
        }
        let source: &[u8] = self.object.bytes();
        let added: usize = self.changes.iter().map(Change::room).sum();
        let mut draft = Draft { source, added, out: BytesMut::new(), kept: false };
        let mut previous_end = 1;
        for member in self.object.members() {
            let lead = previous_end..member.key.start;
            // Read once: a key that is written with escapes costs more than the comparisons.
            let key = member.key_bytes();
            match self.changes.iter_mut().find(|change| *key == *change.key.as_bytes()) {
                None => draft.put(lead, &member, &source[member.value.clone()]),
                Some(change) => {
                    draft.start_at(previous_end);
                    // A second member of the same name goes, whatever becomes of the first.
                    let placed = std::mem::replace(&mut change.placed, true);
                    if let Some(value) = change.value.as_ref().filter(|_| !placed) {
                        draft.put(lead, &member, value.bytes());
                    }
                }
            }
            previous_end = member.value.end;
        }
        for change in self.changes.iter().filter(|change| !change.placed) {
            if let Some(value) = &change.value {
                draft.start_at(previous_end);
                draft.append(&change.key, value);
            }
        }
        if draft.out.is_empty() {
            return self.object.clone();
        }
        draft.out.put_slice(&source[previous_end..]);
        RawJson::trusted(draft.out.freeze())
    }
}

impl Change<'_> {
    fn room(&self) -> usize {
        self.value.as_ref().map_or(0, |value| value.bytes().len() + self.key.len() + 4)
    }
}

/// The text being written. It stays empty, and so unallocated, until something changes.
struct Draft<'a> {
    source: &'a [u8],
    added: usize,
    out: BytesMut,
    /// Whether a member was written before the next one.
    kept: bool,
}

impl Draft<'_> {
    /// Starts the copy at the first change: the source up to `end` is unchanged.
    fn start_at(&mut self, end: usize) {
        if self.out.is_empty() {
            self.out.reserve(self.source.len() + self.added);
            self.out.put_slice(&self.source[..end]);
        }
    }

    fn put(&mut self, lead: Range<usize>, member: &Member<'_>, value: &[u8]) {
        if !self.out.is_empty() {
            self.put_lead(lead);
            self.out.put_slice(&self.source[member.key.start..member.value.start]);
            self.out.put_slice(value);
        }
        self.kept = true;
    }

    /// Writes the separator before a member. The comma in it belongs to the member before, which may
    /// have been removed, so the first member kept takes only the whitespace after that comma.
    fn put_lead(&mut self, lead: Range<usize>) {
        let text = &self.source[lead];
        let from = match memchr::memchr(b',', text) {
            Some(comma) if !self.kept => comma + 1,
            _ => 0,
        };
        self.out.put_slice(&text[from..]);
    }

    fn append(&mut self, key: &str, value: &RawJson) {
        if self.kept {
            self.out.put_u8(b',');
        }
        put_key(&mut self.out, key);
        self.out.put_slice(value.bytes());
        self.kept = true;
    }
}

impl RawJson {
    /// The same text with `value` in the place of `part`, which must be a slice of it. Unlike an edit
    /// this does not scan the rest of the text.
    ///
    /// ```
    /// use gantry_protocol::RawJson;
    /// let raw = RawJson::from_static(r#"{ "a": [1], "b": 2 }"#);
    /// let replaced = raw.replace(&raw.get("a").unwrap(), &RawJson::NULL);
    /// assert_eq!(replaced.as_str(), r#"{ "a": null, "b": 2 }"#);
    /// ```
    ///
    /// # Panics
    ///
    /// If `part` is not a part of this text.
    #[must_use]
    pub fn replace(&self, part: &Self, value: &Self) -> Self {
        let source = self.bytes();
        let start = (part.bytes().as_ptr() as usize).wrapping_sub(source.as_ptr() as usize);
        let (before, rest) = source.split_at(start);
        let mut out = BytesMut::with_capacity(source.len() + value.bytes().len());
        out.put_slice(before);
        out.put_slice(value.bytes());
        out.put_slice(&rest[part.bytes().len()..]);
        Self::trusted(out.freeze())
    }
}

impl RawJson {
    /// The same object with one more member at its end, which must not be there yet. Unlike an edit
    /// this does not scan the others. A value that is not an object comes back as it is.
    ///
    /// ```
    /// use gantry_protocol::RawJson;
    /// let raw = RawJson::from_static(r#"{ "a": [1] }"#);
    /// assert_eq!(raw.with("b", &RawJson::NULL).as_str(), r#"{ "a": [1],"b":null }"#);
    /// assert_eq!(RawJson::EMPTY_OBJECT.with("b", &RawJson::NULL).as_str(), r#"{"b":null}"#);
    /// ```
    #[must_use]
    pub fn with(&self, key: &str, value: &Self) -> Self {
        let source = self.bytes();
        let Some(inside) = source.strip_suffix(b"}") else { return self.clone() };
        let (last, room) = (inside.trim_ascii_end().len(), key.len() + value.bytes().len() + 4);
        let mut out = BytesMut::with_capacity(source.len() + room);
        out.put_slice(&source[..last]);
        if last > 1 {
            out.put_u8(b',');
        }
        put_key(&mut out, key);
        out.put_slice(value.bytes());
        out.put_slice(&source[last..]);
        Self::trusted(out.freeze())
    }
}

/// Writes `"key":`.
pub(super) fn put_key(out: &mut BytesMut, key: &str) {
    put_string(out, key);
    out.put_u8(b':');
}

/// Writes a string.
pub(crate) fn put_string(out: &mut BytesMut, text: &str) {
    // Looked at to the end, which the processor does for many bytes at a time.
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
        out.put_u8(b'"');
        out.put_slice(text.as_bytes());
        out.put_u8(b'"');
    } else {
        out.put_slice(RawJson::string(text).bytes());
    }
}
