//! Secret redaction for everything that people read: logs, errors, listings, admin pages. It hides known
//! secrets and whatever matches the pattern of one. Tool results are never redacted. Time is linear in
//! the text for each known secret.

mod patterns;

pub use patterns::{begins_like_a_secret, is_open_variable, names_a_secret};

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{BufMut, BytesMut};

use crate::json::{JsonKind, JsonLimits, RawJson, put_string};

/// The replacement for a secret.
pub const HIDDEN: &str = "…";

/// A secret of this many bytes is hidden everywhere, also within a word. To replace a shorter
/// one there would hide too much else.
pub const ANYWHERE: usize = 6;

/// A secret of this many bytes is hidden in any text as a whole word. A shorter one is
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
    /// Hides these secrets, as they are, as escaped in JSON, and line by line.
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
            Cow::Borrowed(text) => patterns::hide(text),
            Cow::Owned(text) => Cow::Owned(patterns::hide(&text).into_owned()),
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
        hide_words(text, &self.0.alone)
    }

    /// A part of a command line, or an address, without the known secrets of any length, and without
    /// what has the shape of one.
    pub fn place(&self, text: &str) -> String {
        let known = hide_words(self.known(text), &self.0.shortest);
        patterns::hide(&known).into_owned()
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

/// The text without these words.
fn hide_words<'a>(text: Cow<'a, str>, words: &[String]) -> Cow<'a, str> {
    words.iter().fold(text, |text, word| match hide_word(&text, word) {
        Some(hidden) => Cow::Owned(hidden),
        None => text,
    })
}

/// The text without this word; none if it is not there.
fn hide_word(text: &str, word: &str) -> Option<String> {
    let mut hidden = String::new();
    let mut done = 0;
    for (start, _) in text.match_indices(word) {
        let end = start + word.len();
        if is_border(text[..start].chars().next_back()) && is_border(text[end..].chars().next()) {
            hidden.push_str(&text[done..start]);
            hidden.push_str(HIDDEN);
            done = end;
        }
    }
    (done > 0).then(|| hidden + &text[done..])
}

fn is_border(letter: Option<char>) -> bool {
    letter.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
}

impl Redactor {
    /// The arguments of a program without known secrets, what has the shape of one, and what follows
    /// an option such as `--api-key`.
    pub fn arguments(&self, arguments: &[String]) -> Vec<String> {
        let mut is_next_secret = false;
        let mut shown = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (flag, value) = match argument.split_once('=') {
                Some((flag, _)) => (flag, true),
                None => (argument.as_str(), false),
            };
            let is_option = argument.starts_with('-');
            let names_secret = is_option && is_secret_option(flag);
            shown.push(match () {
                () if is_next_secret && !is_option => HIDDEN.to_owned(),
                () if names_secret && value => format!("{}={HIDDEN}", self.place(flag)),
                () => self.place(argument),
            });
            is_next_secret = names_secret && !value;
        }
        shown
    }
}

/// Whether the value of such an option is better not shown.
fn is_secret_option(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    ["key", "token", "secret", "password", "auth"].iter().any(|word| option.contains(word))
}

impl Redactor {
    /// The value without secrets and without white space. All else stays as it was written.
    pub fn value(&self, value: &RawJson) -> RawJson {
        let mut out = BytesMut::with_capacity(value.bytes().len());
        self.put(value, &mut out);
        RawJson::trusted(out.freeze())
    }

    /// Writes into one place: a list of parts would take many times the memory of a long array.
    fn put(&self, value: &RawJson, out: &mut BytesMut) {
        match value.kind() {
            JsonKind::Object => {
                let mut lead = b'{';
                for member in value.members() {
                    let (key, value) = (member.key(), member.value());
                    out.put_u8(lead);
                    lead = b',';
                    put_string(out, &self.text(&key));
                    out.put_u8(b':');
                    match names_a_secret(&key) && !is_harmless(&value) {
                        true => put_string(out, HIDDEN),
                        false => self.put(&value, out),
                    }
                }
                out.put_slice(if lead == b'{' { b"{}" } else { b"}" });
            }
            JsonKind::Array => {
                let mut lead = b'[';
                for element in value.elements() {
                    out.put_u8(lead);
                    lead = b',';
                    self.put(&element, out);
                }
                out.put_slice(if lead == b'[' { b"[]" } else { b"]" });
            }
            JsonKind::String => {
                let shown = value.to_text().map(|text| (self.text(&text).into_owned(), text));
                match shown {
                    Some((shown, text)) if shown != text => put_string(out, &shown),
                    _ => out.put_slice(value.bytes()),
                }
            }
            _ => out.put_slice(value.bytes()),
        }
    }
}

/// Nobody's secret is true, false or nothing.
fn is_harmless(value: &RawJson) -> bool {
    matches!(value.kind(), JsonKind::Boolean | JsonKind::Null)
}

#[cfg(test)]
mod tests;
