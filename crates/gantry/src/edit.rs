//! Changes the text of a configuration in place: what is not changed stays as it was written, with
//! its comments, its order and its trailing commas.

mod insert;
mod layout;
mod object;
mod remove;
mod save;
mod trivia;

use bytes::Bytes;
use gantry_protocol::{JsonError, JsonLimits, RawJson};

pub use save::save;

use crate::config::jsonc;
use layout::Layout;
use object::Object;

/// A JSON text with comments and trailing commas, and what it says.
#[derive(Debug, Clone)]
pub struct Document {
    text: String,
    /// The text with comments blanked: every other byte stands where it stands in the text.
    plain: Bytes,
    json: RawJson,
}

/// Why a text cannot be changed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EditError {
    /// It is not JSON, comments and trailing commas aside.
    #[error("{line}:{column}: not valid JSON: {reason}")]
    Syntax {
        /// The line, counted from one.
        line: usize,
        /// The column, in bytes, counted from one.
        column: usize,
        /// Why.
        reason: String,
    },
    /// Members can be put into objects only.
    #[error("`{0}` is not an object; make it one")]
    NotAnObject(String),
}

impl Document {
    /// Reads a text.
    pub fn parse(text: impl Into<String>) -> Result<Self, EditError> {
        let text = text.into();
        let open = |at: usize| {
            let before = &text[..at];
            let column = at - before.rfind('\n').map_or(0, |end| end + 1) + 1;
            let line = before.matches('\n').count() + 1;
            EditError::Syntax { line, column, reason: "the comment has no end".to_owned() }
        };
        let plain = Bytes::from(jsonc::blank(text.as_bytes()).map_err(open)?);
        let json = RawJson::parse(plain.clone(), JsonLimits::default()).map_err(syntax)?;
        Ok(Self { text, plain, json })
    }

    /// The text as it is now.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says, without comments.
    pub fn json(&self) -> &RawJson {
        &self.json
    }

    /// Sets the value at the end of a path of member names. Objects that are missing on the way are
    /// made; a new member comes after those that are there.
    pub fn set(&mut self, path: &[&str], value: &RawJson) -> Result<(), EditError> {
        let Some((last, way)) = path.split_last() else {
            return self.replace(value.as_str().to_owned());
        };
        for depth in 0..way.len() {
            if self.json.at(&path[..=depth]).is_none() {
                self.put(&path[..depth], path[depth], &RawJson::EMPTY_OBJECT)?;
            }
        }
        self.put(way, last, value)
    }

    /// Removes the member at the end of a path; false if there is none.
    pub fn remove(&mut self, path: &[&str]) -> Result<bool, EditError> {
        let Some((last, way)) = path.split_last() else { return Ok(false) };
        if self.json.at(path).is_none() {
            return Ok(false);
        }
        let object = self.object(way)?;
        let Some(index) = object.index(last) else { return Ok(false) };
        let text = remove::remove(&self.text, &object, index);
        self.replace(text)?;
        Ok(true)
    }

    /// Puts other values in the place of some that are parts of what this says. Every byte that is
    /// no part of them stays.
    pub fn rewrite(&mut self, changes: &[(RawJson, RawJson)]) -> Result<(), EditError> {
        let mut places: Vec<_> = changes
            .iter()
            .map(|(old, new)| (object::range(&self.plain, old), new.as_str()))
            .collect();
        // From the end to the beginning, so that no place moves before its turn.
        places.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = self.text.clone();
        for (range, new) in places {
            text.replace_range(range, new);
        }
        self.replace(text)
    }

    fn put(&mut self, way: &[&str], key: &str, value: &RawJson) -> Result<(), EditError> {
        let layout = Layout::of(&self.text, &self.object(&[])?);
        let object = self.object(way)?;
        let text = match object.index(key) {
            Some(index) => insert::replace(&self.text, &object.members[index], &layout, value),
            None => insert::insert(&self.text, &object, &layout, (key, value)),
        };
        self.replace(text)
    }

    /// Where the parts of the object at the end of a path stand.
    fn object(&self, path: &[&str]) -> Result<Object, EditError> {
        let named = || path.last().map_or("the file", |key| *key).to_owned();
        let json = self.json.at(path).filter(RawJson::is_object);
        let json = json.ok_or_else(|| EditError::NotAnObject(named()))?;
        Ok(Object::of(&self.text, &self.plain, &json, &self.json))
    }

    /// Takes a changed text. It is read again, so that no change can spoil a file.
    fn replace(&mut self, text: String) -> Result<(), EditError> {
        *self = Self::parse(text)?;
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is the end of the error")]
fn syntax(error: JsonError) -> EditError {
    let (line, column) = match &error {
        JsonError::Syntax(error) => (error.line(), error.column()),
        _ => (1, 1),
    };
    let whole = match &error {
        JsonError::Syntax(error) => error.to_string(),
        other => other.to_string(),
    };
    let reason = whole.split(" at line ").next().unwrap_or_default().to_owned();
    EditError::Syntax { line, column, reason }
}

#[cfg(test)]
mod tests;
