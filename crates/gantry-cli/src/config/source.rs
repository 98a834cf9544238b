//! The text of one file as JSON, whatever it was written in, and where in the file each value stands.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use gantry_client::Secret;
use gantry_protocol::redact::is_open_variable;
use gantry_protocol::{JsonError, JsonLimits, RawJson};

use crate::config::table::{self, Mark};
use crate::config::{ConfigError, Place, jsonc};

/// A file that was read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    /// All that it says.
    pub(crate) document: RawJson,
    /// As it was written.
    written: Bytes,
    /// As JSON; the document is a part of these bytes.
    plain: Bytes,
    /// Which byte of the one is which of the other; empty when they are the same.
    marks: Vec<Mark>,
}

impl Source {
    /// Reads a text: TOML if the file's name says so, else JSON with comments.
    pub(crate) fn parse(file: &Path, text: &[u8]) -> Result<Self, ConfigError> {
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
    pub(crate) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    /// Where a value of the document stands.
    pub(crate) fn place(&self, value: &RawJson) -> Place {
        self.place_at(self.offset(value))
    }

    /// Where the key of a value begins: the last time it is written before the value.
    pub(crate) fn place_of_key(&self, key: &str, value: &RawJson) -> Place {
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

/// What was met in all files so far.
#[derive(Debug, Default)]
pub(crate) struct LoadState {
    pub(crate) files: RefCell<Vec<PathBuf>>,
    pub(crate) secrets: RefCell<Vec<Secret>>,
    pub(crate) warnings: RefCell<Vec<String>>,
    pub(crate) notes: RefCell<Vec<String>>,
}

impl LoadState {
    /// Remembers a file, because a change of it changes the configuration. False if it was known.
    pub(crate) fn touch(&self, file: &Path) -> bool {
        let mut files = self.files.borrow_mut();
        let is_new = !files.iter().any(|known| known == file);
        if is_new {
            files.push(file.to_owned());
        }
        is_new
    }

    /// Remembers a value that a reference stood for, so that it is not shown.
    pub(crate) fn keep_secret(&self, value: &str) {
        add(&mut self.secrets.borrow_mut(), Secret::new(value));
    }

    /// Remembers the value of a variable that a reference stood for, unless the variable is one of
    /// those that everyone has and nobody hides.
    pub(crate) fn keep_variable(&self, name: &str, value: &str) {
        if !is_open_variable(name) {
            self.keep_secret(value);
        }
    }

    /// Reads a part of the configuration, and gives the values of the references in it too.
    pub(crate) fn collect<T>(&self, read: impl FnOnce() -> T) -> (T, Vec<Secret>) {
        let outer = self.secrets.take();
        let done = read();
        let own = self.secrets.replace(outer);
        let mut secrets = self.secrets.borrow_mut();
        own.iter().for_each(|secret| add(&mut secrets, secret.clone()));
        (done, own)
    }

    /// Reads a part of the configuration in which references stand for nothing that is secret.
    pub(crate) fn openly<T>(&self, read: impl FnOnce() -> T) -> T {
        let before = self.secrets.borrow().len();
        let done = read();
        self.secrets.borrow_mut().truncate(before);
        done
    }

    /// Tells of something that is most likely not meant.
    pub(crate) fn warn(&self, text: String) {
        self.warnings.borrow_mut().push(text);
    }

    /// Tells of something that has no meaning here.
    pub(crate) fn note(&self, text: String) {
        self.notes.borrow_mut().push(text);
    }
}

fn add(secrets: &mut Vec<Secret>, secret: Secret) {
    if !secret.expose().is_empty() && !secrets.contains(&secret) {
        secrets.push(secret);
    }
}
