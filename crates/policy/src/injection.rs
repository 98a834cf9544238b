//! Prompt-injection and hidden-text detection in tool definitions (tool poisoning): invisible characters,
//! lookalike letters, and wording that gives the model orders.
//!
//! Pure: what is done about a finding is left to the caller.

mod characters;
mod wording;

use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};

pub use characters::visible;

/// Something in a definition that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionFinding {
    /// Where: `inputSchema.properties.path.description`.
    pub place: String,
    /// Of which sort it is.
    pub sort: Sort,
    /// What it is: "a zero width space".
    pub what: String,
    /// The text around it, with every character visible.
    pub excerpt: String,
}

/// A sort of suspicion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A character that cannot be seen, or that changes the order of others.
    Hidden,
    /// A name with letters of another script that look like those around them.
    Lookalike,
    /// Words that give the model orders, or a text that nobody can read.
    Wording,
}

/// So many of each sort are told of one definition; more would not change what is done about it. What
/// is harmless must not take the place of what holds a definition back.
const MOST: usize = 20;

/// Everything in a definition that a person should look at, at most a few.
///
/// ```
/// use gantry_policy::{Sort, findings};
/// use gantry_protocol::RawJson;
/// let tool = RawJson::from_static(r#"{"name":"add","description":"Adds.\u200b"}"#);
/// let found = findings(&tool);
/// assert_eq!((found[0].place.as_str(), found[0].sort), ("description", Sort::Hidden));
/// assert_eq!(found[0].excerpt, "Adds.⟨U+200B⟩");
/// ```
pub fn findings(definition: &RawJson) -> Vec<InjectionFinding> {
    let mut search = Search::default();
    search.value(definition);
    search.found
}

impl InjectionFinding {
    /// As reports have it.
    pub fn to_json(&self) -> RawJson {
        ObjectWriter::new()
            .value("place", &self.place)
            .value("sort", self.sort.word())
            .value("what", &self.what)
            .value("excerpt", &self.excerpt)
            .finish()
    }
}

impl Sort {
    /// The word for it in settings and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Lookalike => "lookalike",
            Self::Wording => "wording",
        }
    }
}

/// A walk through a definition.
#[derive(Default)]
struct Search {
    path: Vec<String>,
    found: Vec<InjectionFinding>,
}

impl Search {
    fn value(&mut self, value: &RawJson) {
        match value.kind() {
            JsonKind::Object => {
                for member in value.members() {
                    let key = member.key().into_owned();
                    self.look(&key, true);
                    self.path.push(key);
                    self.value(&member.value());
                    self.path.pop();
                }
            }
            JsonKind::Array => {
                for (index, element) in value.elements().enumerate() {
                    self.path.push(index.to_string());
                    self.value(&element);
                    self.path.pop();
                }
            }
            JsonKind::String => {
                let is_name = matches!(self.path.last().map(String::as_str), Some("name"));
                let text = value.to_text();
                // Half a character has no value; it is looked at as it is written.
                self.look(&text.unwrap_or_else(|| value.as_str().to_owned()), is_name);
            }
            _ => {}
        }
    }

    fn look(&mut self, text: &str, is_name: bool) {
        if self.has_room(Sort::Hidden)
            && let Some((what, excerpt)) = characters::hidden(text)
        {
            self.note(Sort::Hidden, what, excerpt);
        }
        if let Some((what, excerpt)) = characters::lookalike(text).filter(|_| is_name) {
            self.note(Sort::Lookalike, what, excerpt);
        }
        // Pictures are not read by the model.
        if self.has_room(Sort::Wording) && !text.starts_with("data:image/") {
            for (what, excerpt) in wording::orders(text) {
                self.note(Sort::Wording, what, excerpt);
            }
        }
    }

    /// Whether more of a sort is told. To look for more would cost time and change nothing.
    fn has_room(&self, sort: Sort) -> bool {
        self.found.iter().filter(|it| it.sort == sort).count() < MOST
    }

    fn note(&mut self, sort: Sort, what: String, excerpt: String) {
        if self.has_room(sort) {
            let place = self.path.join(".");
            self.found.push(InjectionFinding { place, sort, what, excerpt });
        }
    }
}

/// The text around a part of it, every character visible.
fn excerpt(text: &str, start: usize, end: usize) -> String {
    const AROUND: usize = 30;
    let before = text[..start].char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let after = text[end..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| end + at);
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    let part = visible(&text[before..after]).replace('\n', " ");
    format!("{}{part}{}", dots(before > 0), dots(after < text.len()))
}

#[cfg(test)]
mod tests;
