//! What looks like a secret, and entries with such values left out.

use std::path::Path;

use gantry::RawJson;
use gantry_protocol::Secret;
use gantry_protocol::json::JsonKind;
use gantry_protocol::redact::{HIDDEN, begins_like_a_secret, names_a_secret};

use crate::config::editor::ConfigEditor;

/// The secrets that stand in a file in plain text: those of one server, or of all.
pub(crate) fn of_book(editor: &ConfigEditor, server: Option<&str>) -> Vec<PlainSecret> {
    let entries = editor.entries().into_iter();
    let chosen = entries.filter(|(name, _)| server.is_none_or(|server| server == name));
    chosen.flat_map(|(name, entry)| find(&name, &entry)).collect()
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

/// A secret in plain text.
#[derive(Debug)]
pub(crate) struct PlainSecret {
    /// The server whose entry has it.
    pub(crate) server: String,
    /// The member of the entry: `env`, `headers` or `args`.
    pub(crate) group: &'static str,
    /// The variable, header or option that holds it.
    pub(crate) name: String,
    /// The whole value, as it stands in the file.
    pub(crate) value: RawJson,
    /// What comes before the secret in the value, and is none: `Bearer `, `--token=`.
    pub(crate) before: String,
    /// The secret itself.
    pub(crate) secret: Secret,
}

impl PlainSecret {
    /// Where it is, for people.
    pub(crate) fn place(&self) -> String {
        format!("{} `{}`", self.group, self.name)
    }
}

/// The secrets of one entry, in their order.
pub(crate) fn find(server: &str, entry: &RawJson) -> Vec<PlainSecret> {
    let groups = GROUPS.into_iter().flat_map(|group| members(server, group, entry));
    groups.chain(arguments(server, entry)).filter(|it| !is_file(it.secret.expose())).collect()
}

fn members(server: &str, group: &'static str, entry: &RawJson) -> Vec<PlainSecret> {
    let Some(members) = entry.get(group).filter(RawJson::is_object) else { return Vec::new() };
    let exposed = members.members().filter_map(|member| {
        let (name, value) = (member.key().into_owned(), member.value());
        let text = value.to_text().filter(|text| is_secret(&name, text))?;
        let (before, secret) = text.split_at(scheme(&text));
        let (before, secret) = (before.to_owned(), Secret::new(secret));
        Some(PlainSecret { server: server.to_owned(), group, name, value, before, secret })
    });
    exposed.collect()
}

/// `--token secret` and `--token=secret`.
fn arguments(server: &str, entry: &RawJson) -> Vec<PlainSecret> {
    let Some(words) = entry.get("args") else { return Vec::new() };
    let mut option = String::new();
    let mut exposed = Vec::new();
    for value in words.elements() {
        let word = value.to_text().unwrap_or_default();
        let (name, before, secret) = match word.split_once('=') {
            Some((name, secret)) => (name, format!("{name}="), secret),
            None => (option.as_str(), String::new(), word.as_str()),
        };
        if name.starts_with('-') && !secret.starts_with('-') && is_secret(name, secret) {
            let (server, name) = (server.to_owned(), name.to_owned());
            let secret = Secret::new(secret);
            exposed.push(PlainSecret { server, group: "args", name, value, before, secret });
        }
        option = word;
    }
    exposed
}

/// Where the secret begins behind the word that says of what kind it is, as in a header.
fn scheme(text: &str) -> usize {
    match text.split_once(' ') {
        Some((word, rest))
            if word.bytes().all(|it| it.is_ascii_alphabetic())
                && !rest.is_empty()
                && !rest.contains(' ') =>
        {
            word.len() + 1
        }
        _ => 0,
    }
}

/// Whether it only tells where a secret is, or nothing worth hiding.
fn is_file(text: &str) -> bool {
    matches!(text, "true" | "false") || (text.contains('/') && Path::new(text).is_file())
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

#[cfg(test)]
mod find_tests {
    use super::*;

    #[test]
    fn what_is_found_and_what_is_left() {
        let entry = RawJson::from_static(
            r#"{"env": {"API_KEY": "a1", "LEVEL": "debug", "B_TOKEN": "${B}", "USE_TOKEN": "true",
                        "KEY_SECRET": "/dev/../etc/passwd", "N_TOKEN": 5, "OTHER": "sk-0123456789abcdef"},
                "headers": {"Authorization": "Bearer b2", "Cookie": "a=b c=d", "X": "Bearer "},
                "args": ["-y", "--token", "c3", "--api-key=d4", "--port=1", "--key", "-v", "key=e5"]}"#,
        );
        let found = find("s", &entry);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.place(), it.before.as_str(), it.secret.expose()))
            .map(|(place, before, secret)| format!("{place}: {before}|{secret}"))
            .collect();
        let expected = [
            "env `API_KEY`: |a1",
            "env `OTHER`: |sk-0123456789abcdef",
            "headers `Authorization`: Bearer |b2",
            "headers `Cookie`: |a=b c=d",
            "args `--token`: |c3",
            "args `--api-key`: --api-key=|d4",
        ];
        assert_eq!(found, expected);
    }
}
