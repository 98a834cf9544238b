//! `gantry config`: which configuration is used, and what it says.

use gantry::Upstream;
use gantry::config::{Config, SCHEMA, transport};

use super::args::{ConfigOptions, ConfigVerb};
use super::exit::{Code, Exit};
use super::render::{Style, Table};
use super::{origin, render};

pub(crate) fn run(verb: ConfigVerb) -> Result<(), Exit> {
    match verb {
        ConfigVerb::Check(options) => check(&read(&options)?),
        ConfigVerb::Show(options) => render::print(&render::pretty(&read(&options)?.to_json())),
        ConfigVerb::Path(options) => {
            let file = origin::find(options.config.as_deref()).ok_or_else(none)?;
            let file = std::path::absolute(&file).unwrap_or(file);
            render::print(&file.display().to_string())
        }
        ConfigVerb::Schema => render::print(SCHEMA),
    }
}

fn read(options: &ConfigOptions) -> Result<Config, Exit> {
    origin::configuration(options.config.as_deref())?.ok_or_else(none)
}

fn none() -> Exit {
    Exit::new(Code::NotFound, "there is no configuration, so the defaults are in force")
        .hint("write ./gantry.json, such as {\"tools\": [\"./tools\"]}")
}

/// Prints every server and what is wrong with it.
fn check(config: &Config) -> Result<(), Exit> {
    let mut table = Table::default();
    for server in &config.servers {
        table.row([&server.name, transport(server), &standing(config, server)]);
    }
    render::print(&table.to_text(Style::of_stdout()))?;
    let enabled = || config.servers.iter().filter(|server| !server.disabled);
    // On lines of their own, which no terminal is too narrow for.
    for text in enabled().filter_map(|server| server.target.as_ref().err()) {
        render::say(&format!("problem: {text}"));
    }
    for text in config.warnings.iter().map(|it| format!("warning: {it}")) {
        render::say(&text);
    }
    for text in config.notes.iter().map(|it| format!("note: {it}")) {
        render::say(&text);
    }
    match enabled().filter(|server| server.target.is_err()).count() {
        0 => {
            render::say(&format!("{} is in order", config.file.display()));
            Ok(())
        }
        count => {
            let noun = if count == 1 { "server" } else { "servers" };
            let text = format!("{}: {count} {noun} cannot be used", config.file.display());
            Err(Exit::new(Code::Configuration, text))
        }
    }
}

/// Where a server is, if it can be used.
fn standing(config: &Config, server: &Upstream) -> String {
    match &server.target {
        Ok(target) if server.disabled => format!("disabled: {}", config.place_of(target)),
        Ok(target) => config.place_of(target),
        Err(_) if server.disabled => "disabled".to_owned(),
        Err(_) => "cannot be used".to_owned(),
    }
}
