//! Secrets that stand in a configuration in plain text, each with its place, so that they can be
//! moved away.

use std::path::Path;

use gantry::RawJson;
use gantry_protocol::Secret;

use super::{GROUPS, is_secret};

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
