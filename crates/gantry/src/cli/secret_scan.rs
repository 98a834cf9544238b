//! What looks like a secret, and entries with such values left out.

mod find;

use gantry::RawJson;
use gantry_protocol::json::JsonKind;
use gantry_protocol::redact::{HIDDEN, begins_like_a_secret, names_a_secret};

use super::config_editor::ConfigEditor;

pub(crate) use find::PlainSecret;

/// The secrets that stand in a file in plain text: those of one server, or of all.
pub(crate) fn of_book(editor: &ConfigEditor, server: Option<&str>) -> Vec<PlainSecret> {
    let entries = editor.entries().into_iter();
    let chosen = entries.filter(|(name, _)| server.is_none_or(|server| server == name));
    chosen.flat_map(|(name, entry)| find::find(&name, &entry)).collect()
}

/// Whether a value is a secret in plain sight, rather than the name of a variable that has it.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    let is_reference = ["${", "{env:", "{file:"].iter().any(|it| value.contains(it));
    !value.is_empty() && !is_reference && (names_a_secret(name) || begins_like_a_secret(value))
}

/// What holds secrets in plain sight: names of variables and headers, and `args` or `url`.
pub(crate) fn exposed(entry: &RawJson) -> Vec<String> {
    let groups = GROUPS.into_iter().filter_map(|group| entry.get(group));
    let exposed = |group: RawJson| {
        let members = group.members().map(|it| (it.key().into_owned(), it.value().to_text()));
        let exposed = members.filter_map(|(name, value)| value.map(|value| (name, value)));
        exposed.filter(|(name, value)| is_secret(name, value)).map(|it| it.0).collect::<Vec<_>>()
    };
    let shown = masked(entry);
    let whole = ["args", "url"].into_iter().filter(|key| {
        let compact = |entry: &RawJson| entry.get(key).map(|it| it.compact());
        compact(entry) != compact(&shown)
    });
    groups.flat_map(exposed).chain(whole.map(str::to_owned)).collect()
}

/// The members of an entry that hold names with values.
const GROUPS: [&str; 3] = ["env", "environment", "headers"];

/// The entry as it may be shown.
pub(crate) fn masked(entry: &RawJson) -> RawJson {
    let mut edit = entry.edit();
    for member in entry.members() {
        let (key, value) = (member.key().into_owned(), member.value());
        let shown = match (key.as_str(), value.kind()) {
            (group, JsonKind::Object) if GROUPS.contains(&group) => masked_group(&value),
            ("args" | "command", JsonKind::Array) => {
                let texts = value.elements().map(|it| it.to_text().unwrap_or_default());
                let words: Vec<RawJson> = words(&texts.collect::<Vec<_>>())
                    .iter()
                    .map(|it| RawJson::string(it))
                    .collect();
                RawJson::array(&words)
            }
            ("url", JsonKind::String) => {
                RawJson::string(&address(&value.to_text().unwrap_or_default()))
            }
            _ => continue,
        };
        edit = edit.set(key, shown);
    }
    edit.apply()
}

fn masked_group(group: &RawJson) -> RawJson {
    let mut edit = group.edit();
    for member in group.members() {
        let name = member.key().into_owned();
        let value = member.value().to_text().unwrap_or_default();
        if is_secret(&name, &value) {
            edit = edit.set(name, RawJson::string(HIDDEN));
        }
    }
    edit.apply()
}

/// The words of a command line as they may be shown.
pub(crate) fn words(words: &[String]) -> Vec<String> {
    let mut before = "";
    let mut shown = Vec::new();
    for word in words {
        let flag = Some(before).filter(|it| it.starts_with('-')).unwrap_or_default();
        shown.push(match word.split_once('=') {
            Some((name, value)) if is_secret(name, value) => format!("{name}={HIDDEN}"),
            None if !word.starts_with('-') && is_secret(flag, word) => HIDDEN.to_owned(),
            _ => address(word),
        });
        before = word;
    }
    shown
}

/// An address without the password and the secrets of its query; any other text as it is.
pub(crate) fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (front, query) = match rest.split_once('?') {
        Some((front, query)) => (front, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = front.split_at(front.find('/').unwrap_or(front.len()));
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if is_secret(name, value) => format!("{name}={HIDDEN}"),
        _ => pair.to_owned(),
    };
    let query = query.map(|it| it.split('&').map(hide).collect::<Vec<_>>().join("&"));
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}://{authority}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_plain_sight() {
        let cases = [
            ("GITHUB_TOKEN", "ghp_0123456789abcdef", true),
            ("GITHUB_TOKEN", "${GITHUB_TOKEN}", false),
            ("Authorization", "Bearer {env:KEY}", false),
            ("Authorization", "Bearer abc", true),
            ("OPENAI_API_KEY", "x", true),
            ("KEY", "x", true),
            ("KEYBOARD", "qwerty", false),
            ("LEVEL", "debug", false),
            ("LEVEL", "sk-0123456789abcdef", true),
            ("TOKEN", "", false),
        ];
        for (name, value, expected) in cases {
            assert_eq!(is_secret(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn what_is_shown() {
        let entry = RawJson::from_static(
            r#"{"command": "npx", "args": ["-y", "pkg", "--token", "abc", "--api-key=abc", "--port=1"],
                "env": {"TOKEN": "abc", "LEVEL": "debug"}, "url": "https://me:pw@host/mcp?key=1&a=2"}"#,
        );
        let expected = r#"{"command":"npx","args":["-y","pkg","--token","…","--api-key=…","--port=1"],"env":{"TOKEN":"…","LEVEL":"debug"},"url":"https://…@host/mcp?key=…&a=2"}"#;
        assert_eq!(masked(&entry).compact().as_str(), expected);
        assert_eq!(exposed(&entry), ["TOKEN", "args", "url"]);
    }
}
