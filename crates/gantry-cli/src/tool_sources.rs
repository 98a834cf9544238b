//! Where the tools of this run come from: the folders given, else the configuration, else the
//! examples.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use gantry::{
    Context, Failure, Json, Problem, Prompt, PromptMessage, Resource, Server, ServerBuilder, Tool,
    ToolSettings, Tools,
};
use gantry_providers::scripts::manifest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::args::Origin;
use crate::config::{self, Config, Inline};
use crate::exit::{Code, Exit};
use crate::{logging, render};

/// What there is to offer.
#[derive(Debug)]
pub(crate) struct ToolSources {
    pub(crate) builder: ServerBuilder,
    /// The registry; empty when the examples are offered.
    pub(crate) tools: Tools,
    /// Whether there is nothing to offer but the examples.
    pub(crate) is_example: bool,
    /// What is wrong with the tools that were left out.
    pub(crate) problems: Vec<Problem>,
}

/// Finds and reads the configuration; none when there is none.
pub(crate) fn configuration(given: Option<&Path>) -> Result<Option<Config>, Exit> {
    let layers = layers(given);
    if layers.is_empty() {
        return Ok(None);
    }
    let wrong = |error: config::ConfigError| Exit::new(Code::Configuration, error.to_string());
    let config = Config::read_layers(&layers, &variable).map_err(wrong)?;
    logging::hide(&config);
    Ok(Some(config))
}

/// The file of the configuration that counts most; none when there is none.
pub(crate) fn find(given: Option<&Path>) -> Option<PathBuf> {
    layers(given).into_iter().next()
}

/// The files of the configuration, the one that counts most first.
pub(crate) fn layers(given: Option<&Path>) -> Vec<PathBuf> {
    config::layers(given, &variable, &here())
}

/// The one file that is named, by an option or a variable.
pub(crate) fn stated(given: Option<&Path>) -> Option<PathBuf> {
    config::stated(given, &variable)
}

/// The current folder.
pub(crate) fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// The value of a variable of this process.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The folders to look at: those given, else those of the configuration.
pub(crate) fn folders(origin: &Origin, config: Option<&Config>) -> Vec<PathBuf> {
    match origin.tools.as_slice() {
        [] => config.map(|config| config.folders.clone()).unwrap_or_default(),
        given => given.to_vec(),
    }
}

/// Makes the folders of the command line that are not there: a gateway watches them, and tools may come
/// later.
pub(crate) fn make_folders(origin: &Origin) -> Result<(), Exit> {
    for folder in origin.tools.iter().filter(|folder| !folder.exists()) {
        std::fs::create_dir_all(folder).map_err(|error| {
            let text = format!("cannot create the tool folder {}: {error}", folder.display());
            Exit::new(Code::Configuration, text).hint("give --tools a folder that can be created")
        })?;
        render::say(&format!("  created the folder {}", folder.display()));
    }
    Ok(())
}

/// Reads everything that is offered.
pub(crate) fn open(
    origin: &Origin,
    config: Option<&Config>,
    settings: ToolSettings,
) -> Result<ToolSources, Exit> {
    let folders = folders(origin, config);
    let is_example = folders.is_empty() && config.is_none();
    for folder in &folders {
        if let Err(error) = std::fs::read_dir(folder) {
            let text = format!("cannot read the tool folder {}: {error}", folder.display());
            return Err(Exit::new(Code::Configuration, text).hint("give --tools a folder"));
        }
    }
    let tools = Tools::open(folders, settings);
    let mut problems = tools.problems();
    let inline = config.iter().flat_map(|config| &config.inline);
    problems.extend(inline.filter_map(|inline| register(&tools, inline).err()));
    let builder = match is_example {
        true => server(),
        false => Server::new("gantry", env!("CARGO_PKG_VERSION")).info("title", "Gantry"),
    };
    Ok(ToolSources { builder: builder.tools(tools.clone()), tools, is_example, problems })
}

/// Registers a tool that stands in the configuration. Its lines are those of the configuration.
fn register(tools: &Tools, inline: &Inline) -> Result<(), Problem> {
    let place = &inline.place;
    let in_file = |problem: Problem| {
        let line = place.line + problem.line.unwrap_or(1) - 1;
        Problem { file: place.file.clone(), line: Some(line), ..problem }
    };
    let manifest = manifest::read_json(&place.file, &inline.manifest, &variable);
    manifest.and_then(|manifest| tools.register(manifest)).map(|_| ()).map_err(in_file)
}

/// The limits of tools, as the configuration has them.
pub(crate) fn settings(config: Option<&Config>) -> ToolSettings {
    let mut settings = ToolSettings::default();
    let Some(config) = config else { return settings };
    settings.uv = config.uv.clone().unwrap_or(settings.uv);
    config.tool_limits.apply(&mut settings);
    if let Some(standby) = &config.standby {
        settings.standby = standby.enabled;
        settings.standby_total = standby.total.unwrap_or(settings.standby_total);
        settings.standby_per_tool = standby.per_tool.unwrap_or(settings.standby_per_tool);
        settings.standby_memory = standby.memory.unwrap_or(settings.standby_memory);
        settings.standby_idle = standby.idle.unwrap_or(settings.standby_idle);
    }
    settings
}

impl ToolSources {
    /// Puts the server together.
    pub(crate) fn build(self) -> Result<Server, Exit> {
        self.builder.build().map_err(|error| Exit::bug(format!("an example is invalid: {error}")))
    }
}

/// A server with the example tools.
pub(crate) fn server() -> ServerBuilder {
    Server::new("gantry", env!("CARGO_PKG_VERSION"))
        .info("title", "Gantry")
        .instructions("Example tools, served because Gantry has no configuration yet.")
        .tool(Tool::new("echo", "Gives back the text it is given.").read_only().run(echo))
        .tool(
            Tool::new("word_count", "Counts the lines, words and characters of a text.")
                .read_only()
                .run(word_count),
        )
        .tool(Tool::new("clock", "Tells the time, in seconds since 1970.").read_only().run(clock))
        .tool(
            Tool::new("countdown", "Counts down, reporting progress once for each step.")
                .read_only()
                .long_running()
                .run(countdown),
        )
        .resource(
            Resource::new("gantry://welcome", "welcome")
                .mime_type("text/markdown")
                .description("What to do next.")
                .read(async |_, _| Ok::<_, Failure>(WELCOME)),
        )
        .prompt(
            Prompt::new("summarize")
                .description("Asks for a summary of a text.")
                .required("text", "The text.")
                .render(async |arguments, _| {
                    let text = arguments.get("text").map(String::as_str).unwrap_or_default();
                    let ask = format!("Summarize this in three sentences:\n\n{text}");
                    Ok::<_, Failure>(PromptMessage::user(ask))
                }),
        )
}

/// Takes the example tools away, once there are others.
pub(crate) fn remove(server: &Server) {
    let handlers = server.handlers();
    for tool in ["echo", "word_count", "clock", "countdown"] {
        handlers.remove_tool(tool);
    }
    handlers.remove_resource("gantry://welcome");
    handlers.remove_prompt("summarize");
}

const WELCOME: &str = "# Welcome to Gantry\n\nThis server has no tools of yours yet.\n";

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Count {
    lines: usize,
    words: usize,
    characters: usize,
}

#[derive(Serialize, JsonSchema)]
struct Time {
    unix_seconds: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    /// How many steps.
    #[schemars(range(min = 1, max = 20))]
    #[serde(default = "three")]
    from: u32,
}

fn three() -> u32 {
    3
}

async fn echo(Text { text }: Text, _: Context) -> Result<String, Failure> {
    Ok(text)
}

async fn word_count(Text { text }: Text, _: Context) -> Result<Json<Count>, Failure> {
    Ok(Json(Count {
        lines: text.lines().count(),
        words: text.split_whitespace().count(),
        characters: text.chars().count(),
    }))
}

async fn clock(Nothing {}: Nothing, _: Context) -> Result<Json<Time>, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Json(Time { unix_seconds: since.as_secs() }))
}

async fn countdown(Steps { from }: Steps, context: Context) -> Result<String, Failure> {
    for step in 1..=from {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let left = (from - step).to_string();
        context.progress(step.into(), Some(from.into()), Some(&left));
    }
    Ok("liftoff".to_owned())
}
