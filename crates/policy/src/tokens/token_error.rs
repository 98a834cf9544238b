//! Why a token is rejected, and why one is not created or revoked.

use crate::document_store::DocumentStoreError;

/// Why a token does not open. The last two are told only to who shows the right secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// None is shown.
    #[error(
        "this needs a token; `gantry token create --name NAME` makes one, send it as \
         `Authorization: Bearer TOKEN`"
    )]
    Missing,
    /// It is none of ours.
    #[error("this token is not known here; `gantry token create --name NAME` makes one")]
    Unknown,
    /// Its time is over.
    #[error("this token has expired; `gantry token create --name NAME` makes a new one")]
    Expired,
    /// It was taken away.
    #[error("this token was revoked; `gantry token create --name NAME` makes a new one")]
    Revoked,
}

/// Why a token is not made, or not taken away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The name cannot be one.
    #[error(
        "`{0}` cannot be the name of a token; use up to 64 letters, digits, `.`, `_`, `@` and `-`, \
         beginning with a letter or digit"
    )]
    Name(String),
    /// The name means someone else.
    #[error("`{0}` means callers without a token; choose another name")]
    Reserved(String),
    /// Another token has it.
    #[error("there is a token `{0}` already; revoke it first, or choose another name")]
    Taken(String),
    /// A pattern can fit nothing.
    #[error("`{0}` is no pattern of names; write a name, in which `*` stands for any text")]
    Pattern(String),
    /// No pattern is given where some are to be.
    #[error("an empty `allow` would allow nothing; leave it out to allow everything")]
    NothingAllowed,
    /// More patterns than a token may have.
    #[error("a token may have {MOST_PATTERNS} patterns; use `*` to say it with fewer")]
    TooManyPatterns,
    /// It would be over before it begins.
    #[error("the token would have expired already; give it a time to come")]
    Past,
    /// The text is not a token.
    #[error("this does not have the form of a token; let one be made")]
    Form,
    /// There are enough.
    #[error("there are {0} tokens, which is as many as may be; revoke some first")]
    TooMany(usize),
    /// There is none of that name.
    #[error("no token `{0}` is in force; `gantry token list` shows those there are")]
    Unknown(String),
    /// It is taken away here, and may come back.
    #[error(
        "the token `{0}` is revoked until the next start, but that could not be written down: {1}; \
         revoke it again"
    )]
    Unwritten(String, DocumentStoreError),
    /// It could not be written down.
    #[error("the token cannot be kept: {0}")]
    DocumentStore(#[from] DocumentStoreError),
}

/// How many patterns a token may have.
const MOST_PATTERNS: usize = 100;
/// The letters that a name or a pattern may have.
const LONGEST_NAME: usize = 64;
const LONGEST_PATTERN: usize = 256;

/// Names that stand for callers without a token.
const RESERVED: [&str; 2] = ["local", "anyone"];

/// Names are of plain letters, so that no two look alike.
pub(super) fn check_name(name: &str) -> Result<(), TokenError> {
    let is_letter =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@' | b'-');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !begins || name.len() > LONGEST_NAME || !name.bytes().all(is_letter) {
        return Err(TokenError::Name(name.to_owned()));
    }
    match RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        true => Err(TokenError::Reserved(name.to_owned())),
        false => Ok(()),
    }
}

pub(super) fn check_allow(allow: &[String]) -> Result<(), TokenError> {
    if allow.is_empty() {
        return Err(TokenError::NothingAllowed);
    }
    if allow.len() > MOST_PATTERNS {
        return Err(TokenError::TooManyPatterns);
    }
    let is_wrong = |it: &String| {
        it.is_empty() || it.len() > LONGEST_PATTERN || it.chars().any(char::is_control)
    };
    allow.iter().find(|it| is_wrong(it)).map_or(Ok(()), |it| Err(TokenError::Pattern(it.clone())))
}
