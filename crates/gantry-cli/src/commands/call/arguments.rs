//! Arguments as people type them, `count=3 tags=a,b point.x=1`, turned into the JSON object that a
//! tool's schema asks for. Pure: files are read by whoever calls.

pub(crate) mod coerce;
pub(crate) mod shape;

#[cfg(test)]
mod tests;

use gantry::{ObjectWriter, RawJson};
use gantry_protocol::{JsonError, JsonLimits};
use gantry_providers::suggestion::nearest;

pub(crate) use crate::commands::call::arguments::shape::{Form, Shape};

/// Reads the file of `KEY=@FILE`.
pub(crate) type Files<'a> = &'a dyn Fn(&str) -> std::io::Result<String>;

/// The arguments that the words mean for a tool with this input schema, put on top of `base`.
pub(crate) fn read(
    schema: &RawJson,
    base: &RawJson,
    words: &[String],
    files: Files<'_>,
) -> Result<RawJson, ArgumentError> {
    let shape = Shape::of(schema);
    let words = words.iter().map(|word| Word::parse(word, files)).collect::<Result<Vec<_>, _>>()?;
    let mut tree = Tree::of(base);
    for (index, word) in words.iter().enumerate() {
        // The first of several words for one key takes them all.
        if words[..index].iter().any(|earlier| earlier.key == word.key) {
            continue;
        }
        let texts: Vec<&Text> =
            words[index..].iter().filter(|it| it.key == word.key).map(|it| &it.text).collect();
        let (path, place) = locate(&shape, &word.key)?;
        tree.put(&path, coerce::value(&word.key, place.as_ref(), &texts)?);
    }
    let arguments = tree.to_json();
    let missing: Vec<String> =
        shape.needed().into_iter().filter(|name| arguments.get(name).is_none()).collect();
    if missing.is_empty() { Ok(arguments) } else { Err(ArgumentError::Missing(missing)) }
}

/// Where a key leads, and what the schema says of that place. A property whose own name has dots
/// in it comes before a path through several.
fn locate(shape: &Shape, key: &str) -> Result<(Vec<String>, Option<Shape>), ArgumentError> {
    if let Some(place) = shape.property(key) {
        return Ok((vec![key.to_owned()], Some(place)));
    }
    let mut here = Some(shape.clone());
    let mut path = Vec::new();
    for part in key.split('.') {
        let inside = here.as_ref().and_then(|here| here.member(part));
        if inside.is_none() && here.as_ref().is_some_and(Shape::is_closed) {
            let known = here.map(|here| here.names()).unwrap_or_default();
            return Err(ArgumentError::unknown(&path, part, &known));
        }
        path.push(part.to_owned());
        here = inside;
    }
    Ok((path, here))
}

/// A key and what was typed for it.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) key: String,
    pub(crate) text: Text,
}

/// What was typed for a key.
#[derive(Debug)]
pub(crate) enum Text {
    /// To be read as the schema says.
    Typed(String),
    /// The content of a file: a string is taken as it is.
    File(String),
    /// JSON already.
    Json(RawJson),
}

impl Word {
    pub(crate) fn parse(word: &str, files: Files<'_>) -> Result<Self, ArgumentError> {
        if word.starts_with('{') {
            return Err(ArgumentError::Object);
        }
        let equals = word.find('=').filter(|at| *at > 0);
        let Some(at) = equals else { return Err(ArgumentError::NoValue(word.to_owned())) };
        let (key, text) = (&word[..at], &word[at + 1..]);
        match key.strip_suffix(':').filter(|key| !key.is_empty()) {
            Some(key) => {
                let text = match text.strip_prefix('@') {
                    Some(path) => read_file(key, path, files)?,
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
        Some(path) => Ok(Text::File(read_file(key, path, files)?)),
        None => Ok(Text::Typed(text.to_owned())),
    }
}

fn read_file(key: &str, path: &str, files: Files<'_>) -> Result<String, ArgumentError> {
    files(path).map_err(|error| ArgumentError::File {
        key: key.to_owned(),
        path: path.to_owned(),
        error,
    })
}

pub(crate) fn json(key: &str, text: String) -> Result<RawJson, ArgumentError> {
    RawJson::parse(text, JsonLimits::default())
        .map_err(|error| ArgumentError::Json { key: key.to_owned(), error })
}

/// A value, or an object of them.
#[derive(Debug)]
pub(crate) enum Tree {
    Leaf(RawJson),
    Branch(Vec<(String, Tree)>),
}

impl Tree {
    /// The tree of an object; its members are leaves until a path leads into them.
    pub(crate) fn of(value: &RawJson) -> Self {
        let members = value.members();
        let leaf = |key: String, value| (key, Self::Leaf(value));
        Self::Branch(members.map(|it| leaf(it.key().into_owned(), it.value())).collect())
    }

    /// Puts a value at the end of a path, in place of what is there.
    pub(crate) fn put(&mut self, path: &[String], value: RawJson) {
        let Some((key, rest)) = path.split_first() else {
            *self = Self::Leaf(value);
            return;
        };
        if let Self::Leaf(leaf) = self {
            *self = Self::of(leaf);
        }
        let Self::Branch(members) = self else { return };
        let index = members.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            members.push((key.clone(), Self::Branch(Vec::new())));
            members.len() - 1
        });
        members[index].1.put(rest, value);
    }

    pub(crate) fn to_json(&self) -> RawJson {
        match self {
            Self::Leaf(value) => value.clone(),
            Self::Branch(members) => {
                let write = |object: ObjectWriter, (key, value): &(String, Self)| {
                    object.raw(key, &value.to_json())
                };
                members.iter().fold(ObjectWriter::new(), write).finish()
            }
        }
    }
}

/// Why words are no arguments for a tool.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgumentError {
    /// A word without `=`.
    #[error("`{0}` has no value; write `{0}=VALUE`")]
    NoValue(String),
    /// All arguments as one object, which have a place of their own.
    #[error("a JSON object has its place behind `--args`; write `--args '{{…}}'`, or `KEY=VALUE`")]
    Object,
    /// The schema knows no such argument.
    #[error("there is no argument `{name}`; {advice}")]
    Unknown { name: String, advice: String },
    /// What was typed is not what the schema asks for.
    #[error("`{key}` must be {expected}; got `{given}`")]
    Form { key: String, expected: String, given: String },
    /// One value is wanted and several were given.
    #[error("`{0}` is given more than once, and is not a list; give it once")]
    Twice(String),
    /// What was said to be JSON is none.
    #[error("`{key}` is not valid JSON: {error}")]
    Json { key: String, error: JsonError },
    /// A file cannot be read.
    #[error("`{key}` cannot be read from `{path}`: {error}")]
    File { key: String, path: String, error: std::io::Error },
    /// Arguments that must be given are not.
    #[error("{}", missing(.0))]
    Missing(Vec<String>),
}

/// The most of a typed text that is repeated.
const SHOWN: usize = 60;

impl ArgumentError {
    pub(crate) fn unknown(path: &[String], part: &str, known: &[String]) -> Self {
        let whole = |last: &str| {
            path.iter().map(String::as_str).chain([last]).collect::<Vec<_>>().join(".")
        };
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let advice = match nearest(part, &names) {
            Some(meant) => format!("did you mean `{}`?", whole(meant)),
            None if known.is_empty() => "the tool takes none".to_owned(),
            None => format!("the arguments are {}", quoted(known)),
        };
        Self::Unknown { name: whole(part), advice }
    }

    pub(crate) fn form(key: &str, expected: impl Into<String>, given: &str) -> Self {
        let cut = given.char_indices().nth(SHOWN).map(|(at, _)| format!("{}…", &given[..at]));
        let given = cut.unwrap_or_else(|| given.to_owned());
        Self::Form { key: key.to_owned(), expected: expected.into(), given }
    }
}

fn missing(names: &[String]) -> String {
    match names {
        [name] => format!("the argument `{name}` is missing"),
        names => format!("the arguments {} are missing", quoted(names)),
    }
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        quoted => quoted.concat(),
    }
}
