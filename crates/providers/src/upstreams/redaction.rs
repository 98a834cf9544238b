//! Keeps the secrets of a server's configuration out of what is said of it.

use gantry_client::{Endpoint, Target};
use gantry_protocol::Redactor;

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

/// Hides what a target was configured with: values of headers, of variables, and in an address.
pub(super) fn of(target: &Target) -> Redactor {
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
    Redactor::new(secrets)
}

fn of_endpoint(endpoint: &Endpoint) -> Vec<&str> {
    let values = endpoint.headers.iter().map(|(_, value)| value.expose());
    // A token is as secret without the word before it, and in an address.
    let headers = values.flat_map(|value| [Some(value), value.split_once(' ').map(|it| it.1)]);
    let query = endpoint.url.query().unwrap_or_default().split('&');
    let query = query.map(|pair| pair.split_once('=').map(|it| it.1));
    headers.chain(query).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use gantry_client::{HttpKind, Secret};
    use gantry_protocol::RawJson;
    use gantry_transport::child::Program;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_nothing_else() {
        let mut endpoint = Endpoint::new("http://localhost/mcp?key=in-the-url&b".parse().unwrap());
        endpoint.headers.push(("Authorization".to_owned(), Secret::new("Bearer abc-def")));
        endpoint.headers.push(("X-Short".to_owned(), Secret::new("yes")));
        let redaction = of(&Target::Http(endpoint, HttpKind::Auto));
        let cases = [
            ("yes, Bearer abc-def is wrong", "yes, … is wrong"),
            ("the token abc-def is wrong", "the token … is wrong"),
            ("http://localhost/mcp?key=in-the-url&b", "http://localhost/mcp?key=…&b"),
            ("all is well", "all is well"),
        ];
        for (text, expected) in cases {
            assert_eq!(redaction.known(text), expected);
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
        let redaction = of(&Target::Program(program));
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
