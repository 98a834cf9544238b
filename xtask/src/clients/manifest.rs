//! `tests/clients/clients.json`: which client runs how, and over what.

use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// One entry of the manifest.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) runtime: Runtime,
    /// A path below `tests/clients`; for cargo, the name of one of the workspace's binaries.
    pub(super) script: String,
    /// Passed to the script before those that say where the server is.
    pub(super) arguments: Vec<String>,
    pub(super) transports: Vec<Transport>,
    /// The cache's folder whose modules a Node script imports.
    pub(super) dir: Option<String>,
}

/// What runs the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    Node22,
    Node,
    PythonMcp1,
    PythonMcp2,
    Cargo,
}

/// How the script reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Stdio,
    Http,
    Sse,
    WebSocket,
}

impl Runtime {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "node22" => Self::Node22,
            "node" => Self::Node,
            "python-mcp-1" => Self::PythonMcp1,
            "python-mcp-2" => Self::PythonMcp2,
            "cargo" => Self::Cargo,
            _ => return None,
        })
    }
}

impl Transport {
    /// All, in the order of the table's columns.
    pub(super) const ALL: [Self; 4] = [Self::Stdio, Self::Http, Self::Sse, Self::WebSocket];

    /// The word for it in the manifest and in `--transport`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "ws",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|transport| transport.name() == name)
    }
}

/// Reads the manifest; an empty one is an error, for it would test nothing.
pub(super) fn parse(text: &str) -> Outcome<Vec<Client>> {
    let document: Value =
        serde_json::from_str(text).map_err(|source| wrong(&source.to_string()))?;
    let entries = document.as_array().ok_or_else(|| wrong("is no list"))?;
    if entries.is_empty() {
        return Err(wrong("lists no client"));
    }
    entries.iter().map(parse_client).collect()
}

fn parse_client(entry: &Value) -> Outcome<Client> {
    let optional = |key: &str| entry.get(key).and_then(Value::as_str);
    let text = |key: &str| optional(key).ok_or_else(|| wrong(&format!("an entry has no `{key}`")));
    let name = text("name")?;
    let runtime = text("runtime")?;
    let transports = entry.get("transports").and_then(Value::as_array);
    let transports = transports.filter(|list| !list.is_empty());
    let transports = transports.ok_or_else(|| wrong(&format!("`{name}` has no `transports`")))?;
    let transport = |word: &Value| {
        word.as_str()
            .and_then(Transport::named)
            .ok_or_else(|| wrong(&format!("`{name}` has the unknown transport {word}")))
    };
    Ok(Client {
        name: name.to_owned(),
        runtime: Runtime::named(runtime)
            .ok_or_else(|| wrong(&format!("`{name}` has the unknown runtime `{runtime}`")))?,
        script: text("script")?.to_owned(),
        arguments: arguments(entry)
            .ok_or_else(|| wrong(&format!("`{name}` has `args` that are no list of texts")))?,
        transports: transports.iter().map(transport).collect::<Outcome<_>>()?,
        dir: optional("dir").map(str::to_owned),
    })
}

fn arguments(entry: &Value) -> Option<Vec<String>> {
    let Some(list) = entry.get("args") else {
        return Some(Vec::new());
    };
    list.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

fn wrong(what: &str) -> Failure {
    Failure::new(format!("tests/clients/clients.json: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_entry_is_read() {
        let text = r#"[{"name":"sdk","runtime":"node22","script":"node/sdk.mjs","args":["--era","legacy"],"transports":["stdio","ws"],"dir":"ts-sdk-1"}]"#;
        let clients = parse(text).expect("the entry is complete");
        assert_eq!(clients.len(), 1);
        assert_eq!(clients[0].runtime, Runtime::Node22);
        assert_eq!(clients[0].transports, [Transport::Stdio, Transport::WebSocket]);
        assert_eq!(clients[0].arguments, ["--era", "legacy"]);
        assert_eq!(clients[0].dir.as_deref(), Some("ts-sdk-1"));
    }

    #[test]
    fn faults_are_named() {
        let cases = [
            ("[]", "lists no client"),
            ("{}", "is no list"),
            (r#"[{"runtime":"node"}]"#, "no `name`"),
            (r#"[{"name":"a","runtime":"deno","script":"s","transports":["http"]}]"#, "`deno`"),
            (r#"[{"name":"a","runtime":"node","script":"s","transports":[]}]"#, "no `transports`"),
            (r#"[{"name":"a","runtime":"node","script":"s","transports":["tcp"]}]"#, "\"tcp\""),
        ];
        for (text, expected) in cases {
            let failure = parse(text).expect_err(text).to_string();
            assert!(failure.contains(expected), "{text}: {failure}");
        }
    }
}
