//! The block `Runtime`: all that registers a tool and has no section of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use crate::scripts::manifest::{Answer, Manifest, Runtime};
use crate::tool_spec::program::{BUILT_IN, SERVER};

/// The block of a tool that is no program of the registry: whose it is, and what clients are shown
/// beside the sections.
pub(super) fn elsewhere(definition: &RawJson, server: Option<(&str, &str)>) -> RawJson {
    let content = definition.get("outputSchema").is_none().then_some("content");
    ObjectWriter::new()
        .value_some("title", definition.get("title").and_then(|it| it.to_text()))
        .value("runtime", if server.is_some() { SERVER } else { BUILT_IN })
        .value_some("server", server.map(|(server, _)| server))
        .value_some("tool", server.map(|(_, tool)| tool))
        .value_some("output", content)
        .raw_some("annotations", definition.get("annotations").as_ref())
        .finish()
}

/// The block of a tool of the registry.
pub(super) fn of_manifest(tool: &Manifest) -> RawJson {
    let folder = tool.source.parent().unwrap_or(Path::new("/"));
    let directory = (tool.directory != folder).then(|| relative(&tool.directory, folder));
    // A line of a document ends with or without a carriage return, which therefore is no part of it.
    let description = tool.description.contains('\r').then_some(&tool.description);
    let content = tool.output_schema.is_none().then_some("content");
    ObjectWriter::new()
        .value_some("title", tool.title.as_ref())
        .value_some("description", description)
        .value("runtime", word(tool.runtime))
        .value("command", &relative(&tool.command, folder))
        .value_some("args", Some(&tool.args).filter(|args| !args.is_empty()))
        .raw_some("env", env(tool).as_ref())
        .value_some("cwd", directory)
        .value_some("output", content)
        .value_some("answer", (tool.answer == Answer::Line).then_some("line"))
        .value_some("task", tool.task.then_some(true))
        .value_some("timeout", tool.timeout.map(length))
        .value_some("memory", tool.memory)
        .raw_some("annotations", tool.annotations.as_ref())
        .raw_some("metadata", tool.metadata.as_ref())
        .finish()
}

fn word(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Process => "process",
        Runtime::Binary => "binary",
        Runtime::PythonUvScript => "python-uv-script",
    }
}

/// A path as seen from the folder, when it is inside.
fn relative(path: &Path, folder: &Path) -> String {
    let inside = path.strip_prefix(folder).map(|inside| Path::new(".").join(inside));
    inside.unwrap_or_else(|_| PathBuf::from(path)).to_string_lossy().into_owned()
}

/// The variables, each by a reference to the one of its own name.
fn env(tool: &Manifest) -> Option<RawJson> {
    let references = tool
        .env
        .iter()
        .fold(ObjectWriter::new(), |object, (name, _)| object.value(name, &format!("${{{name}}}")));
    (!tool.env.is_empty()).then(|| references.finish())
}

fn length(timeout: Duration) -> String {
    let milliseconds = timeout.as_millis().max(1);
    if milliseconds.is_multiple_of(1000) {
        format!("{}s", milliseconds / 1000)
    } else {
        format!("{milliseconds}ms")
    }
}
