//! Changes the text of a configuration in place: what is not changed stays as it was written, with
//! its comments, its order and its trailing commas.

pub(crate) mod layout;

#[cfg(test)]
mod tests;

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bytes::Bytes;
use gantry_protocol::{JsonError, JsonLimits, RawJson};

use crate::config::edit::layout::Layout;
use crate::config::jsonc;

/// A JSON text with comments and trailing commas, and what it says.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    text: String,
    /// The text with comments blanked: every other byte stands where it stands in the text.
    plain: Bytes,
    json: RawJson,
}

/// Why a text cannot be changed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum EditError {
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
    pub(crate) fn parse(text: impl Into<String>) -> Result<Self, EditError> {
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
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What it says, without comments.
    pub(crate) fn json(&self) -> &RawJson {
        &self.json
    }

    /// Sets the value at the end of a path of member names. Objects that are missing on the way are
    /// made; a new member comes after those that are there.
    pub(crate) fn set(&mut self, path: &[&str], value: &RawJson) -> Result<(), EditError> {
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
    pub(crate) fn remove(&mut self, path: &[&str]) -> Result<bool, EditError> {
        let Some((last, way)) = path.split_last() else { return Ok(false) };
        if self.json.at(path).is_none() {
            return Ok(false);
        }
        let object = self.object(way)?;
        let Some(index) = object.index(last) else { return Ok(false) };
        let text = remove(&self.text, &object, index);
        self.replace(text)?;
        Ok(true)
    }

    /// Puts other values in the place of some that are parts of what this says. Every byte that is
    /// no part of them stays.
    pub(crate) fn rewrite(&mut self, changes: &[(RawJson, RawJson)]) -> Result<(), EditError> {
        let mut places: Vec<_> =
            changes.iter().map(|(old, new)| (range(&self.plain, old), new.as_str())).collect();
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
            Some(index) => layout::replace(&self.text, &object.members[index], &layout, value),
            None => layout::insert(&self.text, &object, &layout, (key, value)),
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

/// An object of a text.
#[derive(Debug)]
pub(crate) struct Object {
    /// Where its opening brace stands.
    pub(crate) open: usize,
    /// Where its closing brace stands.
    pub(crate) close: usize,
    /// Its members, in order.
    pub(crate) members: Vec<Member>,
    /// Whether it is the whole of the text.
    pub(crate) is_whole: bool,
}

/// A member of an object.
#[derive(Debug)]
pub(crate) struct Member {
    name: String,
    /// Where its name begins.
    pub(crate) start: usize,
    pub(crate) value: Range<usize>,
    /// Where the comma after it stands; the last one may have none.
    pub(crate) comma: Option<usize>,
}

impl Object {
    /// The parts of `json`, a part of `plain`, which has the bytes of `text` without its comments.
    pub(crate) fn of(text: &str, plain: &[u8], json: &RawJson, whole: &RawJson) -> Self {
        let Range { start: open, end } = range(plain, json);
        let close = end - 1;
        let mut from = open + 1;
        let mut members = Vec::new();
        for member in json.members() {
            let value = member.value();
            let Range { start: begin, end } = range(plain, &value);
            let start = layout::skip(text, from);
            let comma = Some(layout::skip(text, end)).filter(|at| text[*at..].starts_with(','));
            from = comma.map_or(end, |comma| comma + 1);
            members.push(Member {
                name: member.key().into_owned(),
                start,
                value: begin..end,
                comma,
            });
        }
        Self { open, close, members, is_whole: open == range(plain, whole).start }
    }

    /// The place of the member of that name among the others.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name)
    }
}

/// Where a value stands in the text that it is a part of.
pub(crate) fn range(plain: &[u8], json: &RawJson) -> Range<usize> {
    // Values are slices of one text, so their addresses tell where they stand.
    let start = json.bytes().as_ptr().addr() - plain.as_ptr().addr();
    start..start + json.bytes().len()
}

impl Member {
    /// Where the member ends, its comma included.
    pub(crate) fn end(&self) -> usize {
        self.comma.map_or(self.value.end, |comma| comma + 1)
    }
}

/// The text without a member. A comment on its last line goes with it, those above it stay.
pub(crate) fn remove(text: &str, object: &Object, index: usize) -> String {
    let member = &object.members[index];
    let is_last = index + 1 == object.members.len();
    let before = index.checked_sub(1).map(|index| &object.members[index]);
    // The comma that parted it from the one before parts nothing any more.
    let spare = before.and_then(|it| it.comma).filter(|_| is_last && member.comma.is_none());
    let gone = extent(text, member.start..member.end());
    let head = match spare {
        Some(comma) => [&text[..comma], &text[comma + 1..gone.start]].concat(),
        None => text[..gone.start].to_owned(),
    };
    let tail = &text[gone.end..];
    let inner = [&head[object.open + 1..], &text[gone.end..object.close]].concat();
    if object.members.len() == 1 && inner.trim().is_empty() {
        return [&head[..=object.open], &text[object.close..]].concat();
    }
    head + tail
}

/// All that goes with a member: its lines when it has them to itself, else the space beside it.
fn extent(text: &str, member: Range<usize>) -> Range<usize> {
    let space = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    if !layout::is_first(text, member.start) {
        let is_end = text[member.end..].trim_start().starts_with('}');
        let start = text[..member.start].trim_end_matches([' ', '\t']).len();
        return match is_end {
            true => start..member.end,
            false => member.start..member.end + space(&text[member.end..]),
        };
    }
    match layout::line_end(text, member.end) {
        Some(end) => {
            let newline = text[end..].find('\n').map_or(0, |at| at + 1);
            layout::line_start(text, member.start)..end + newline
        }
        None => member.start..member.end + space(&text[member.end..]),
    }
}

/// Writes a file, making its folder if need be. One that is there keeps its mode, and a link to it
/// stays a link. A new one is for its owner alone, since what a server is given may be a secret. Gives
/// what is known of the file that was written, by which it is told from what others write later.
pub(crate) fn save(file: &Path, text: &str) -> io::Result<Metadata> {
    if let Some(folder) = file.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let unfinished = file.with_file_name(name);
    let written = write(&file, &unfinished, text)
        .and_then(|metadata| fs::rename(&unfinished, &file).map(|()| metadata));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}

fn write(file: &Path, unfinished: &Path, text: &str) -> io::Result<Metadata> {
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create(true).truncate(true).mode(0o600).open(unfinished)?;
    out.write_all(text.as_bytes())?;
    if let Ok(metadata) = fs::metadata(file) {
        out.set_permissions(metadata.permissions())?;
    }
    out.sync_all()?;
    out.metadata()
}
