//! `auth`: whether callers over HTTP must say who they are.

use gantry_protocol::RawJson;

use super::ConfigError;
use super::read::Reader;

/// Whether callers over HTTP must say who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// By a token.
    #[default]
    Token,
    /// No: everyone is the local user. On loopback only.
    None,
}

impl Auth {
    /// All of them, as they are written.
    pub const NAMES: [&str; 2] = ["token", "none"];

    /// Reads one as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Token, Self::None].into_iter().find(|auth| auth.name() == text)
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::None => "none",
        }
    }
}

/// Reads `auth` of an object; `expected` says what it may be there.
pub(super) fn read(
    reader: &Reader<'_>,
    object: &RawJson,
    expected: &'static str,
) -> Result<Option<Auth>, ConfigError> {
    let Some(text) = reader.text(object, "auth", expected)? else { return Ok(None) };
    let value = object.get("auth").unwrap_or(RawJson::NULL);
    Auth::parse(&text).map(Some).ok_or_else(|| reader.form(&value, "auth", expected))
}
