//! `gantry config`: which configuration is used, and what it says.

use std::path::{Path, PathBuf};

use gantry::{ObjectWriter, RawJson, UpstreamConfig};

use crate::args::{ConfigOptions, ConfigVerb, Origin};
use crate::commands::{policy, tools};
use crate::config::editor::ConfigEditor;
use crate::config::{Config, SCHEMA, is_own, transport};
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};
use crate::secrets::scan::{self, PlainSecret};
use crate::tool_sources;

pub(crate) fn run(verb: ConfigVerb) -> Result<(), Exit> {
    match verb {
        ConfigVerb::Check(options) => check(&read(&options.which)?, options.json),
        ConfigVerb::Show(options) => render::print(&render::pretty(&read(&options)?.to_json())),
        ConfigVerb::Path(options) => {
            let layers = tool_sources::layers(options.config.as_deref());
            if layers.is_empty() {
                return Err(none());
            }
            let absolute = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
            let lines = layers.into_iter().map(|file| format!("{}\n", absolute(file).display()));
            render::print(&lines.collect::<String>())
        }
        ConfigVerb::Schema => render::print(SCHEMA),
    }
}

fn read(options: &ConfigOptions) -> Result<Config, Exit> {
    tool_sources::configuration(options.config.as_deref())?.ok_or_else(none)
}

fn none() -> Exit {
    Exit::new(Code::NotFound, "there is no configuration; defaults apply")
        .hint("write ./gantry.json, such as {\"tools\": [\"./tools\"]}")
}

/// Prints every server and what is wrong with it.
fn check(config: &Config, as_json: bool) -> Result<(), Exit> {
    let mut config = with_lookalikes(config)?;
    config.warnings.extend(plain_secrets(&config));
    let config = &config;
    match as_json {
        true => render::print(&render::pretty(&findings(config)))?,
        false => list(config)?,
    }
    let enabled = config.servers.iter().filter(|server| !server.disabled);
    match enabled.filter(|server| server.target.is_err()).count() {
        0 => {
            for file in &config.layers {
                render::say(&format!("{} is valid", file.display()));
            }
            Ok(())
        }
        count => {
            let noun = if count == 1 { "server" } else { "servers" };
            let text = format!("{}: {count} {noun} invalid", config.file.display());
            Err(Exit::new(Code::Configuration, text))
        }
    }
}

/// The same, with warnings of rules that miss a tool here by the case of its letters.
fn with_lookalikes(config: &Config) -> Result<Config, Exit> {
    let mut config = config.clone();
    if !config.policy.rules.is_empty() {
        let origin = Origin { config: Some(config.file.clone()), tools: Vec::new() };
        config.warnings.extend(policy::lookalikes(&tools::open(&origin)?, &config));
    }
    Ok(config)
}

/// Warnings of secrets that stand in files of Gantry's own in plain text.
fn plain_secrets(config: &Config) -> Vec<String> {
    let absolute = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
    let in_force = tool_sources::find(None).map(absolute);
    let own = config.files.iter().filter(|file| {
        **file == config.file && is_own(file) || file.to_string_lossy().ends_with("gantry.json")
    });
    let books = own.filter_map(|file| ConfigEditor::open(file.clone()).ok());
    let warning = |exposed: PlainSecret, file: &Path| {
        let (server, place) = (&exposed.server, exposed.place());
        let chosen = match in_force.as_deref() == Some(file) {
            true => String::new(),
            false => format!(" --config {}", file.display()),
        };
        format!(
            "server `{server}`: {place} holds a secret in plain text; \
             `gantry secret adopt{chosen} {server}` moves it out of the file"
        )
    };
    let warnings = books.flat_map(|editor| {
        let exposed = scan::of_book(&editor, None).into_iter();
        exposed.map(|it| warning(it, &editor.file)).collect::<Vec<_>>()
    });
    warnings.collect()
}

fn list(config: &Config) -> Result<(), Exit> {
    let mut table = Table::default();
    for server in &config.servers {
        table.row([&server.name, transport(server), &standing(config, server)]);
    }
    render::print(&table.to_text(Style::of_stdout()))?;
    // On lines of their own, which no terminal is too narrow for.
    let enabled = config.servers.iter().filter(|server| !server.disabled);
    let problems = enabled.filter_map(|server| server.target.as_ref().err());
    let problems = problems.map(|text| ("problem", text));
    let warnings = config.warnings.iter().map(|text| ("warning", text));
    let notes = config.notes.iter().map(|text| ("note", text));
    for (kind, text) in problems.chain(warnings).chain(notes) {
        render::say(&format!("{kind}: {text}"));
    }
    Ok(())
}

/// Where a server is, if it can be used.
fn standing(config: &Config, server: &UpstreamConfig) -> String {
    match &server.target {
        Ok(target) if server.disabled => format!("disabled: {}", config.place_of(target)),
        Ok(target) => config.place_of(target),
        Err(_) if server.disabled => "disabled".to_owned(),
        Err(_) => "cannot be used".to_owned(),
    }
}

fn findings(config: &Config) -> RawJson {
    let server = |server: &UpstreamConfig| {
        let target = server.target.as_ref();
        ObjectWriter::new()
            .value("name", &server.name)
            .value("transport", transport(server))
            .value("disabled", &server.disabled)
            .value_some("place", target.ok().map(|target| config.place_of(target)))
            .value_some("problem", target.err())
            .finish()
    };
    let servers: Vec<RawJson> = config.servers.iter().map(server).collect();
    ObjectWriter::new()
        .value("file", &config.file)
        .array("servers", &servers)
        .value("warnings", &config.warnings)
        .value("notes", &config.notes)
        .finish()
}
