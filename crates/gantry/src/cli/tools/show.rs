//! `gantry tools show`: what a tool takes and gives, and how it stands with the policies.

use gantry::RawJson;
use gantry_gateway::ToolEntry;
use gantry_providers::tools::manifest::{Manifest, Runtime};

use super::list::version;
use super::standing::ToolStanding;
use crate::cli::args::ShowOptions;
use crate::cli::arguments::{Form, Shape};
use crate::cli::exit::Exit;
use crate::cli::render::{self, Style, Table};

pub(super) async fn run(options: &ShowOptions) -> Result<(), Exit> {
    let opened = super::reach(&options.reach, Some(&options.name)).await?;
    let tool = opened.find(&options.name)?;
    let standing = ToolStanding::of(&tool, &opened);
    if options.json {
        // Whatever the definition has under this name is another's word.
        let told = tool.definition.edit().set("gantry", standing.to_json()).apply();
        return render::print(&render::pretty(&told));
    }
    let (manifest, style) = (opened.manifest(&options.name), Style::of_stdout());
    let mut page = page(&tool, manifest.as_deref(), style);
    page.push_str(&section("Standing", &standing.table(&options.name), style));
    let title = style.bold("Call it");
    let example = example(&options.name, &shape(&tool, "inputSchema"), &options.reach.words());
    page.push_str(&format!("\n{title}\n  {}\n", render::one_line(&example)));
    render::print(&page)
}

fn page(tool: &ToolEntry, manifest: Option<&Manifest>, style: Style) -> String {
    let text = |key: &str| tool.definition.get(key).and_then(|it| it.to_text());
    let title =
        format!("{} {}", style.bold(&render::one_line(&tool.name)), style.dim(&version(tool)));
    let mut page = format!("{}\n", title.trim_end());
    for line in text("title").iter().chain(&text("description")).flat_map(|it| it.lines()) {
        page.push_str(&format!("  {}\n", render::one_line(line)));
    }
    page.push_str(&section("Arguments", &members(&shape(tool, "inputSchema"), true), style));
    page.push_str(&section("Result", &members(&shape(tool, "outputSchema"), false), style));
    page.push_str(&section("About", &about(tool, manifest), style));
    page
}

fn shape(tool: &ToolEntry, key: &str) -> Shape {
    Shape::of(&tool.definition.get(key).unwrap_or(RawJson::EMPTY_OBJECT))
}

fn section(title: &str, table: &Table, style: Style) -> String {
    let text = table.to_text(style);
    if text.is_empty() { text } else { format!("\n{}\n{text}\n", style.bold(title)) }
}

fn members(shape: &Shape, is_input: bool) -> Table {
    let needed = shape.needed();
    let mut table = Table::indented(2);
    for name in shape.names() {
        let Some(member) = shape.property(&name) else { continue };
        let duty = match shape.default(&name) {
            Some(default) if is_input => format!("= {default}"),
            _ if is_input && needed.contains(&name) => "required".to_owned(),
            _ => String::new(),
        };
        let about = member.description().unwrap_or_default();
        table.row([&name, &kind(&member), &duty, &about]);
    }
    table
}

/// What a place takes, in a few words: `integer`, `metric|imperial`, `list of string`.
fn kind(shape: &Shape) -> String {
    if let Some(options) = shape.options() {
        let names = options.iter().map(|it| it.to_text().unwrap_or_else(|| it.to_string()));
        return names.collect::<Vec<_>>().join("|");
    }
    let name = |form: &Form| match form {
        Form::Array => match shape.items() {
            Some(items) if !items.forms().is_empty() => format!("list of {}", kind(&items)),
            _ => "list".to_owned(),
        },
        form => format!("{form:?}").to_lowercase(),
    };
    let forms = shape.forms();
    if forms.is_empty() {
        return "any".to_owned();
    }
    forms.iter().map(name).collect::<Vec<_>>().join(" or ")
}

fn about(tool: &ToolEntry, manifest: Option<&Manifest>) -> Table {
    let mut table = Table::indented(2);
    let hints = tool.definition.get("annotations");
    for hint in hints.iter().flat_map(RawJson::members).filter(|it| it.key().ends_with("Hint")) {
        let key = hint.key();
        table.row([key.trim_end_matches("Hint"), hint.value().as_str()]);
    }
    if let Some(manifest) = manifest {
        table.row(["runtime", runtime(manifest.runtime)]);
        if let Some(timeout) = manifest.timeout {
            table.row(["timeout", &format!("{timeout:?}")]);
        }
        table.row(["file", &manifest.source.display().to_string()]);
    }
    table
}

fn runtime(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Process => "process",
        Runtime::Binary => "binary",
        Runtime::PythonUvScript => "python-uv-script",
    }
}

/// A command line to copy, with what must be given.
fn example(name: &str, input: &Shape, origin: &str) -> String {
    let value = |key: &String| match input.property(key).map(|shape| kind(&shape)) {
        Some(kind) if kind.contains('|') => kind.split('|').next().unwrap_or_default().to_owned(),
        Some(kind) => kind.to_uppercase().replace(' ', "_"),
        None => "VALUE".to_owned(),
    };
    let words = input.needed().into_iter().map(|key| format!(" {key}={}", value(&key)));
    format!("gantry call{origin} {name}{}", words.collect::<String>())
}
