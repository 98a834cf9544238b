//! An argument of a call and the header that repeats it.

use super::annotation::{HeaderKind, HeaderParam};
use super::number::Decimal;
use super::value::{HeaderError, decode_value};
use crate::json::{JsonKind, RawJson};

/// Checks that the header of an annotated argument says what the body says. `header` is the value
/// as it came, not yet decoded.
pub fn check_argument(
    param: &HeaderParam,
    arguments: Option<&RawJson>,
    header: Option<&str>,
) -> Result<(), HeaderError> {
    let argument = || param.path.join(".");
    let expected = find(param, arguments)?.and_then(|value| written(param.kind, &value));
    let (expected, header) = match (expected, header) {
        (None, None) => return Ok(()),
        (Some(expected), Some(header)) => (expected, header),
        (Some(_), None) => {
            return Err(HeaderError::Missing {
                header: param.header.clone(),
                argument: argument(),
            });
        }
        (None, Some(_)) => {
            let header = param.header.clone();
            return Err(HeaderError::Unexpected { header, argument: argument() });
        }
    };
    let found = decode_value(header)?;
    if found == expected || (param.kind == HeaderKind::Integer && same_number(&found, &expected)) {
        return Ok(());
    }
    Err(HeaderError::Mismatch {
        header: param.header.clone(),
        argument: argument(),
        expected,
        found: found.into_owned(),
    })
}

/// What the header of an annotated argument must say, not yet encoded; none when the argument is
/// absent or null and so has no header.
pub fn argument_value(param: &HeaderParam, arguments: Option<&RawJson>) -> Option<String> {
    let value = find(param, arguments).ok().flatten()?;
    written(param.kind, &value)
}

/// The value at the end of the path. A name that stands twice on the way is refused: the header
/// could agree with one of them and the tool act on the other.
fn find(param: &HeaderParam, arguments: Option<&RawJson>) -> Result<Option<RawJson>, HeaderError> {
    let Some(mut value) = arguments.cloned() else {
        return Ok(None);
    };
    for name in &param.path {
        let mut named = value.members().filter(|member| member.is(name));
        let first = named.next().map(|member| member.value());
        if named.next().is_some() {
            let (header, argument) = (param.header.clone(), param.path.join("."));
            return Err(HeaderError::Doubled { header, argument });
        }
        let Some(first) = first else { return Ok(None) };
        value = first;
    }
    Ok(Some(value))
}

/// Arrays and objects have no header. They do not fit the schema either, which is for another to
/// say.
fn written(kind: HeaderKind, value: &RawJson) -> Option<String> {
    match value.kind() {
        JsonKind::Null | JsonKind::Array | JsonKind::Object => None,
        JsonKind::String => value.to_text(),
        JsonKind::Boolean => Some(value.as_str().to_owned()),
        JsonKind::Number => {
            let whole = || Decimal::parse(value.as_str())?.to_integer();
            let whole = (kind == HeaderKind::Integer).then(whole).flatten();
            Some(whole.unwrap_or_else(|| value.as_str().to_owned()))
        }
    }
}

fn same_number(left: &str, right: &str) -> bool {
    Decimal::parse(left).is_some_and(|left| Some(left) == Decimal::parse(right))
}
