//! From a manifest to its document. What is written can be read again and gives the same manifest.

mod example;
mod hints;
mod parameters;
mod runtime;
mod subject;
mod usage;

use std::fmt::Write;

use gantry_protocol::RawJson;

use super::errors::ERRORS;
use super::json::pretty;
use super::section::{SECTIONS, Section};
use super::table::cell;
use crate::scripts::manifest::Manifest;
use subject::Subject;

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
            Section::Idempotency => hints::idempotency(tool).to_owned(),
            Section::Examples => usage::write(tool),
            Section::Security => hints::security(tool),
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
    let table = parameters::table(schema).unwrap_or("The tool takes no parameters.\n".to_owned());
    format!("{table}\nThe schema of `arguments`:\n\n{}", block(schema))
}

fn output(schema: Option<&RawJson>) -> String {
    let Some(schema) = schema else {
        return "The tool has no output schema and answers with MCP content: `data` has a list \
                `content` of blocks, such as text or images.\n"
            .to_owned();
    };
    let table = parameters::table(schema).unwrap_or("The result has no named fields.\n".to_owned());
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
