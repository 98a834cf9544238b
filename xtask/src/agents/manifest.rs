//! The data of `tests/agents`: which agents there are and how each is configured, what they play, and
//! which libraries there are.

use std::path::Path;

use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};
use crate::workspace;

/// How an agent reaches the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Http,
    Stdio,
}

impl Transport {
    /// All, in the order in which they are run.
    pub(super) const ALL: [Self; 2] = [Self::Http, Self::Stdio];

    /// The word for it in the data and on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Stdio => "stdio",
        }
    }

    /// The transport of that name.
    pub(super) fn named(name: &str) -> Outcome<Self> {
        Self::ALL
            .into_iter()
            .find(|transport| transport.name() == name)
            .ok_or_else(|| Failure::new(format!("no transport `{name}`; there are http, stdio")))
    }
}

/// One agent. Values have placeholders, which `fill` knows.
pub(super) struct Agent {
    pub(super) name: String,
    /// Its folder in the cache, and its program there.
    pub(super) peer: String,
    pub(super) program: String,
    pub(super) arguments: Value,
    pub(super) environment: Value,
    /// Contents by path below its home.
    pub(super) files: Map<String, Value>,
    /// How its configuration names the gateway, by transport.
    pub(super) entry: Value,
    /// Settings that the gateway needs so that somebody else than this agent's user can approve calls:
    /// one that answers every question itself must not be asked.
    pub(super) approving: Map<String, Value>,
}

/// What an agent is asked to do, and what must come of it.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// Entries of the gateway's configuration, by name; with placeholders.
    pub(super) servers: Map<String, Value>,
    pub(super) prompt: String,
    /// Ends of names of tools that the model must be offered at first.
    pub(super) sees: Vec<String>,
    /// Those that may come later, since their server takes its time.
    pub(super) late: Vec<String>,
    /// Whether open approvals are granted from outside meanwhile.
    pub(super) approves: bool,
    /// What the result must contain one of.
    pub(super) result: Vec<String>,
    /// How often tools must have run, all together.
    pub(super) runs: u64,
}

/// One library, and the script that uses it.
pub(super) struct Library {
    pub(super) name: String,
    pub(super) peer: String,
    /// A path below `tests/agents`; what runs it follows from its ending.
    pub(super) script: String,
    pub(super) transports: Vec<Transport>,
}

/// All agents.
pub(super) fn agents(root: &Path) -> Outcome<Vec<Agent>> {
    entries(&document(root, "agents.json")?, "agents.json")?.iter().map(parse_agent).collect()
}

/// All scenarios.
pub(super) fn scenarios(root: &Path) -> Outcome<Vec<Scenario>> {
    let document = document(root, "scenarios.json")?;
    let servers = document.get("servers").unwrap_or(&Value::Null);
    let scenarios = document.get("scenarios").unwrap_or(&Value::Null);
    let parse = |entry| parse_scenario(entry, servers);
    entries(scenarios, "scenarios.json")?.iter().map(parse).collect()
}

/// All libraries, and the servers that the gateway has behind it for them.
pub(super) fn libraries(root: &Path) -> Outcome<Vec<Library>> {
    entries(&document(root, "libraries.json")?, "libraries.json")?
        .iter()
        .map(parse_library)
        .collect()
}

fn document(root: &Path, file: &str) -> Outcome<Value> {
    let path = root.join("tests/agents").join(file);
    serde_json::from_str(&workspace::read(&path)?).map_err(|source| Failure::file(&path, source))
}

fn entries<'document>(list: &'document Value, file: &str) -> Outcome<&'document Vec<Value>> {
    let list = list.as_array().filter(|list| !list.is_empty());
    list.ok_or_else(|| Failure::new(format!("tests/agents/{file} lists nothing")))
}

fn parse_agent(entry: &Value) -> Outcome<Agent> {
    let value = |key: &str| entry.get(key).cloned().unwrap_or_default();
    Ok(Agent {
        name: text(entry, "name")?,
        peer: text(entry, "peer")?,
        program: text(entry, "program")?,
        arguments: value("arguments"),
        environment: value("environment"),
        files: value("files").as_object().cloned().unwrap_or_default(),
        approving: value("approving").as_object().cloned().unwrap_or_default(),
        entry: value("entry"),
    })
}

fn parse_scenario(entry: &Value, servers: &Value) -> Outcome<Scenario> {
    let name = text(entry, "name")?;
    let named = texts(entry, "servers").into_iter().map(|server| {
        let settings = servers.get(&server).cloned();
        let settings = settings.ok_or_else(|| {
            Failure::new(format!("scenario `{name}`: there is no server `{server}`"))
        })?;
        Ok((server, settings))
    });
    Ok(Scenario {
        servers: named.collect::<Outcome<_>>()?,
        prompt: text(entry, "prompt")?,
        sees: texts(entry, "sees"),
        late: texts(entry, "late"),
        approves: entry.get("approve").and_then(Value::as_bool).unwrap_or_default(),
        result: texts(entry, "result"),
        runs: entry.get("runs").and_then(Value::as_u64).unwrap_or_default(),
        name,
    })
}

fn parse_library(entry: &Value) -> Outcome<Library> {
    let transports = texts(entry, "transports");
    Ok(Library {
        name: text(entry, "name")?,
        peer: text(entry, "peer")?,
        script: text(entry, "script")?,
        transports: transports.iter().map(|name| Transport::named(name)).collect::<Outcome<_>>()?,
    })
}

fn text(entry: &Value, key: &str) -> Outcome<String> {
    let found = entry.get(key).and_then(Value::as_str).map(str::to_owned);
    found.ok_or_else(|| Failure::new(format!("tests/agents: an entry has no `{key}`: {entry}")))
}

fn texts(entry: &Value, key: &str) -> Vec<String> {
    let list = entry.get(key).and_then(Value::as_array);
    let words = list.into_iter().flatten().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_can_be_read() {
        let root = workspace::root();
        let agents = agents(&root).expect("agents.json");
        for agent in &agents {
            for transport in Transport::ALL {
                assert!(agent.entry.get(transport.name()).is_some(), "{}", agent.name);
            }
        }
        assert_eq!(agents.len(), 5);
        assert!(!scenarios(&root).expect("scenarios.json").is_empty());
        assert_eq!(libraries(&root).expect("libraries.json").len(), 10);
    }

    #[test]
    fn an_unknown_server_is_named() {
        let entry = serde_json::json!({"name": "one", "prompt": "", "servers": ["lost"]});
        let failure = parse_scenario(&entry, &Value::Null).expect_err("there is none");
        assert!(failure.to_string().contains("no server `lost`"), "{failure}");
    }
}
