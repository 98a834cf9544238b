//! Arguments as people are shown them: exact, but for what looks like a secret.

use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};

/// What stands in the place of a secret.
const HIDDEN: &str = "…";

/// What members are called that hold secrets, in small letters and without `_` and `-`.
const SECRETIVE: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
];

/// What keys of well-known services begin with.
const PREFIXES: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "gty_",
    "eyJ",
];

/// The shortest word that is taken for a key because of how it begins.
const SHORTEST: usize = 16;

/// The value with secrets left out. All else stays as it was written.
pub fn masked(value: &RawJson) -> RawJson {
    match value.kind() {
        JsonKind::Object => {
            let members = value.members().fold(ObjectWriter::new(), |object, member| {
                let (key, value) = (member.key(), member.value());
                let is_hidden = is_secretive(&key) && !holds_more(&value);
                let shown = if is_hidden { RawJson::string(HIDDEN) } else { masked(&value) };
                object.raw(&key, &shown)
            });
            members.finish()
        }
        JsonKind::Array => {
            let elements: Vec<RawJson> = value.elements().map(|it| masked(&it)).collect();
            RawJson::array(&elements)
        }
        JsonKind::String => match value.to_text().map(|text| (without_keys(&text), text)) {
            Some((shown, text)) if shown != text => RawJson::string(&shown),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

/// The same as a text in which nothing can hide: letters that are not seen, or that change how the
/// rest is seen, are written as JSON writes them by number.
pub(crate) fn shown(value: &RawJson) -> String {
    let mut text = String::new();
    for letter in masked(value).as_str().chars() {
        match is_hidden(letter) {
            true => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => text.push(letter),
        }
    }
    text
}

fn is_hidden(letter: char) -> bool {
    matches!(
        letter,
        '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Whether a value is looked into instead of hidden; what is no text tells no secret by itself.
fn holds_more(value: &RawJson) -> bool {
    matches!(value.kind(), JsonKind::Object | JsonKind::Null | JsonKind::Boolean)
}

fn is_secretive(name: &str) -> bool {
    let plain: String = name.chars().filter(|it| it.is_alphanumeric()).collect();
    let plain = plain.to_lowercase();
    SECRETIVE.iter().any(|word| plain.contains(word)) && !plain.ends_with("tokens")
}

/// A text in which every word that looks like a key is hidden.
fn without_keys(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-.+/".contains(letter);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        shown.push_str(if is_key(word) { HIDDEN } else { word });
        let length = after.find(is_part).unwrap_or(after.len());
        shown.push_str(&after[..length]);
        rest = &after[length..];
    }
    shown
}

fn is_key(word: &str) -> bool {
    word.len() >= SHORTEST && PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        let value = RawJson::string("a\u{202e}b\u{200b}\u{e0041}ü");
        assert_eq!(shown(&value), r#""a\u202eb\u200b\udb40\udc41ü""#);
    }

    #[test]
    fn only_secrets_are_left_out() {
        let cases = [
            (r#"{ "path":"/tmp/a", "n":1.50 }"#, r#"{"path":"/tmp/a","n":1.50}"#),
            (r#"{"password":"x"}"#, r#"{"password":"…"}"#),
            (r#"{"API_KEY":12}"#, r#"{"API_KEY":"…"}"#),
            (
                r#"{"auth":{"accessToken":"x","user":"u"}}"#,
                r#"{"auth":{"accessToken":"…","user":"u"}}"#,
            ),
            (r#"{"max_tokens":5}"#, r#"{"max_tokens":5}"#),
            (r#"{"secrets":["a"]}"#, r#"{"secrets":"…"}"#),
            (r#"{"token":{"value":"x"}}"#, r#"{"token":{"value":"x"}}"#),
            (r#"["Bearer sk-0123456789abcdef!"]"#, r#"["Bearer …!"]"#),
            (r#"["sk-short"]"#, r#"["sk-short"]"#),
            (r#"["eyJhbGciOiJIUzI1NiJ9.e30.x é"]"#, r#"["… é"]"#),
            (r#""plain text, ünd more""#, r#""plain text, ünd more""#),
        ];
        for (given, expected) in cases {
            assert_eq!(masked(&RawJson::from_static(given)).as_str(), expected, "{given}");
        }
    }
}
