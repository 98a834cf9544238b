//! An argument of a call and the header that repeats it.

use super::annotation::{HeaderKind, HeaderParam};
use super::value::{HeaderError, decode_value};
use crate::json::{JsonKind, RawJson};

/// Checks that the header of an annotated argument equals the value in the body. `header` is the value
/// as it came, not yet decoded.
pub fn check_argument(
    param: &HeaderParam,
    arguments: Option<&RawJson>,
    header: Option<&str>,
) -> Result<(), HeaderError> {
    let argument = || param.path.join(".");
    let expected = find(param, arguments)?.and_then(|value| header_text(param.kind, &value));
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

/// The value that the header of an annotated argument must have, not yet encoded; none when it is
/// absent or null and so has no header.
pub fn argument_value(param: &HeaderParam, arguments: Option<&RawJson>) -> Option<String> {
    let value = find(param, arguments).ok().flatten()?;
    header_text(param.kind, &value)
}

/// The value at the end of the path. A duplicate key on the way is refused: the header
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
            return Err(HeaderError::Duplicate { header, argument });
        }
        let Some(first) = first else { return Ok(None) };
        value = first;
    }
    Ok(Some(value))
}

/// Arrays and objects have no header. They do not match the schema either, which validation reports.
fn header_text(kind: HeaderKind, value: &RawJson) -> Option<String> {
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

/// A decimal number, compared by value: `42`, `42.0` and `4.2e1` are equal. Its significant digits and
/// their exponent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

/// The longest exponent to write out in full.
const LONGEST: i64 = 32;

impl Decimal {
    /// Reads a number as JSON writes it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return None;
        }
        serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole.trim_start_matches('-'), fraction].concat();
        let significant = digits.trim_end_matches('0');
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        let places = i64::try_from(fraction.len()).ok()?;
        let significant = significant.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self { negative: false, digits: String::new(), exponent: 0 });
        }
        let exponent = power.parse::<i64>().ok()?.checked_sub(places)?.checked_add(zeros)?;
        Some(Self { negative: text.starts_with('-'), digits: significant.to_owned(), exponent })
    }

    /// The number written out, when it is a whole one of bearable length.
    pub(super) fn to_integer(&self) -> Option<String> {
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        let zeros = usize::try_from(self.exponent).ok().filter(|_| self.exponent <= LONGEST)?;
        let sign = if self.negative { "-" } else { "" };
        Some(format!("{sign}{}{}", self.digits, "0".repeat(zeros)))
    }
}
