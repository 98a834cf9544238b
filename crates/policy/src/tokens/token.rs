//! The format of a token, and the record that is kept of it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What every token begins with, so that people and scanners know one when they see it.
const BEGINNING: &str = "gty_";
/// Bytes of the part by which a token is found. It is no secret.
const ID: usize = 6;
/// Bytes of the part that nobody can guess.
const SECRET: usize = 32;
/// Letters of the secret in base64.
const SECRET_LETTERS: usize = (SECRET * 8).div_ceil(6);

/// A token as its holder has it: `gty_ID_SECRET`. It is never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// What a token entitles its holder to beyond making calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Nothing.
    #[default]
    Caller,
    /// To approve calls of others.
    Approver,
    /// The token of the first start, for the local user's own clients: what that user answers in
    /// such a client is an approval.
    User,
}

/// What is kept of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// The part by which it is found.
    pub id: String,
    /// Who is accountable for what is done with it.
    pub name: String,
    /// SHA-256 of its secret, in hexadecimal. A slow hash would protect nothing more: a secret of
    /// 256 random bits cannot be guessed, and the check stands before every call.
    pub hash: String,
    /// Patterns of the names that may be seen and called. What is kept without any is good for
    /// everything: no token is made with an empty list.
    #[serde(default)]
    pub allow: Vec<String>,
    /// What else it entitles to.
    #[serde(default)]
    pub role: Role,
    /// When it was made, in seconds since 1970, as all times here.
    pub created: u64,
    /// When its time is over.
    #[serde(default)]
    pub expires: Option<u64>,
    /// When it was taken away.
    #[serde(default)]
    pub revoked: Option<u64>,
    /// When it was last shown.
    #[serde(default, skip_serializing)]
    pub last_used: Option<u64>,
}

/// The two parts of a token that someone shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) id: &'a str,
    secret: &'a str,
}

impl Token {
    /// A new one.
    pub fn random() -> Self {
        let (mut id, mut secret) = ([0; ID], [0; SECRET]);
        rand::rng().fill_bytes(&mut id);
        rand::rng().fill_bytes(&mut secret);
        Self(format!("{BEGINNING}{}_{}", hexadecimal(&id), URL_SAFE_NO_PAD.encode(secret)))
    }

    /// Takes a text that has the form of a token.
    pub fn parse(text: &str) -> Option<Self> {
        Shown::read(text).map(|_| Self(text.to_owned()))
    }

    /// The text, for its holder alone.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl Role {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Approver => "approver",
            Self::User => "user",
        }
    }
}

impl TokenRecord {
    /// Whether its time is over or it was taken away.
    pub fn is_dead(&self, now: u64) -> bool {
        self.revoked.is_some() || self.expires.is_some_and(|expires| expires <= now)
    }
}

impl<'a> Shown<'a> {
    /// Takes a text apart. Anything that is not written exactly as we write tokens is none.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(BEGINNING)?.split_once('_')?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let fits = id.len() == 2 * ID
            && id.bytes().all(is_digit)
            && secret.len() == SECRET_LETTERS
            && secret.bytes().all(is_letter);
        fits.then_some(Self { id, secret })
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.secret).into()
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a hash; none if it was not written by us.
pub(crate) fn hash_bytes(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_token() {
        let token = Token::random();
        let whole = token.expose().to_owned();
        assert_eq!(whole.len(), 4 + 12 + 1 + 43);
        assert_eq!(Token::parse(&whole), Some(token.clone()));
        assert_ne!(Token::random(), token);
        assert_eq!(format!("{token:?}"), "Token(…)");
        let cases = [
            String::new(),
            "gty_".to_owned(),
            whole[..whole.len() - 1].to_owned(),
            whole[1..].to_owned(),
            format!("{whole}A"),
            format!(" {whole}"),
            format!("{whole} "),
            format!("{whole},{whole}"),
            whole.replacen("gty_", "GTY_", 1),
            whole.replacen("gty_", "gty__", 1),
            format!("{}é", &whole[..whole.len() - 2]),
            whole[..17].to_uppercase() + &whole[17..],
        ];
        for case in cases {
            assert_eq!(Token::parse(&case), None, "{case}");
        }
    }

    #[test]
    fn hashes_are_read_as_written() {
        let hash: [u8; 32] = Sha256::digest("a").into();
        assert_eq!(hash_bytes(&hexadecimal(&hash)), Some(hash));
        for wrong in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(hash_bytes(wrong), None, "{wrong}");
        }
    }
}
