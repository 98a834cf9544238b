//! A text as a header's value: plain where HTTP can carry it, base64 between marks where not.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const OPENING: &str = "=?base64?";
const CLOSING: &str = "?=";

/// A header that is missing, malformed, or differs from the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// A value between the marks that is not base64.
    #[error(
        "the header value `{value}` is not valid base64; expected the padded standard alphabet"
    )]
    Base64 {
        /// The whole value.
        value: String,
    },
    /// A value whose base64 holds something else than text.
    #[error("the header value `{value}` does not hold UTF-8 text; expected the base64 of UTF-8")]
    NotUtf8 {
        /// The whole value.
        value: String,
    },
    /// A plain value with a character that none may hold.
    #[error(
        "a header value holds the character {character:?}; expected visible ASCII, or `=?base64?…?=`"
    )]
    Character {
        /// The first such character.
        character: char,
    },
    /// No header for an argument that has one.
    #[error("the header `{header}` is missing; expected the value of the argument `{argument}`")]
    Missing {
        /// The header's name.
        header: String,
        /// The argument's path, joined by dots.
        argument: String,
    },
    /// A header for an argument that is not there.
    #[error(
        "the header `{header}` is set; expected none, because the argument `{argument}` is absent or null"
    )]
    Unexpected {
        /// The header's name.
        header: String,
        /// The argument's path, joined by dots.
        argument: String,
    },
    /// A header that differs from the argument.
    #[error(
        "the header `{header}` is `{found}`; expected `{expected}`, the value of the argument `{argument}`"
    )]
    Mismatch {
        /// The header's name.
        header: String,
        /// The argument's path, joined by dots.
        argument: String,
        /// The value of the argument.
        expected: String,
        /// The value of the header.
        found: String,
    },
    /// A duplicate argument in the body: two readers could see two values.
    #[error(
        "the argument `{argument}` of the header `{header}` appears more than once; expected it once"
    )]
    Duplicate {
        /// The header's name.
        header: String,
        /// The argument's path, joined by dots.
        argument: String,
    },
}

/// Writes a text as a header's value.
///
/// ```
/// use gantry_protocol::headers::encode_value;
/// assert_eq!(encode_value("get weather"), "get weather");
/// assert_eq!(encode_value("grüß"), "=?base64?Z3LDvMOf?=");
/// ```
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let plain = text.chars().all(is_plain)
        && !text.starts_with(is_blank)
        && !text.ends_with(is_blank)
        && marked(text).is_none();
    match plain {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{OPENING}{}{CLOSING}", STANDARD.encode(text))),
    }
}

/// Reads a header's value. Whitespace around it belongs to HTTP and not to the value.
///
/// ```
/// use gantry_protocol::headers::decode_value;
/// assert_eq!(decode_value(" =?base64?Z3LDvMOf?= ").unwrap(), "grüß");
/// assert!(decode_value("=?base64?Z3LDvMO?=").is_err());
/// ```
pub fn decode_value(value: &str) -> Result<Cow<'_, str>, HeaderError> {
    let value = value.trim_matches(is_blank);
    if let Some(encoded) = marked(value) {
        let bytes = STANDARD.decode(encoded);
        let bytes = bytes.map_err(|_| HeaderError::Base64 { value: value.to_owned() })?;
        let text = String::from_utf8(bytes);
        return text.map(Cow::Owned).map_err(|_| HeaderError::NotUtf8 { value: value.to_owned() });
    }
    match value.chars().find(|character| !is_plain(*character)) {
        Some(character) => Err(HeaderError::Character { character }),
        None => Ok(Cow::Borrowed(value)),
    }
}

fn is_plain(character: char) -> bool {
    matches!(character, '\t' | ' '..='~')
}

fn is_blank(character: char) -> bool {
    matches!(character, '\t' | ' ')
}

fn marked(value: &str) -> Option<&str> {
    value.strip_prefix(OPENING)?.strip_suffix(CLOSING)
}
