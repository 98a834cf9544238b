//! How a tool is run that a document describes: the keys of its block `Runtime`, and the program
//! that stands beside a document without one.

use std::path::Path;

use gantry_protocol::RawJson;

use super::FILE_NAME;
use crate::scripts::manifest::json::KEYS;

/// What the sections of a document say.
const SECTIONS: [&str; 4] = ["name", "version", "inputSchema", "outputSchema"];

/// The keys that say whose tool it is that runs elsewhere.
const ELSEWHERE: [&str; 2] = ["server", "tool"];

/// The value of `runtime` for a tool of another MCP server.
pub(super) const SERVER: &str = "server";

/// The value of `runtime` for a tool in code.
pub(super) const BUILT_IN: &str = "built-in";

/// The keys of a block: those of a manifest that no section says.
pub(super) fn keys(block: &RawJson) -> Vec<&'static str> {
    let elsewhere = if runs_elsewhere(block) { &ELSEWHERE[..] } else { &[] };
    let keys = KEYS.iter().filter(|key| !SECTIONS.contains(key));
    keys.chain(elsewhere).copied().collect()
}

/// Whether a block says that the tool is no program of the registry. Its document describes it and
/// registers nothing.
pub(super) fn runs_elsewhere(block: &RawJson) -> bool {
    let runtime = block.get("runtime").and_then(|it| it.to_text());
    runtime.is_some_and(|runtime| [SERVER, BUILT_IN].contains(&runtime.as_str()))
}

/// Whether a block says that the tool answers with MCP content, so that it has no output schema.
pub(super) fn answers_with_content(block: &RawJson) -> bool {
    block.get("output").is_some()
}

/// What to add when nothing tells how the tool is run.
pub(super) fn advice(tool: &str) -> String {
    let program = tool.rsplit('.').next().unwrap_or(tool);
    format!(
        "put an executable `{program}` or a script `{program}.py` beside the document, or add to \
         section 2 a heading `Runtime` and a block of JSON such as {{\"command\": \"./{program}\"}}"
    )
}

/// The fields that name the program beside a document: it is called like the document or like the
/// last part of the tool's name.
pub(super) fn beside(document: &Path, tool: &str) -> Option<Vec<(&'static str, RawJson)>> {
    let folder = document.parent()?;
    let file_name = document.file_name()?.to_str()?;
    let stem = file_name.strip_suffix(FILE_NAME).and_then(|stem| stem.strip_suffix('.'));
    let names = stem.into_iter().chain(tool.rsplit('.').next());
    let files = names
        .flat_map(|name| ["", ".py", ".sh"].map(|outcome_class| format!("{name}{outcome_class}")));
    let found = files.into_iter().find(|file| folder.join(file).is_file())?;
    let command = ("command", RawJson::string(&format!("./{found}")));
    let runtime = found.ends_with(".py").then(|| ("runtime", RawJson::string("python-uv-script")));
    Some(runtime.into_iter().chain([command]).collect())
}
