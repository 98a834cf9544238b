//! `gantry tools show`: what a tool takes and gives, and how it stands with the policies.

use gantry::RawJson;
use gantry_providers::scripts::manifest::{Manifest, Runtime};

use crate::admin_client::Session;
use crate::args::ShowOptions;
use crate::commands::call::arguments::{Form, Shape};
use crate::commands::tools::list::version;
use crate::commands::tools::policy_status::ToolStanding;
use crate::commands::tools::target::open_target;
use crate::exit::Exit;
use crate::render::{self, Style, Table};

/// A tool, and what is known of it.
struct Shown {
    definition: RawJson,
    /// What is known of its program.
    program: Vec<(&'static str, String)>,
    standing: RawJson,
    /// The rows of a table that say the same.
    rows: Vec<(String, String)>,
}

pub(crate) async fn run(options: &ShowOptions) -> Result<(), Exit> {
    let shown = match crate::commands::tools::running(&options.source).await? {
        Some(session) => asked(&session, options).await?,
        None => found_here(options).await?,
    };
    if options.json {
        // Whatever the definition has under this name is another's word.
        let told = shown.definition.edit().set("gantry", shown.standing).apply();
        return render::print(&render::pretty(&told));
    }
    let style = Style::of_stdout();
    let mut page = page(&shown.definition, &shown.program, style);
    let mut rows = Table::indented(2);
    shown.rows.iter().for_each(|(name, value)| rows.row([name, value]));
    page.push_str(&section("Standing", &rows, style));
    let title = style.bold("Call it");
    let input = shape(&shown.definition, "inputSchema");
    let example = example(&options.name, &input, &options.source.words());
    page.push_str(&format!("\n{title}\n  {}\n", render::one_line(&example)));
    render::print(&page)
}

async fn found_here(options: &ShowOptions) -> Result<Shown, Exit> {
    let opened = open_target(&options.source.reach, Some(&options.name)).await?;
    let tool = opened.find(&options.name)?;
    let policies = opened.guarding.as_ref().map(|it| &*it.policies);
    let standing = ToolStanding::of(&tool, policies);
    Ok(Shown {
        definition: tool.definition.clone(),
        program: opened.manifest(&options.name).as_deref().map(program).unwrap_or_default(),
        standing: standing.to_json(),
        rows: standing.rows(&options.name),
    })
}

async fn asked(session: &Session, options: &ShowOptions) -> Result<Shown, Exit> {
    let definitions = session.tools().await?;
    let listed = crate::commands::tools::definition(&definitions, &options.name);
    let shown = listed.as_ref().and_then(|it| it.get("name")?.to_text());
    let name = shown.unwrap_or_else(|| options.name.clone());
    let told = session.standing(&name).await;
    // One that is held back is not listed.
    let held = told.as_ref().ok().and_then(|it| it.get("definition"));
    let unlisted =
        || crate::commands::tools::unlisted(&definitions, &options.name, &options.source);
    let definition = listed.or(held).ok_or_else(unlisted)?;
    let told = told?;
    let standing = told.get("standing").unwrap_or(RawJson::EMPTY_OBJECT);
    let rows = told.get("rows").and_then(|it| it.read()).unwrap_or_default();
    // Tools of servers and of code have no file.
    let registered = session.registered(&options.name).await.or(session.registered(&name).await);
    let file = registered.and_then(|it| it.get("source")?.to_text());
    let program = file.map(|file| ("file", file)).into_iter().collect();
    Ok(Shown { definition, program, standing, rows })
}

fn page(tool: &RawJson, program: &[(&str, String)], style: Style) -> String {
    let text = |key: &str| tool.get(key).and_then(|it| it.to_text());
    let name = text("name").unwrap_or_default();
    let title = format!("{} {}", style.bold(&render::one_line(&name)), style.dim(&version(tool)));
    let mut page = format!("{}\n", title.trim_end());
    for line in text("title").iter().chain(&text("description")).flat_map(|it| it.lines()) {
        page.push_str(&format!("  {}\n", render::one_line(line)));
    }
    page.push_str(&section("Arguments", &members(&shape(tool, "inputSchema"), true), style));
    page.push_str(&section("Result", &members(&shape(tool, "outputSchema"), false), style));
    page.push_str(&section("About", &about(tool, program), style));
    page
}

fn shape(tool: &RawJson, key: &str) -> Shape {
    Shape::of(&tool.get(key).unwrap_or(RawJson::EMPTY_OBJECT))
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

fn about(tool: &RawJson, program: &[(&str, String)]) -> Table {
    let mut table = Table::indented(2);
    let hints = tool.get("annotations");
    for hint in hints.iter().flat_map(RawJson::members).filter(|it| it.key().ends_with("Hint")) {
        let key = hint.key();
        table.row([key.trim_end_matches("Hint"), hint.value().as_str()]);
    }
    program.iter().for_each(|(key, value)| table.row([key, value]));
    table
}

fn program(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let timeout = manifest.timeout.map(|timeout| ("timeout", format!("{timeout:?}")));
    let runtime = ("runtime", runtime(manifest.runtime).to_owned());
    let file = ("file", manifest.source.display().to_string());
    std::iter::once(runtime).chain(timeout).chain([file]).collect()
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
