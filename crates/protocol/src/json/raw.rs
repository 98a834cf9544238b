//! `RawJson`: one JSON value as the bytes it came in, known to be valid.

use std::fmt;

use bytes::{Bytes, BytesMut};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::edit::Edit;
use super::members::{Elements, Members, plain_text};
use super::scan;
use super::validate;
use super::writer::put_array;

/// Bounds on a JSON text that comes from outside.
#[derive(Debug, Clone, Copy)]
pub struct JsonLimits {
    /// The most bytes a text may have.
    pub size: usize,
    /// The deepest nesting of arrays and objects.
    pub depth: usize,
}

impl Default for JsonLimits {
    fn default() -> Self {
        Self { size: 4 * 1024 * 1024, depth: 128 }
    }
}

/// Why a text was not taken as JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The text is longer than the limit.
    #[error("the message has {size} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Bytes in the text.
        size: usize,
        /// The limit in force.
        limit: usize,
    },
    /// Arrays and objects are nested deeper than the limit.
    #[error("the message is nested deeper than the limit of {limit}")]
    TooDeep {
        /// The limit in force.
        limit: usize,
    },
    /// The bytes are not UTF-8.
    #[error("the message is not UTF-8 at byte {at}")]
    NotUtf8 {
        /// The position of the first invalid byte.
        at: usize,
    },
    /// The text is not JSON.
    #[error("the message is not valid JSON: {0}")]
    Syntax(#[from] serde_json::Error),
}

/// What kind of value a text holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are JSON's own")]
pub enum JsonKind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl JsonKind {
    /// The kind of a value whose text begins with this byte.
    pub(super) fn of(first: Option<&u8>) -> Self {
        match first {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }
}

/// One JSON value as the bytes it came in: valid JSON, valid UTF-8, no surrounding whitespace.
///
/// Cloning and slicing are cheap: the bytes are shared.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

impl RawJson {
    /// The empty object.
    pub const EMPTY_OBJECT: Self = Self::from_static("{}");
    /// The null value.
    pub const NULL: Self = Self::from_static("null");

    /// Checks that `bytes` hold one JSON value within `limits`.
    ///
    /// ```
    /// use gantry_protocol::json::{JsonLimits, RawJson};
    /// let raw = RawJson::parse(&b" {\"z\": 1.10} "[..], JsonLimits::default()).unwrap();
    /// assert_eq!(raw.as_str(), "{\"z\": 1.10}");
    /// ```
    pub fn parse(bytes: impl Into<Bytes>, limits: JsonLimits) -> Result<Self, JsonError> {
        let bytes = bytes.into();
        if bytes.len() > limits.size {
            return Err(JsonError::TooLarge { size: bytes.len(), limit: limits.size });
        }
        if validate::is_value(&bytes, limits.depth) {
            return Ok(Self(bytes.slice_ref(bytes.trim_ascii())));
        }
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| JsonError::NotUtf8 { at: error.valid_up_to() })?;
        serde_json::from_str::<serde::de::IgnoredAny>(text)?;
        if !scan::within_depth(&bytes, limits.depth) {
            return Err(JsonError::TooDeep { limit: limits.depth });
        }
        Ok(Self(bytes.slice_ref(bytes.trim_ascii())))
    }

    /// Takes a text that the program itself contains.
    pub const fn from_static(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }

    /// Serializes a value compactly.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|bytes| Self(Bytes::from(bytes)))
    }

    /// A JSON string holding `text`.
    pub fn string(text: &str) -> Self {
        Self::of(text).unwrap_or(Self::NULL)
    }

    /// An array of `values`.
    ///
    /// ```
    /// use gantry_protocol::RawJson;
    /// let array = RawJson::array([&RawJson::NULL, &RawJson::string("a")]);
    /// assert_eq!(array.as_str(), r#"[null,"a"]"#);
    /// ```
    pub fn array<'a>(values: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut out = BytesMut::new();
        put_array(&mut out, values);
        Self::trusted(out.freeze())
    }

    /// The same value in bytes of its own. A value that was read from a larger text otherwise keeps
    /// all of that text in memory.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// Takes bytes that this crate has just written or sliced out of a checked value.
    pub(crate) fn trusted(bytes: Bytes) -> Self {
        debug_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok());
        Self(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The text. Checked once more, since the bytes carry no proof with them; this costs little.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// What kind of value this is.
    pub fn kind(&self) -> JsonKind {
        JsonKind::of(self.0.first())
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        self.kind() == JsonKind::Object
    }

    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The string's value, when this is a string.
    pub fn to_text(&self) -> Option<String> {
        self.as_text().map(str::to_owned).or_else(|| self.read())
    }

    /// The string's value without a copy, when this is a string and has no escapes.
    pub fn as_text(&self) -> Option<&str> {
        if self.kind() == JsonKind::String { plain_text(&self.0) } else { None }
    }

    /// Reads the value into a type.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.0).ok()
    }

    /// Reads the value into a type, keeping the reason when that fails.
    pub fn try_read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The members of an object, in order; nothing for any other kind of value.
    pub fn members(&self) -> Members<'_> {
        Members::new(self)
    }

    /// The elements of an array, in order; nothing for any other kind of value.
    pub fn elements(&self) -> Elements<'_> {
        Elements::new(self)
    }

    /// The value of the first member called `key`.
    pub fn get(&self, key: &str) -> Option<Self> {
        self.members().find(|member| member.is(key)).map(|member| member.value())
    }

    /// The same value with no whitespace between its parts.
    ///
    /// ```
    /// use gantry_protocol::RawJson;
    /// let spaced = RawJson::from_static(r#"{ "a" : [1.0, " b"] }"#);
    /// assert_eq!(spaced.compact().as_str(), r#"{"a":[1.0," b"]}"#);
    /// ```
    pub fn compact(&self) -> Self {
        scan::without_whitespace(&self.0).map_or_else(|| self.clone(), Self::trusted)
    }

    /// The value at the end of a path of member names.
    pub fn at(&self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self.clone(), |value, key| value.get(key))
    }

    /// Begins an edit of an object's members.
    pub fn edit(&self) -> Edit<'_> {
        Edit::new(self)
    }

    /// The value at a range of a text that was just validated.
    pub(crate) fn part(text: &Bytes, range: std::ops::Range<usize>) -> Self {
        Self::trusted(text.slice(range))
    }

    /// The value that starts at the given byte, as was just seen.
    pub(crate) fn value_at(&self, start: usize) -> Self {
        self.slice(start..scan::value_end(&self.0, start))
    }

    /// A part of this value that starts and ends at the given bytes.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self::trusted(self.0.slice(range))
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        Self(Bytes::from(value.to_string()))
    }
}
