//! Where in a definition the walk stands, for machines and in words.

use std::fmt::Write;

use serde_json::Value;

/// Whose schema is compared, and so which direction is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// What callers send: the tool may come to accept more.
    Input,
    /// What callers get: the tool may come to promise more.
    Output,
}

/// A place in a schema.
#[derive(Debug, Clone)]
pub(super) struct Place {
    side: Side,
    path: String,
    /// The value that is spoken of, from the point of view of a caller: `filter.names[]`.
    label: String,
}

impl Place {
    /// The root of a schema.
    pub(super) fn root(side: Side) -> Self {
        let path = match side {
            Side::Input => "inputSchema",
            Side::Output => "outputSchema",
        };
        Self { side, path: path.to_owned(), label: String::new() }
    }

    /// The place of a keyword, as text.
    pub(super) fn at(&self, keyword: &str) -> String {
        if keyword.is_empty() { self.path.clone() } else { format!("{}.{keyword}", self.path) }
    }

    /// A subschema for the same value.
    pub(super) fn within(&self, keyword: &str) -> Self {
        Self { path: self.at(keyword), ..self.clone() }
    }

    /// The subschema of a property, found under a keyword.
    pub(super) fn property(&self, keyword: &str, name: &str) -> Self {
        let dot = if self.label.is_empty() { "" } else { "." };
        let label = format!("{}{dot}{}", self.label, cut(name));
        let path = match keyword {
            "properties" => format!("{}.properties.{}", self.path, cut_at(name, PART)),
            _ => self.at(keyword),
        };
        Self { side: self.side, path, label }
    }

    /// The subschema of an item, or of all.
    pub(super) fn item(&self, index: Option<usize>) -> Self {
        let (keyword, index) = match index {
            Some(index) => (format!("prefixItems.{index}"), index.to_string()),
            None => ("items".to_owned(), String::new()),
        };
        Self { side: self.side, path: self.at(&keyword), label: format!("{}[{index}]", self.label) }
    }

    /// What is spoken of.
    pub(super) fn subject(&self) -> String {
        match (self.side, self.label.as_str()) {
            (Side::Input, "") => "the argument object".to_owned(),
            (Side::Output, "") => "the result".to_owned(),
            (side, label) => format!("the {} `{label}`", side.noun()),
        }
    }
}

impl Side {
    /// What a property is called.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Input => "parameter",
            Self::Output => "field",
        }
    }
}

/// Characters of a text that are quoted.
const QUOTED: usize = 60;

/// Characters of a name that stand in a path. Every place below it repeats them.
const PART: usize = 256;

/// A text short enough to be quoted.
pub(super) fn cut(text: &str) -> String {
    cut_at(text, QUOTED)
}

/// A value short enough to be quoted. No more of it is written than that.
pub(super) fn quote(value: &Value) -> String {
    let mut beginning = Beginning(String::new());
    let _ = write!(beginning, "{value}");
    cut(&beginning.0)
}

/// The beginning of what is written: more than is quoted, so that it can be seen that there is more.
struct Beginning(String);

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend(text.chars().take(QUOTED + 1));
        if self.0.len() > 4 * QUOTED + 4 { Err(std::fmt::Error) } else { Ok(()) }
    }
}

fn cut_at(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
