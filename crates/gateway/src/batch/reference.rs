//! References to the results of earlier calls, in the arguments of later ones.
//!
//! `{"$from": "a", "path": "/structuredContent/x"}` stands for a value, `${a./content/0/text}`
//! inside a string for its text. The path is a JSON pointer into the result.

use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};

use crate::error::CallError;

const FROM: &str = "$from";
const PATH: &str = "path";
const OPEN: &str = "${";

/// Whose result, and the place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) id: String,
    pub(super) path: String,
}

/// Finds what a reference stands for.
pub(super) type Find<'a> = dyn FnMut(&Reference) -> Result<RawJson, CallError> + 'a;

/// The value with its references filled in; none when it has none, and so is as it should be.
pub(super) fn fill(value: &RawJson, find: &mut Find<'_>) -> Result<Option<RawJson>, CallError> {
    match value.kind() {
        JsonKind::Object => match value.get(FROM) {
            Some(id) => find(&Reference::read(value, &id)?).map(Some),
            None => fill_members(value, find),
        },
        JsonKind::Array => fill_elements(value, find),
        JsonKind::String => match value.to_text() {
            Some(text) => fill_text(&text, find),
            None => Ok(None),
        },
        JsonKind::Number | JsonKind::Boolean | JsonKind::Null => Ok(None),
    }
}

fn fill_members(object: &RawJson, find: &mut Find<'_>) -> Result<Option<RawJson>, CallError> {
    let (mut filled, mut changed) = (ObjectWriter::with_capacity(object.bytes().len()), false);
    for member in object.members() {
        let value = member.value();
        let new = fill(&value, find)?;
        changed |= new.is_some();
        filled = filled.raw(&member.key(), new.as_ref().unwrap_or(&value));
    }
    Ok(changed.then(|| filled.finish()))
}

fn fill_elements(array: &RawJson, find: &mut Find<'_>) -> Result<Option<RawJson>, CallError> {
    let (mut elements, mut changed) = (Vec::new(), false);
    for element in array.elements() {
        let filled = fill(&element, find)?;
        changed |= filled.is_some();
        elements.push(filled.unwrap_or(element));
    }
    Ok(changed.then(|| RawJson::array(&elements)))
}

fn fill_text(text: &str, find: &mut Find<'_>) -> Result<Option<RawJson>, CallError> {
    // No reference begins behind the last closing: looking for one from each of a million beginnings
    // would take for ever.
    let (text, tail) = text.split_at(text.rfind('}').map_or(0, |last| last + 1));
    let (mut filled, mut rest, mut changed) = (String::new(), text, false);
    while let Some(at) = rest.find(OPEN) {
        let (before, after) = rest.split_at(at + OPEN.len());
        let Some((reference, length)) = Reference::in_text(after) else {
            filled.push_str(before);
            rest = after;
            continue;
        };
        changed = true;
        let before = &before[..at];
        if let Some(before) = before.strip_suffix('$') {
            // A doubled sign: what follows is meant as it stands.
            filled.push_str(before);
            filled.push_str(OPEN);
            filled.push_str(&after[..length]);
        } else {
            let value = find(&reference)?;
            filled.push_str(before);
            filled.push_str(&value.to_text().unwrap_or_else(|| value.compact().to_string()));
        }
        rest = &after[length..];
    }
    filled.push_str(rest);
    filled.push_str(tail);
    Ok(changed.then(|| RawJson::string(&filled)))
}

impl Reference {
    /// Reads a reference that stands for a value.
    fn read(object: &RawJson, id: &RawJson) -> Result<Self, CallError> {
        let wrong = |what: &str| Err(CallError::invalid_params(format!("a reference {what}")));
        if let Some(other) = object.members().find(|it| !it.is(FROM) && !it.is(PATH)) {
            return wrong(&format!("has `$from` and `path`, not `{}`", other.key()));
        }
        let Some(id) = id.to_text() else { return wrong("names a call by its id, a string") };
        let path = object.get(PATH).map_or(Some(String::new()), |path| path.to_text());
        match path {
            Some(path) if is_pointer(&path) => Ok(Self { id, path }),
            _ => wrong("has a `path` that begins with `/`, or none"),
        }
    }

    /// The reference with which a text begins, after the opening, and its length to the end of the
    /// closing. Anything else in braces is text: programs of many kinds are written with them.
    fn in_text(text: &str) -> Option<(Self, usize)> {
        let (id, behind) = text.split_at(text.find(|sign| !is_in_id(sign))?);
        let behind = behind.strip_prefix('.').filter(|_| is_id(id))?;
        // Before looking for the end: what is no reference must not cost a look at all that follows.
        let end = behind.starts_with(['/', '}']).then(|| behind.find('}'))??;
        let (path, length) = (&behind[..end], id.len() + 1 + end + 1);
        Some((Self { id: id.to_owned(), path: path.to_owned() }, length))
    }
}

/// Whether a call may be called so.
pub(super) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.chars().all(is_in_id)
}

/// Whether a sign may be part of an id.
pub(super) fn is_in_id(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_' || sign == '-'
}

fn is_pointer(path: &str) -> bool {
    path.is_empty() || path.starts_with('/')
}

/// What a JSON pointer points to. `searched` grows by the bytes that were looked through on the way.
pub(super) fn pointed(value: &RawJson, path: &str, searched: &mut usize) -> Option<RawJson> {
    path.split('/').skip(1).try_fold(value.clone(), |value, name| {
        let name = name.replace("~1", "/").replace("~0", "~");
        match value.kind() {
            JsonKind::Object => {
                *searched = searched.saturating_add(value.bytes().len());
                value.get(&name)
            }
            JsonKind::Array => {
                let is_index = name == "0" || !name.starts_with(['0', '+']);
                let index: usize = name.parse().ok().filter(|_| is_index)?;
                let mut passed = value.elements().inspect(|element| {
                    *searched = searched.saturating_add(element.bytes().len() + 1);
                });
                passed.nth(index)
            }
            _ => None,
        }
    })
}
