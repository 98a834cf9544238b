//! Takes secrets out of texts that people read: those that are known, and whatever has the shape of
//! one. Time is linear in the text for each known secret.

mod shapes;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::{JsonLimits, RawJson};

pub use shapes::{begins_like_a_secret, names_a_secret};

/// What stands where a secret stood.
pub const HIDDEN: &str = "…";

/// A shorter text is no secret, and to replace it would hide too much else.
const SHORTEST: usize = 6;

/// The secrets to hide, longest first. Clones share them.
#[derive(Clone, Default)]
pub struct Redactor(Arc<[String]>);

impl Redactor {
    /// Hides these secrets, as they are and as they stand in JSON.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hidden: Vec<String> = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST) {
            let quoted = RawJson::string(secret);
            let escaped = &quoted.as_str()[1..quoted.as_str().len() - 1];
            if escaped != secret {
                hidden.push(escaped.to_owned());
            }
            hidden.push(secret.to_owned());
        }
        hidden.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        hidden.dedup();
        Self(hidden.into())
    }

    /// The text without the known secrets, and without what has the shape of one.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.known(text) {
            Cow::Borrowed(text) => shapes::hide(text),
            Cow::Owned(text) => Cow::Owned(shapes::hide(&text).into_owned()),
        }
    }

    /// The text without the known secrets only.
    pub fn known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, secret| match text.contains(&**secret) {
            true => Cow::Owned(text.replace(&**secret, HIDDEN)),
            false => text,
        })
    }

    /// The value without the known secrets, untouched if it has none.
    pub fn json(&self, value: RawJson) -> RawJson {
        let hidden = match self.known(value.as_str()) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(text),
        };
        hidden.map_or(value, parsed)
    }
}

/// A secret that looks like a number may have stood where a text cannot.
fn parsed(text: String) -> RawJson {
    let limits = JsonLimits { size: usize::MAX, ..JsonLimits::default() };
    RawJson::parse(text, limits).unwrap_or_else(|_| RawJson::string(HIDDEN))
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Redactor({})", self.0.len())
    }
}

#[cfg(test)]
mod tests;
