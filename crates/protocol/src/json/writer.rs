//! Writing an object of our own, member by member, with raw values inside.

use bytes::{BufMut, BytesMut};
use serde::Serialize;

use super::edit::put_key;
use super::members::Member;
use super::raw::RawJson;

/// Writes one object. Members appear in the order they are given.
///
/// ```
/// use gantry_protocol::{RawJson, json::ObjectWriter};
/// let object = ObjectWriter::new().raw("a", &RawJson::NULL).value("b", &1).finish();
/// assert_eq!(object.as_str(), r#"{"a":null,"b":1}"#);
/// ```
#[derive(Debug)]
pub struct ObjectWriter {
    out: BytesMut,
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectWriter {
    /// Starts an object.
    pub fn new() -> Self {
        Self::with_capacity(128)
    }

    /// Starts an object of about this many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut out = BytesMut::with_capacity(bytes);
        out.put_u8(b'{');
        Self { out }
    }

    /// Adds a member with a raw value.
    #[must_use]
    pub fn raw(mut self, key: &str, value: &RawJson) -> Self {
        self.key(key);
        self.out.put_slice(value.bytes());
        self
    }

    /// Adds a member when there is a raw value for it.
    #[must_use]
    pub fn raw_some(self, key: &str, value: Option<&RawJson>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    /// Adds a member of another object as it is written there.
    #[must_use]
    pub fn member(mut self, member: &Member<'_>) -> Self {
        if self.out.len() > 1 {
            self.out.put_u8(b',');
        }
        self.out.put_slice(member.text());
        self
    }

    /// Adds a member with a value to serialize. A value that cannot be serialized becomes null.
    #[must_use]
    pub fn value<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
        self.key(key);
        let start = self.out.len();
        if serde_json::to_writer((&mut self.out).writer(), value).is_err() {
            self.out.truncate(start);
            self.out.put_slice(b"null");
        }
        self
    }

    /// Adds a member when there is a value to serialize.
    #[must_use]
    pub fn value_some<T: Serialize>(self, key: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.value(key, &value),
            None => self,
        }
    }

    /// Adds a member holding an array of raw values.
    #[must_use]
    pub fn array<'a>(mut self, key: &str, values: impl IntoIterator<Item = &'a RawJson>) -> Self {
        self.key(key);
        put_array(&mut self.out, values);
        self
    }

    /// Ends the object.
    pub fn finish(mut self) -> RawJson {
        self.out.put_u8(b'}');
        RawJson::trusted(self.out.freeze())
    }

    fn key(&mut self, key: &str) {
        if self.out.len() > 1 {
            self.out.put_u8(b',');
        }
        put_key(&mut self.out, key);
    }
}

/// Writes `[value,value]`.
pub(super) fn put_array<'a>(out: &mut BytesMut, values: impl IntoIterator<Item = &'a RawJson>) {
    out.put_u8(b'[');
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.put_u8(b',');
        }
        out.put_slice(value.bytes());
    }
    out.put_u8(b']');
}
