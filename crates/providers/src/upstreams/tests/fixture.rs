//! Servers and lists as plain data, for tests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gantry_client::{Endpoint, HttpKind, List, Listed, Settings, Target};
use gantry_process::Program;
use gantry_protocol::{JsonLimits, RawJson};

use crate::upstreams::config::{Share, UpstreamConfig};
use crate::upstreams::lists::Lists;

pub(in crate::upstreams) fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}

/// A server that is a program.
pub(in crate::upstreams) fn upstream(name: &str) -> UpstreamConfig {
    let program = Program {
        program: PathBuf::from("server"),
        args: Vec::new(),
        env: Vec::new(),
        directory: None,
        memory: None,
    };
    UpstreamConfig {
        name: name.to_owned(),
        source: None,
        target: Ok(Target::Program(program)),
        client: Settings::default(),
        disabled: false,
        prefix: None,
        include: Vec::new(),
        exclude: Vec::new(),
        overrides: BTreeMap::new(),
        task: false,
        share: Share::Process,
        refresh: None,
        validation: None,
        templates: 1024 * 1024,
        secrets: Vec::new(),
    }
}

/// A server on the web.
pub(in crate::upstreams) fn web(name: &str) -> UpstreamConfig {
    let endpoint = Endpoint::new("http://localhost/mcp".parse().unwrap());
    UpstreamConfig { target: Ok(Target::Http(endpoint, HttpKind::Auto)), ..upstream(name) }
}

/// The lists with these definitions, each list an array.
pub(in crate::upstreams) fn lists(given: &[(List, &str)]) -> Lists {
    let mut lists = Lists::default();
    for (list, items) in given {
        let items = raw(items).elements().collect();
        lists.replace(*list, Listed { items, ..Listed::default() });
    }
    lists
}

/// The definitions of tools that take anything.
pub(in crate::upstreams) fn tools(names: &[&str]) -> String {
    let tool = |name: &&str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    format!("[{}]", names.iter().map(tool).collect::<Vec<_>>().join(","))
}
