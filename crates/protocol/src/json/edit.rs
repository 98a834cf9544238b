//! Shallow edit of an object: named members are set or removed, every other byte stays.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};

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
}

impl<'a> Edit<'a> {
    pub(super) fn new(object: &'a RawJson) -> Self {
        Self { object, changes: Vec::new() }
    }

    /// Gives the member `key` a value: in its place when it is there, at the end when it is not.
    #[must_use]
    pub fn set(mut self, key: impl Into<Cow<'a, str>>, value: RawJson) -> Self {
        self.changes.push(Change { key: key.into(), value: Some(value) });
        self
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
    pub fn remove(mut self, key: impl Into<Cow<'a, str>>) -> Self {
        self.changes.push(Change { key: key.into(), value: None });
        self
    }

    /// Writes the edited object. A value that is not an object comes back as it is.
    ///
    /// ```
    /// use gantry_protocol::RawJson;
    /// let raw = RawJson::from_static(r#"{ "b": 1.10, "a": [2] , "c":3}"#);
    /// let edited = raw.edit().set("b", RawJson::string("x")).remove("a").apply();
    /// assert_eq!(edited.as_str(), r#"{ "b": "x", "c":3}"#);
    /// ```
    pub fn apply(self) -> RawJson {
        if !self.object.is_object() || self.changes_nothing() {
            return self.object.clone();
        }
        let source = self.object.bytes();
        let added: usize = self.changes.iter().map(Change::room).sum();
        let mut out = BytesMut::with_capacity(source.len() + added);
        let mut written = vec![false; self.changes.len()];
        out.put_u8(b'{');
        let (mut previous_end, mut kept) = (1, false);
        for member in self.object.members() {
            let lead = previous_end..member.key.start;
            previous_end = member.value.end;
            let change = self.changes.iter().position(|change| member.is(&change.key));
            if change.is_some_and(|it| written[it] || self.changes[it].value.is_none()) {
                continue;
            }
            put_lead(&mut out, source, lead, kept);
            kept = true;
            put_member(&mut out, source, &member, change.map(|it| &self.changes[it]));
            if let Some(it) = change {
                written[it] = true;
            }
        }
        for (change, _) in self.changes.iter().zip(&written).filter(|(_, written)| !**written) {
            kept |= change.append(&mut out, kept);
        }
        out.put_slice(&source[previous_end..]);
        RawJson::trusted(out.freeze())
    }

    fn changes_nothing(&self) -> bool {
        let removes_only = self.changes.iter().all(|change| change.value.is_none());
        removes_only
            && !self.object.members().any(|it| self.changes.iter().any(|change| it.is(&change.key)))
    }
}

impl Change<'_> {
    fn room(&self) -> usize {
        self.value.as_ref().map_or(0, |value| value.bytes().len() + self.key.len() + 4)
    }

    fn append(&self, out: &mut BytesMut, after_another: bool) -> bool {
        let Some(value) = &self.value else { return false };
        if after_another {
            out.put_u8(b',');
        }
        put_key(out, &self.key);
        out.put_slice(value.bytes());
        true
    }
}

/// Writes what stands before a member. The comma in it belongs to the member before, which may
/// just have been removed, so the first member kept takes only the whitespace after that comma.
fn put_lead(out: &mut BytesMut, source: &Bytes, lead: std::ops::Range<usize>, kept: bool) {
    let text = &source[lead];
    let from = match memchr::memchr(b',', text) {
        Some(comma) if !kept => comma + 1,
        _ => 0,
    };
    out.put_slice(&text[from..]);
}

fn put_member(out: &mut BytesMut, source: &Bytes, member: &Member<'_>, change: Option<&Change<'_>>) {
    match change.and_then(|change| change.value.as_ref()) {
        Some(value) => {
            out.put_slice(&source[member.key.start..member.value.start]);
            out.put_slice(value.bytes());
        }
        None => out.put_slice(&source[member.key.start..member.value.end]),
    }
}

/// Writes `"key":`.
pub(super) fn put_key(out: &mut BytesMut, key: &str) {
    if key.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.put_u8(b'"');
        out.put_slice(key.as_bytes());
        out.put_u8(b'"');
    } else {
        out.put_slice(RawJson::string(key).bytes());
    }
    out.put_u8(b':');
}
