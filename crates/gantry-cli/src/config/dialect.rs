//! Who wrote a file, and under which of its keys the servers stand.

use std::path::Path;

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

/// What other programs call their files.
const FOREIGN: [&str; 11] = [
    "anvil.json",
    "mcp.json",
    ".mcp.json",
    "mcp-config.json",
    ".claude.json",
    "claude_desktop_config.json",
    "opencode.json",
    "opencode.jsonc",
    "settings.json",
    CLINE,
    ROO,
];

/// The file of Cline.
const CLINE: &str = "cline_mcp_settings.json";

/// The file of programs that were made from Cline.
const ROO: &str = "mcp_settings.json";

/// Where Erasmus keeps its servers, in the user's home.
pub(crate) const ERASMUS: &str = ".erasmus/mcp/config.json";

/// Whether a file is Gantry's own, in which every key must be known.
pub(crate) fn is_own(file: &Path, is_first: bool) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_foreign = FOREIGN.contains(&&*name)
        || file.extension().is_some_and(|it| it == "toml")
        || file.ends_with(ERASMUS);
    name.ends_with("gantry.json") || (is_first && !is_foreign)
}

/// The longest time that Cline lets a server be given, in seconds.
const LONGEST: f64 = 3600.0;

/// The `timeout` of an entry in seconds, where Cline or a program made from it has written it: in
/// their files, or beside a key of theirs. Nobody means so few milliseconds.
pub fn timeout_in_seconds(file: &Path, entry: &RawJson) -> Option<f64> {
    let value = entry.get("timeout").filter(|it| it.kind() == JsonKind::Number)?;
    let seconds = value.read::<f64>().filter(|it| *it > 0.0)?;
    let name = file.file_name().unwrap_or_default();
    let is_marked = ["autoApprove", "alwaysAllow"].iter().any(|key| entry.get(key).is_some());
    let is_theirs = name == CLINE || name == ROO || (is_marked && seconds <= LONGEST);
    is_theirs.then_some(seconds)
}

/// Servers that stand under one key.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) key: &'static str,
    pub(crate) servers: RawJson,
}

/// The servers of a document, under every key that some dialect has for them.
pub(crate) fn sections(document: &RawJson) -> Vec<Section> {
    let at = |key| document.get(key).map(|servers| Section { key, servers });
    let mut sections: Vec<Section> = ["mcpServers", "servers", "context_servers", "mcp_servers"]
        .into_iter()
        .filter_map(at)
        .collect();
    if let Some(mcp) = document.get("mcp") {
        sections.push(match mcp.get("servers").filter(is_collection) {
            Some(servers) => Section { key: "mcp.servers", servers },
            None => Section { key: "mcp", servers: mcp },
        });
    }
    sections
}

/// Whether a value holds servers, and is not itself one that is called `servers`.
fn is_collection(value: &RawJson) -> bool {
    let is_server = ["command", "url", "type"]
        .iter()
        .filter_map(|key| value.get(key))
        .any(|member| !member.is_object());
    value.kind() == JsonKind::Array || (value.is_object() && !is_server)
}

/// What VS Code would ask for: ids, with the default of each.
pub(crate) fn inputs(document: &RawJson) -> Vec<(String, Option<String>)> {
    let lists = [document.get("inputs"), document.at(&["mcp", "inputs"])];
    let mut inputs = Vec::new();
    for list in lists.into_iter().flatten() {
        for input in list.elements() {
            let text = |key| input.get(key).and_then(|value: RawJson| value.to_text());
            inputs.extend(text("id").map(|id| (id, text("default"))));
        }
    }
    inputs
}
