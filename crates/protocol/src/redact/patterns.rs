//! Patterns of secrets: well-known prefixes of API keys and tokens, values after a name such as
//! `password`, private keys in PEM.

use std::borrow::Cow;
use std::ops::Range;

use super::HIDDEN;

/// Parts of names whose values are secrets, in small letters and without `_` and `-`.
const NAMES: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "private",
];

/// What well-known secrets begin with.
const BEGINNINGS: [&str; 18] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gty_",
    "sk-",
    "sk_",
    "rk_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
];

/// Words before a secret, in a header.
const SCHEMES: [&str; 2] = ["Bearer", "Basic"];

/// The shortest text that is hidden for how it begins.
const SHORTEST_KEY: usize = 16;

/// The shortest value that is hidden for the name before it.
const SHORTEST_VALUE: usize = 8;

/// Environment variables of every program about its surroundings, which are no secrets.
const OPEN: [&str; 17] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "TEMP",
    "TMP",
    "TZ",
    "LANG",
    "LANGUAGE",
    "HOSTNAME",
    "DISPLAY",
    "NODE_ENV",
];

/// Whether the value of that variable of the environment is no secret, whatever it is.
pub fn is_open_variable(name: &str) -> bool {
    OPEN.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_")
}

/// Whether a value of that name is a secret.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_key = name == "key" || name.ends_with("_key") || name.ends_with("-key");
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    // A number of tokens is what models are given.
    is_key || (NAMES.iter().any(|it| plain.contains(it)) && !plain.ends_with("tokens"))
}

/// Whether a text begins as well-known secrets do, and is as long as one.
pub fn begins_like_a_secret(text: &str) -> bool {
    let begins = BEGINNINGS.iter().any(|it| text.starts_with(it));
    let after_scheme = SCHEMES
        .iter()
        .any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| rest.starts_with(' ')));
    text.len() >= SHORTEST_KEY && (begins || after_scheme)
}

/// The text without what has the shape of a secret.
pub(super) fn hide(text: &str) -> Cow<'_, str> {
    let found = find(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut end = 0;
    for range in found {
        // A key within a value that is hidden already is not hidden twice.
        if range.start >= end {
            shown.push_str(&text[end..range.start]);
            shown.push_str(HIDDEN);
            end = range.end;
        }
    }
    shown.push_str(&text[end..]);
    Cow::Owned(shown)
}

/// Where the secrets are, in order.
fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = private_keys(text);
    let mut before: Option<Range<usize>> = None;
    for word in words(text) {
        let gap = before.as_ref().map_or("", |before| &text[before.end..word.start]);
        let name = before.as_ref().map_or("", |before| &text[before.clone()]);
        let it = &text[word.clone()];
        let follows_scheme = SCHEMES.contains(&name) && gap == " " && it.len() >= SHORTEST_VALUE;
        let is_value = || is_assigned(gap) && names_a_secret(name) && is_random(it);
        if is_key(it) || follows_scheme || is_value() {
            found.push(word.clone());
        }
        before = Some(word);
    }
    found.sort_by_key(|range| range.start);
    found
}

/// Runs of letters that keys are made of, separated by anything else.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+/~".contains(&byte);
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(|byte| is_part(*byte))?;
        let length = bytes[start..].iter().position(|byte| !is_part(*byte));
        at = length.map_or(bytes.len(), |length| start + length);
        Some(start..at)
    })
}

/// Whether a word is a key or a signed token by its looks alone.
fn is_key(word: &str) -> bool {
    let is_signed = || {
        let parts: Vec<&str> = word.split('.').collect();
        word.starts_with("eyJ") && parts.len() == 3 && parts.iter().all(|part| part.len() >= 8)
    };
    (word.len() >= SHORTEST_KEY && BEGINNINGS.iter().any(|it| word.starts_with(it)))
        || (word.len() >= 32 && is_signed())
}

/// Whether the text between two words assigns a value to a name: `=`, `: `, `":"`.
fn is_assigned(gap: &str) -> bool {
    let mut signs = gap.chars().filter(|sign| !matches!(sign, ' ' | '"' | '\'' | '\\'));
    matches!((signs.next(), signs.next()), (Some('=' | ':'), None))
}

/// Whether a word is more likely made by a machine than by a writer.
fn is_random(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
    word.len() >= SHORTEST_VALUE && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Private keys in the form that begins with `-----BEGIN`, without their first and last line.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    const BEGIN: &str = "PRIVATE KEY-----";
    const END: &str = "-----END";
    let mut found = Vec::new();
    // Found once: a text may be full of what looks like the rest of such a line.
    let Some(first) = text.find("-----BEGIN") else { return found };
    let mut at = first;
    while let Some(begin) = text[at..].find(BEGIN) {
        let start = at + begin + BEGIN.len();
        let length = text[start..].find(END).unwrap_or(text.len() - start);
        if length > 0 {
            found.push(start..start + length);
        }
        at = start + length;
    }
    found
}
