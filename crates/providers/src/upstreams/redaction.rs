//! Keeps the secrets of a server's configuration out of what is said of it.

use std::sync::Arc;

use gantry_client::{Endpoint, Target};
use gantry_protocol::{JsonLimits, RawJson};

/// A shorter text is no secret, and replacing it would hide too much else.
const SHORTEST: usize = 6;

/// What stands where a secret stood.
const HIDDEN: &str = "…";

/// Variables that every program is given, and that no one hides.
const OPEN: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "HOSTNAME",
    "COLORTERM",
    "NODE_ENV",
];

/// The texts to hide, longest first. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Redaction(Arc<[String]>);

impl Redaction {
    /// Hides what a target was configured with: values of headers, of variables, and in an address.
    pub(super) fn of(target: &Target) -> Self {
        let secrets: Vec<&str> = match target {
            Target::Program(program) => {
                let hidden = |(name, value): &&(String, String)| {
                    !OPEN.contains(&name.as_str())
                        && !name.starts_with("LC_")
                        && !name.starts_with("XDG_")
                        && !value.starts_with('/')
                };
                program.env.iter().filter(hidden).map(|(_, value)| value.as_str()).collect()
            }
            Target::Http(endpoint, _) | Target::WebSocket(endpoint) => of_endpoint(endpoint),
        };
        Self::new(secrets)
    }

    fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hidden: Vec<String> = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST) {
            let quoted = RawJson::string(secret);
            let escaped = quoted.as_str().trim_matches('"');
            if escaped != secret {
                hidden.push(escaped.to_owned());
            }
            hidden.push(secret.to_owned());
        }
        hidden.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        hidden.dedup();
        Self(hidden.into())
    }

    /// The text without the secrets.
    pub(super) fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), HIDDEN),
            false => text,
        })
    }

    /// The value without the secrets, untouched if it has none.
    pub(super) fn json(&self, value: RawJson) -> RawJson {
        if !self.0.iter().any(|secret| value.as_str().contains(secret.as_str())) {
            return value;
        }
        // A secret that looks like a number may have stood where a text cannot.
        let limits = JsonLimits { size: usize::MAX, ..JsonLimits::default() };
        RawJson::parse(self.text(value.as_str()), limits)
            .unwrap_or_else(|_| RawJson::string(HIDDEN))
    }
}

fn of_endpoint(endpoint: &Endpoint) -> Vec<&str> {
    let values = endpoint.headers.iter().map(|(_, value)| value.expose());
    // A token is as secret without the word before it, and in an address.
    let headers = values.flat_map(|value| [Some(value), value.split_once(' ').map(|it| it.1)]);
    let query = endpoint.url.query().unwrap_or_default().split('&');
    let query = query.map(|pair| pair.split_once('=').map(|it| it.1));
    headers.chain(query).flatten().collect()
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Redaction({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use gantry_client::{HttpKind, Secret};
    use gantry_transport::child::Program;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_nothing_else() {
        let mut endpoint = Endpoint::new("http://localhost/mcp?key=in-the-url&b".parse().unwrap());
        endpoint.headers.push(("Authorization".to_owned(), Secret::new("Bearer abc-def")));
        endpoint.headers.push(("X-Short".to_owned(), Secret::new("yes")));
        let redaction = Redaction::of(&Target::Http(endpoint, HttpKind::Auto));
        let cases = [
            ("yes, Bearer abc-def is wrong", "yes, … is wrong"),
            ("the token abc-def is wrong", "the token … is wrong"),
            ("http://localhost/mcp?key=in-the-url&b", "http://localhost/mcp?key=…&b"),
            ("all is well", "all is well"),
        ];
        for (text, expected) in cases {
            assert_eq!(redaction.text(text), expected);
        }
    }

    #[test]
    fn variables_are_hidden_but_for_those_that_everyone_has() {
        let env =
            [("HOME", "homely"), ("KEY", "se\"cret"), ("CACHE", "/var/cache"), ("PIN", "123456")];
        let program = Program {
            program: PathBuf::from("x"),
            args: Vec::new(),
            env: env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            directory: None,
            memory: None,
        };
        let redaction = Redaction::of(&Target::Program(program));
        let cases = [
            (r#"{"a":"homely /var/cache"}"#, r#"{"a":"homely /var/cache"}"#),
            (r#"{"a":"my se\"cret"}"#, r#"{"a":"my …"}"#),
            (r#"{"a":"123456"}"#, r#"{"a":"…"}"#),
            (r#"{"a":123456}"#, r#""…""#),
        ];
        for (value, expected) in cases {
            assert_eq!(redaction.json(RawJson::from_static(value)).as_str(), expected);
        }
    }
}
