//! The text of one file as JSON, whatever it was written in, and where in the file each value stands.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use gantry_protocol::{JsonError, JsonLimits, RawJson};

use super::table::{self, Mark};
use super::{ConfigError, Place, jsonc};

/// A file that was read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: PathBuf,
    /// All that it says.
    pub(super) document: RawJson,
    /// As it was written.
    written: Bytes,
    /// As JSON; the document is a part of these bytes.
    plain: Bytes,
    /// Which byte of the one is which of the other; empty when they are the same.
    marks: Vec<Mark>,
}

impl Source {
    /// Reads a text: TOML if the file's name says so, else JSON with comments.
    pub(super) fn parse(file: &Path, text: &[u8]) -> Result<Self, ConfigError> {
        match file.extension().is_some_and(|it| it == "toml") {
            true => Self::toml(file, text),
            false => Self::jsonc(file, text),
        }
    }

    fn jsonc(file: &Path, text: &[u8]) -> Result<Self, ConfigError> {
        let syntax = |offset: usize, reason: &str| ConfigError::Syntax {
            place: Place::of(file, text, offset),
            form: "JSON",
            reason: reason.to_owned(),
        };
        let mut plain = jsonc::blank(text).map_err(|at| syntax(at, "the comment has no end"))?;
        // Some editors begin a file with the mark of its encoding.
        if plain.starts_with(b"\xef\xbb\xbf") {
            plain[..3].fill(b' ');
        }
        let plain = Bytes::from(plain);
        let document = RawJson::parse(plain.clone(), JsonLimits::default()).map_err(|error| {
            let offset = offset_of(&plain, &error);
            let whole = error_text(&error);
            syntax(offset, whole.split(" at line ").next().unwrap_or_default())
        })?;
        let written = plain.clone();
        Ok(Self { file: file.to_owned(), document, written, plain, marks: Vec::new() })
    }

    fn toml(file: &Path, text: &[u8]) -> Result<Self, ConfigError> {
        let syntax = |offset: usize, reason: String| ConfigError::Syntax {
            place: Place::of(file, text, offset),
            form: "TOML",
            reason,
        };
        let converted = table::to_json(text).map_err(|fault| syntax(fault.at, fault.reason))?;
        let plain = Bytes::from(converted.json);
        let document = RawJson::parse(plain.clone(), JsonLimits::default())
            .map_err(|error| syntax(0, error_text(&error)))?;
        let written = Bytes::copy_from_slice(text);
        Ok(Self { file: file.to_owned(), document, written, plain, marks: converted.marks })
    }

    /// The folder that paths in it are taken from.
    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    /// Where a value of the document stands.
    pub(super) fn place(&self, value: &RawJson) -> Place {
        self.place_at(self.offset(value))
    }

    /// Where the key of a value begins: the last time it is written before the value.
    pub(super) fn place_of_key(&self, key: &str, value: &RawJson) -> Place {
        let offset = self.offset(value);
        let written = RawJson::string(key);
        let before = self.plain.get(..offset).unwrap_or_default();
        let mut windows = before.windows(written.bytes().len());
        let found = windows.rposition(|window| window == &written.bytes()[..]);
        self.place_at(found.unwrap_or(offset))
    }

    fn offset(&self, value: &RawJson) -> usize {
        // A value is a part of the document's own bytes, so its address tells where it stands.
        (value.bytes().as_ptr() as usize).saturating_sub(self.plain.as_ptr() as usize)
    }

    fn place_at(&self, offset: usize) -> Place {
        let before = self.marks.partition_point(|mark| mark.plain <= offset);
        let written = match before.checked_sub(1).and_then(|last| self.marks.get(last)) {
            Some(mark) => mark.written,
            None => offset,
        };
        Place::of(&self.file, &self.written, written)
    }
}

fn error_text(error: &JsonError) -> String {
    match error {
        JsonError::Syntax(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The byte at which the text stops being JSON.
fn offset_of(text: &[u8], error: &JsonError) -> usize {
    match error {
        JsonError::Syntax(error) => {
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
            before + error.column().saturating_sub(1)
        }
        JsonError::NotUtf8 { at } => *at,
        _ => 0,
    }
}
