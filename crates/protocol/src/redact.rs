//! Takes secrets out of texts that people read: those that are known, and whatever has the shape of
//! one. Time is linear in the text for each known secret.

mod arguments;
mod shapes;
mod values;
mod words;

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::{JsonLimits, RawJson};

pub use shapes::{begins_like_a_secret, is_open_variable, names_a_secret};

/// What stands where a secret stood.
pub const HIDDEN: &str = "…";

/// A secret of this many bytes is hidden wherever it stands, also within a word. To replace a shorter
/// one there would hide too much else.
pub const ANYWHERE: usize = 6;

/// A secret of this many bytes is hidden in any text, if it stands alone there. A shorter one is
/// hidden only in a command line or an address.
const ALONE: usize = 4;

/// A secret of several lines may be shown line by line. Shorter lines are part of other texts too.
const LINE: usize = 16;

/// Lines of one secret that are hidden each by itself.
const LINES: usize = 64;

/// The secrets to hide. Clones share them.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Known>);

/// Known secrets by how they are hidden, longest first.
#[derive(Default)]
struct Known {
    anywhere: Vec<String>,
    alone: Vec<String>,
    /// Those that are hidden in a command line or an address only.
    shortest: Vec<String>,
}

impl Redactor {
    /// Hides these secrets, as they are, as they stand in JSON, and line by line.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known = Known::default();
        for secret in secrets {
            known.add(secret);
            if secret.contains('\n') {
                let lines = secret.lines().map(str::trim).filter(|line| line.len() >= LINE);
                lines.take(LINES).for_each(|line| known.add(line));
            }
        }
        for list in [&mut known.anywhere, &mut known.alone, &mut known.shortest] {
            list.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
            list.dedup();
        }
        Self(Arc::new(known))
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
        let text = self.0.anywhere.iter().fold(Cow::Borrowed(text), |text, secret| {
            match text.contains(&**secret) {
                true => Cow::Owned(text.replace(&**secret, HIDDEN)),
                false => text,
            }
        });
        words::hide_all(text, &self.0.alone)
    }

    /// A part of a command line, or an address, without the known secrets of any length, and without
    /// what has the shape of one.
    pub fn place(&self, text: &str) -> String {
        let known = words::hide_all(self.known(text), &self.0.shortest);
        shapes::hide(&known).into_owned()
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

impl Known {
    fn add(&mut self, secret: &str) {
        let list = match secret.len() {
            0 => return,
            1..ALONE => &mut self.shortest,
            ALONE..ANYWHERE => &mut self.alone,
            _ => &mut self.anywhere,
        };
        let quoted = RawJson::string(secret);
        let escaped = &quoted.as_str()[1..quoted.as_str().len() - 1];
        if escaped != secret {
            list.push(escaped.to_owned());
        }
        list.push(secret.to_owned());
    }
}

/// A secret that looks like a number may have stood where a text cannot.
fn parsed(text: String) -> RawJson {
    let limits = JsonLimits { size: usize::MAX, ..JsonLimits::default() };
    RawJson::parse(text, limits).unwrap_or_else(|_| RawJson::string(HIDDEN))
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Known { anywhere, alone, shortest } = &*self.0;
        write!(formatter, "Redactor({})", anywhere.len() + alone.len() + shortest.len())
    }
}

#[cfg(test)]
mod tests;
