//! The redactor of one server: hides the secrets of its configuration in errors, logs and status.

use gantry_client::{Endpoint, Secret, Target};
use gantry_protocol::Redactor;
use gantry_protocol::redact::{ANYWHERE, is_open_variable, names_a_secret};

use super::UpstreamConfig;

/// Hides what a server is configured with: the values of references wherever they stand, and the
/// values of headers, of variables, and in an address.
pub(super) fn of(config: &UpstreamConfig) -> Redactor {
    let references = config.secrets.iter().map(Secret::expose);
    let values: Vec<&str> = match &config.target {
        Ok(Target::Program(program)) => of_variables(&program.env).collect(),
        Ok(Target::Http(endpoint, _) | Target::WebSocket(endpoint)) => of_endpoint(endpoint),
        Err(_) => Vec::new(),
    };
    // A short one that stands in the file for all to read is hardly a secret.
    let values = values.into_iter().filter(|value| value.len() >= ANYWHERE);
    Redactor::new(references.chain(values))
}

/// Of the values that stand in the file itself, paths are shown unless their name says otherwise.
fn of_variables(variables: &[(String, String)]) -> impl Iterator<Item = &str> {
    let is_hidden = |(name, value): &&(String, String)| {
        !is_open_variable(name) && (!value.starts_with('/') || names_a_secret(name))
    };
    variables.iter().filter(is_hidden).map(|(_, value)| value.as_str())
}

fn of_endpoint(endpoint: &Endpoint) -> Vec<&str> {
    let values = endpoint.headers.iter().map(|(_, value)| value.expose());
    // A token is as secret without the word before it, and in an address.
    let headers = values.flat_map(|value| [Some(value), value.split_once(' ').map(|it| it.1)]);
    let query = endpoint.url.query().unwrap_or_default().split('&');
    let query = query.map(|pair| pair.split_once('=').map(|it| it.1));
    let user = endpoint.url.authority().and_then(|it| it.as_str().rsplit_once('@')).map(|it| it.0);
    let password = user.and_then(|user| user.split_once(':')).map(|it| it.1);
    headers.chain(query).chain([user, password]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use gantry_client::HttpKind;
    use gantry_process::Program;
    use gantry_protocol::RawJson;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_nothing_else() {
        let mut endpoint =
            Endpoint::new("http://me:my-word@localhost/mcp?key=in-the-url&b".parse().unwrap());
        endpoint.headers.push(("Authorization".to_owned(), Secret::new("Bearer abc-def")));
        endpoint.headers.push(("X-Short".to_owned(), Secret::new("yes")));
        let redaction = of(&UpstreamConfig::new("web", Target::Http(endpoint, HttpKind::Auto)));
        let cases = [
            ("yes, Bearer abc-def is wrong", "yes, … is wrong"),
            ("the token abc-def is wrong", "the token … is wrong"),
            ("http://localhost/mcp?key=in-the-url&b", "http://localhost/mcp?key=…&b"),
            ("my-word is wrong", "… is wrong"),
            ("all is well", "all is well"),
        ];
        for (text, expected) in cases {
            assert_eq!(redaction.known(text), expected);
        }
    }

    #[test]
    fn variables_are_hidden_but_for_those_that_everyone_has() {
        let env = [
            ("HOME", "homely"),
            ("KEY", "se\"cret"),
            ("CACHE", "/var/cache"),
            ("API_TOKEN", "/abc+def"),
            ("FROM", "/from+elsewhere"),
            ("PIN", "123456"),
        ];
        let program = Program {
            program: PathBuf::from("x"),
            args: Vec::new(),
            env: env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            directory: None,
            memory: None,
        };
        let secrets = ["/from+elsewhere", "word5", "abc"].map(Secret::new).into();
        let redaction = of(&UpstreamConfig {
            secrets,
            ..UpstreamConfig::new("program", Target::Program(program))
        });
        let cases = [
            (r#"{"a":"homely /var/cache"}"#, r#"{"a":"homely /var/cache"}"#),
            (r#"{"a":"my se\"cret"}"#, r#"{"a":"my …"}"#),
            (r#"{"a":"123456"}"#, r#"{"a":"…"}"#),
            (r#"{"a":123456}"#, r#""…""#),
            (r#"{"a":"/abc+def /from+elsewhere"}"#, r#"{"a":"… …"}"#),
            (r#"{"a":"word5, words word55 abc"}"#, r#"{"a":"…, words word55 abc"}"#),
        ];
        for (value, expected) in cases {
            assert_eq!(redaction.json(RawJson::from_static(value)).as_str(), expected);
        }
        assert_eq!(redaction.place("x abc --a=abc abcd"), "x … --a=… abcd");
    }

    #[test]
    fn what_references_stood_for_is_hidden_though_the_entry_is_wrong() {
        let mut upstream = UpstreamConfig::new(
            "wrong",
            Target::WebSocket(Endpoint::new("ws://localhost".parse().unwrap())),
        );
        upstream.target = Err("no file /secret-place".to_owned());
        upstream.secrets = vec![Secret::new("/secret-place")];
        assert_eq!(of(&upstream).text("no file /secret-place"), "no file …");
    }
}
