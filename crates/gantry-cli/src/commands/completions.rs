//! Completion in shells. The shell asks the program itself, so that the names of tools, of their
//! arguments and of servers are those of this moment. Nothing that goes wrong is printed.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::CommandFactory;
use clap_complete::CompletionCandidate;
use clap_complete::env::{Bash, CompleteEnv, EnvCompleter, Fish, Zsh};
use gantry_gateway::ToolEntry;

use crate::args::{Arguments, Origin, Shell};
use crate::commands::call::arguments::Shape;
use crate::commands::tools;
use crate::config::editor::ConfigEditor;
use crate::exit::Exit;
use crate::{render, tool_sources};

/// The variable by which a shell says that it completes.
const VARIABLE: &str = "GANTRY_COMPLETE";

/// Answers a shell that completes, and ends the program; does nothing in any other run.
pub(crate) fn answer() {
    CompleteEnv::with_factory(Arguments::command).var(VARIABLE).complete();
}

/// Prints what a shell reads to learn completion.
pub(crate) fn print(shell: Shell) -> Result<(), Exit> {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "gantry", "gantry", "gantry", &mut script).map_err(
        |error| Exit::bug(format!("the completion script could not be written: {error}")),
    )?;
    render::write(&script)
}

/// The names of tools that begin like this.
pub(crate) fn names(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let candidate = |tool: &Arc<ToolEntry>| {
        let about = tool.definition.get("description").and_then(|it| it.to_text());
        CompletionCandidate::new(&tool.name).help(about.map(|it| render::one_line(&it).into()))
    };
    let tools = offered();
    tools.iter().filter(|tool| tool.name.starts_with(&*begun)).map(candidate).collect()
}

/// The names of the configuration's servers that begin like this.
pub(crate) fn servers(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let layers = tool_sources::layers(typed().config.as_deref());
    let books = layers.into_iter().filter_map(|file| ConfigEditor::open(file).ok());
    books
        .flat_map(|editor| editor.names())
        .filter(|name| name.starts_with(&*begun))
        .map(CompletionCandidate::new)
        .collect()
}

/// The arguments, `KEY=`, of the tool that is named earlier on the command line.
pub(crate) fn arguments(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let words = words();
    let tools = offered();
    let Some(tool) = tools.iter().find(|tool| words.contains(&tool.name)) else {
        return Vec::new();
    };
    let Some(schema) = tool.definition.get("inputSchema") else { return Vec::new() };
    let shape = Shape::of(&schema);
    let names = shape.names().into_iter().map(|name| format!("{name}="));
    names.filter(|name| name.starts_with(&*begun)).map(CompletionCandidate::new).collect()
}

/// The tools of the folders that the command line names so far, or of the configuration.
fn offered() -> Vec<Arc<ToolEntry>> {
    let opened = tools::open(&typed());
    opened
        .map(|opened| opened.server.gateway().catalog().snapshot().tools().cloned().collect())
        .unwrap_or_default()
}

/// What the command line that is being typed says of where tools come from.
fn typed() -> Origin {
    let words = words();
    let given = |option: &str| -> Vec<PathBuf> {
        let separate = words.windows(2).filter(|pair| pair[0] == option).map(|pair| &*pair[1]);
        let joined = words.iter().filter_map(|word| word.strip_prefix(option)?.strip_prefix('='));
        separate.chain(joined).map(PathBuf::from).collect()
    };
    Origin { config: given("--config").pop(), tools: given("--tools") }
}

/// The words after `--`, which are those of the command line that is being typed.
fn words() -> Vec<String> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.skip_while(|word| word != "--").skip(1).collect()
}
