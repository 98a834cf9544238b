//! A result, with the members that matter on its way found in one pass.

use std::fmt;
use std::ops::Deref;

use crate::json::RawJson;

pub(crate) const RESULT_TYPE: &str = "resultType";
pub(crate) const TTL: &str = "ttlMs";
pub(crate) const CACHE_SCOPE: &str = "cacheScope";

/// The value of `resultType` of a final result.
pub(crate) const COMPLETE: RawJson = RawJson::from_static("\"complete\"");

/// The result object of a response. Several layers need the same few members, and each search would
/// read a large text from start to end, so they are found once and travel with it.
#[derive(Clone)]
pub struct ResultObject {
    raw: RawJson,
    /// Where the value of `_meta` starts. Nothing in an object starts at zero.
    meta: usize,
    is_complete: bool,
    is_error: bool,
    is_bare: bool,
    has_content: bool,
}

impl ResultObject {
    /// The same with an empty `content` if it has none, as the result of a tool call must.
    ///
    /// ```
    /// use gantry_protocol::{RawJson, ResultObject};
    /// let repaired = |text| ResultObject::from(RawJson::from_static(text)).with_content();
    /// assert_eq!(repaired(r#"{"isError":true}"#).as_str(), r#"{"isError":true,"content":[]}"#);
    /// assert_eq!(repaired(r#"{"content":null}"#).as_str(), r#"{"content":[]}"#);
    /// assert_eq!(repaired(r#"{ "content": [1] }"#).as_str(), r#"{ "content": [1] }"#);
    /// ```
    #[must_use]
    pub fn with_content(self) -> Self {
        match self.has_content {
            true => self,
            false => self.raw.edit().set("content", RawJson::from_static("[]")).apply().into(),
        }
    }

    /// Whether it has nothing but what all revisions with structured content know: it does not say
    /// that it is complete, nor how long it may be kept, and has no `_meta`.
    pub(crate) fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// A bare one with `resultType` set to `complete`.
    pub(crate) fn completed(self) -> Self {
        let raw = self.raw.with(RESULT_TYPE, &COMPLETE);
        Self { raw, is_complete: true, is_bare: false, ..self }
    }

    /// Whether `resultType` is `complete`.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether `isError` is true.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Its `_meta`.
    pub fn meta(&self) -> Option<RawJson> {
        (self.meta > 0).then(|| self.raw.value_at(self.meta))
    }

    /// The text.
    pub fn into_raw(self) -> RawJson {
        self.raw
    }
}

impl From<RawJson> for ResultObject {
    /// The first of two members with one key counts.
    ///
    /// ```
    /// use gantry_protocol::{RawJson, ResultObject};
    /// let raw = RawJson::from_static(r#"{"isError":true,"_meta":{"a":1},"isError":false}"#);
    /// let result = ResultObject::from(raw);
    /// assert!(result.is_error() && !result.is_complete());
    /// assert_eq!(result.meta().unwrap().as_str(), r#"{"a":1}"#);
    /// ```
    fn from(raw: RawJson) -> Self {
        let (mut meta, mut is_complete, mut is_error, mut is_bare) = (0, None, None, true);
        let mut has_content = false;
        for member in raw.members() {
            let value = member.value_text();
            match &*member.key_bytes() {
                b"_meta" if meta == 0 => meta = member.value_start(),
                b"resultType" => is_complete = is_complete.or(Some(value == &**COMPLETE.bytes())),
                b"isError" => is_error = is_error.or(Some(value == b"true")),
                b"content" => has_content |= value != b"null",
                b"ttlMs" | b"cacheScope" => is_bare = false,
                // Up to 2025-11-25 it must be an object.
                b"structuredContent" => is_bare &= value.starts_with(b"{"),
                _ => {}
            }
        }
        is_bare &= meta == 0 && is_complete.is_none();
        let (is_complete, is_error) = (is_complete == Some(true), is_error == Some(true));
        Self { raw, meta, is_complete, is_error, is_bare, has_content }
    }
}

impl Deref for ResultObject {
    type Target = RawJson;

    fn deref(&self) -> &RawJson {
        &self.raw
    }
}

impl fmt::Debug for ResultObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(formatter)
    }
}
