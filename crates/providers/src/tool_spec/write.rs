//! Writes the document of a tool. Reading it again gives the same manifest.

mod description;
mod example;

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::description::{Place, Subject};
use gantry_gateway::contract::ErrorType;
use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};

use super::NO_CALL;
use super::document::{SECTIONS, Section};
use super::markdown::{cell, code, name};
use super::read::{BUILT_IN, SERVER, pretty};
use crate::scripts::manifest::{Answer, Manifest, Runtime};

/// JSON of more bytes than this is not spread over lines, which could make it many times as large.
const SPREAD: usize = 64 * 1024;

/// Writes the specification document of a tool.
///
/// Variables of its process are named and never told: where `env` gave a value, the document
/// refers to a variable of the same name. Programs and folders are relative to the folder of the
/// manifest's source, where the document is expected to stand.
pub fn write(tool: &Manifest) -> String {
    document(&Subject::of_manifest(tool))
}

/// Writes the specification document of a tool that is no program of the registry: one of another
/// MCP server, given by the server's name and the tool's own name there, or one in code. `definition`
/// is what clients are shown. Such a document can be checked, and registers nothing.
pub fn describe(definition: &RawJson, server: Option<(&str, &str)>) -> String {
    document(&Subject::of_definition(definition, server))
}

fn document(tool: &Subject) -> String {
    let version = tool.version.as_deref().unwrap_or("not stated");
    let mut out = format!("## Tool: `{}`\n\n**Version**: {}\n", tool.name, cell(version));
    for section in SECTIONS {
        let text = match section {
            Section::Purpose => purpose(tool),
            Section::Name => {
                format!("`{}`\n\n#### Runtime\n\n{}", tool.name, block(&tool.runtime))
            }
            Section::Input => input(&tool.input),
            Section::Output => output(tool.output.as_ref()),
            Section::Errors => errors(),
            Section::Idempotency => description::idempotency(tool).to_owned(),
            Section::Examples => usage_examples(tool),
            Section::Security => description::security(tool),
        };
        put(
            &mut out,
            format_args!("\n### {}\n\n{}\n", section.heading(), text.trim_end_matches('\n')),
        );
    }
    out
}

/// Adds to a text, which cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes every text");
}

fn block(json: &RawJson) -> String {
    let compact = json.compact();
    let text = match compact.as_str().len() > SPREAD {
        true => compact.to_string(),
        false => pretty(json),
    };
    format!("```json\n{text}\n```\n")
}

/// The description as a quote: inside one, nothing that it says can be mistaken for a section.
fn purpose(tool: &Subject) -> String {
    let mut out = String::new();
    if tool.description.trim().is_empty() {
        out.push_str("The tool has no description.\n");
    } else {
        for line in tool.description.split('\n') {
            let space = if line.is_empty() { "" } else { " " };
            put(&mut out, format_args!(">{space}{line}\n"));
        }
    }
    if let Some(version) = &tool.deprecated_in {
        put(&mut out, format_args!("\nDeprecated since version {}.\n", cell(version)));
    }
    out
}

fn input(schema: &RawJson) -> String {
    let table = table(schema).unwrap_or("The tool takes no parameters.\n".to_owned());
    format!("{table}\nThe schema of `arguments`:\n\n{}", block(schema))
}

fn output(schema: Option<&RawJson>) -> String {
    let Some(schema) = schema else {
        return "The tool has no output schema and answers with MCP content: `data` has a list \
                `content` of blocks, such as text or images.\n"
            .to_owned();
    };
    let table = table(schema).unwrap_or("The result has no named fields.\n".to_owned());
    format!(
        "{table}\nThe schema of `data` in the result of a call that succeeded:\n\n{}",
        block(schema)
    )
}

fn errors() -> String {
    let mut out = "A failed call has the status `failure`, no data, and an `error` with \
                   `error_type`, `error_message` and sometimes `error_details`:\n\n\
                   | `error_type` | Meaning | What to do |\n|---|---|---|\n"
        .to_owned();
    for (kind, meaning) in ERRORS {
        let (name, advice) = (kind.as_str(), kind.advice());
        put(&mut out, format_args!("| `{name}` | {} | {} |\n", cell(meaning), cell(advice)));
    }
    out
}

/// The block of a tool that is no program of the registry: whose it is, and what clients are shown
/// beside the sections.
fn elsewhere(definition: &RawJson, server: Option<(&str, &str)>) -> RawJson {
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
fn of_manifest(tool: &Manifest) -> RawJson {
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

fn usage_examples(tool: &Subject) -> String {
    let compile = |schema| Schema::compile(schema, SchemaLimits::default()).ok();
    let arguments = compile(&tool.input)
        .and_then(|it| example::make(&tool.input, |value| it.accept(Some(value)).is_ok()));
    let call = arguments.filter(RawJson::is_object).map(|arguments| {
        ObjectWriter::new().value("tool_name", &tool.name).raw("arguments", &arguments).finish()
    });
    let missing = format!("{NO_CALL}; add `examples` to the input schema");
    [
        part("A call", call, &missing),
        part("The result of a call that succeeded", Some(success(tool)), ""),
        part("The result of a call that failed", Some(failure(tool)), ""),
    ]
    .concat()
}

fn success(tool: &Subject) -> RawJson {
    let Some(schema) = &tool.output else {
        let block = ObjectWriter::new().value("type", "text").value("text", "text").finish();
        let data = ObjectWriter::new().array("content", [&block]).finish();
        return result("success", &data, &RawJson::NULL, "The call succeeded.");
    };
    let compiled = Schema::compile(schema, SchemaLimits::default()).ok();
    match compiled.and_then(|it| example::make(schema, |value| it.check(value).is_ok())) {
        Some(data) => result("success", &data, &RawJson::NULL, "The call succeeded."),
        None => {
            let text = "The call succeeded; `examples` in the output schema would show its data.";
            result("success", &RawJson::NULL, &RawJson::NULL, text)
        }
    }
}

fn part(title: &str, example: Option<RawJson>, missing: &str) -> String {
    match example {
        Some(example) => format!("{title}:\n\n{}\n", block(&example)),
        None => format!("{title}: {missing}.\n\n"),
    }
}

fn failure(tool: &Subject) -> RawJson {
    let required: Option<Vec<String>> = tool.input.get("required").and_then(|it| it.read());
    let (error_type, message) = match required.unwrap_or_default().first() {
        Some(name) => ("ValidationError", format!("argument `{name}` is missing")),
        None if tool.place == Place::Program => {
            ("ToolExecutionError", format!("the tool `{}` ended with exit status 1", tool.name))
        }
        None => ("ToolExecutionError", format!("the tool `{}` failed", tool.name)),
    };
    let error = ObjectWriter::new()
        .value("error_type", error_type)
        .value("error_message", &message)
        .raw("error_details", &RawJson::NULL);
    result("failure", &RawJson::NULL, &error.finish(), "The call failed and returned nothing.")
}

fn result(status: &str, data: &RawJson, error: &RawJson, explanation: &str) -> RawJson {
    ObjectWriter::new()
        .value("status", status)
        .raw("data", data)
        .raw("error", error)
        .value("explanation", explanation)
        .finish()
}

/// The longest default that is shown in a table. The schema has them all.
const SHOWN: usize = 60;

/// The table of the properties; none when the schema names no property.
fn table(schema: &RawJson) -> Option<String> {
    let properties = schema.get("properties")?;
    let required: HashSet<String> =
        schema.get("required").and_then(|it| it.read()).unwrap_or_default();
    let mut out =
        "| Name | Type | Required | Description | Default |\n|---|---|---|---|---|\n".to_owned();
    let before = out.len();
    // A schema may name a property twice. The table must not.
    let mut seen = HashSet::new();
    for member in properties.members().filter(|member| seen.insert(member.key().into_owned())) {
        let (key, value) = (member.key(), member.value());
        let flag = if required.contains(&*key) { "yes" } else { "no" };
        let text = value.get("description").and_then(|it| it.to_text()).unwrap_or_default();
        let default = value.get("default").map(|it| it.compact());
        let default = default.map_or_else(String::new, |it| match it.as_str() {
            long if long.len() > SHOWN => "see the schema".to_owned(),
            short => code(short),
        });
        let (name, kind) = (name(&key), cell(&kind(&value, 0)));
        put(&mut out, format_args!("| {name} | {kind} | {flag} | {} | {default} |\n", cell(&text)));
    }
    (out.len() > before).then_some(out)
}

/// The type of a property in words.
fn kind(schema: &RawJson, depth: usize) -> String {
    let stated = schema.get("type");
    let stated = stated.map(|kind| match kind.kind() {
        JsonKind::Array => kind.read::<Vec<String>>().unwrap_or_default().join(" or "),
        _ => kind.to_text().unwrap_or_default(),
    });
    match stated.as_deref() {
        Some("array") if depth < 3 => match schema.get("items") {
            Some(items) => format!("array of {}", kind(&items, depth + 1)),
            None => "array".to_owned(),
        },
        Some(word) if !word.is_empty() => word.to_owned(),
        _ if schema.get("enum").is_some() => "one of several values".to_owned(),
        _ if schema.get("const").is_some() => "one fixed value".to_owned(),
        _ => "see the schema".to_owned(),
    }
}

/// Each type with its meaning for people.
pub(super) const ERRORS: [(ErrorType, &str); 7] = [
    (
        ErrorType::ValidationError,
        "The arguments do not fit the input schema (`error_details.kind` is `SchemaError`, and the \
         tool was not started), or the result does not fit the output schema (`OutputSchemaError`) \
         or breaks the rules of a tool result (`ResultContractError`).",
    ),
    (
        ErrorType::ToolNotFoundError,
        "There is no tool of this name, or not in the version asked for.",
    ),
    (ErrorType::TimeoutError, "The tool took longer than it may and was ended."),
    (
        ErrorType::ToolExecutionError,
        "The tool was started and failed: an exit status other than 0, a signal, or no result.",
    ),
    (ErrorType::SerializationError, "The tool wrote something that is not one line of JSON."),
    (ErrorType::TransportError, "What serves the tool cannot be reached, or went away."),
    (
        ErrorType::ApiLimitExceeded,
        "Too many calls are running or waiting, here or at the service that the tool uses.",
    ),
];
