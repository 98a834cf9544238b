//! Arguments as people type them, `count=3 tags=a,b point.x=1`, turned into the JSON object that a
//! tool's schema asks for. Pure: files are read by whoever calls.

mod coerce;
mod error;
mod shape;
mod tree;
mod word;

pub(crate) use error::ArgumentError;
pub(crate) use shape::{Form, Shape};

use gantry::RawJson;
use tree::Tree;
use word::{Text, Word};

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

#[cfg(test)]
mod tests;
