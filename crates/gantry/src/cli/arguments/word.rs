//! One word of the command line: `KEY=TEXT`, `KEY:=JSON`, `KEY=@FILE`.

use gantry::RawJson;
use gantry_protocol::JsonLimits;

use super::{ArgumentError, Files};

/// A key and what was typed for it.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) key: String,
    pub(super) text: Text,
}

/// What was typed for a key.
#[derive(Debug)]
pub(super) enum Text {
    /// To be read as the schema says.
    Typed(String),
    /// The content of a file: a string is taken as it is.
    File(String),
    /// JSON already.
    Json(RawJson),
}

impl Word {
    pub(super) fn parse(word: &str, files: Files<'_>) -> Result<Self, ArgumentError> {
        if word.starts_with('{') {
            return Err(ArgumentError::Object);
        }
        let equals = word.find('=').filter(|at| *at > 0);
        let Some(at) = equals else { return Err(ArgumentError::NoValue(word.to_owned())) };
        let (key, text) = (&word[..at], &word[at + 1..]);
        match key.strip_suffix(':').filter(|key| !key.is_empty()) {
            Some(key) => {
                let text = match text.strip_prefix('@') {
                    Some(path) => read(key, path, files)?,
                    None => text.to_owned(),
                };
                Ok(Self { key: key.to_owned(), text: Text::Json(json(key, text)?) })
            }
            None => Ok(Self { key: key.to_owned(), text: typed(key, text, files)? }),
        }
    }
}

/// `@@` at the beginning stands for `@` itself.
fn typed(key: &str, text: &str, files: Files<'_>) -> Result<Text, ArgumentError> {
    match text.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => Ok(Text::Typed(rest.to_owned())),
        Some(path) => Ok(Text::File(read(key, path, files)?)),
        None => Ok(Text::Typed(text.to_owned())),
    }
}

fn read(key: &str, path: &str, files: Files<'_>) -> Result<String, ArgumentError> {
    files(path).map_err(|error| ArgumentError::File {
        key: key.to_owned(),
        path: path.to_owned(),
        error,
    })
}

pub(super) fn json(key: &str, text: String) -> Result<RawJson, ArgumentError> {
    RawJson::parse(text, JsonLimits::default())
        .map_err(|error| ArgumentError::Json { key: key.to_owned(), error })
}
