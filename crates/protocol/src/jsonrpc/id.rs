//! A request's id: a string or a whole number, echoed exactly as it came.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use serde_json::from_slice;

use crate::json::{JsonKind, RawJson};

/// The id of a request. It compares by value and is written as it came.
#[derive(Debug, Clone)]
pub struct Id(RawJson);

impl Id {
    /// Takes a string or a whole number; anything else is no id. `null` is no id either: every
    /// revision of the protocol forbids it.
    pub fn new(raw: RawJson) -> Option<Self> {
        let fits = match raw.kind() {
            JsonKind::String => true,
            JsonKind::Number => !raw.bytes().iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')),
            _ => false,
        };
        fits.then_some(Self(raw))
    }

    /// An id of our own.
    pub fn number(value: u64) -> Self {
        Self(RawJson::from(serde_json::Value::from(value)))
    }

    /// The id as JSON.
    pub fn raw(&self) -> &RawJson {
        &self.0
    }

    /// The number, when this id is one of those that [`Id::number`] makes.
    pub fn as_number(&self) -> Option<u64> {
        from_slice(self.0.bytes()).ok()
    }

    /// Two texts of one string, escaped differently, are one id.
    fn canonical(&self) -> Cow<'_, [u8]> {
        let bytes: &[u8] = self.0.bytes();
        if memchr::memchr(b'\\', bytes).is_none() {
            return Cow::Borrowed(bytes);
        }
        match self.0.to_text() {
            Some(text) => Cow::Owned([b"\"", text.as_bytes(), b"\""].concat()),
            None => Cow::Borrowed(bytes),
        }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().hash(state);
    }
}
