//! From a manifest to its document. What is written can be read again and gives the same manifest.

mod example;
mod hints;
mod parameters;
mod runtime;
mod usage;

use std::fmt::Write;

use gantry_protocol::RawJson;

use super::errors::ERRORS;
use super::json::pretty;
use super::section::{SECTIONS, Section};
use super::table::cell;
use crate::tools::manifest::Manifest;

/// Writes the specification document of a tool.
///
/// Variables of its process are named and never told: where `env` gave a value, the document
/// refers to a variable of the same name. Programs and folders are relative to the folder of the
/// manifest's source, where the document is expected to stand.
pub fn write(tool: &Manifest) -> String {
    let mut out = format!("## Tool: `{}`\n\n**Version**: {}\n", tool.name, tool.version);
    for section in SECTIONS {
        let text = match section {
            Section::Purpose => purpose(tool),
            Section::Name => format!("`{}`\n\n#### Runtime\n\n{}", tool.name, runtime::write(tool)),
            Section::Input => input(&tool.input_schema),
            Section::Output => output(&tool.output_schema),
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
    format!("```json\n{}\n```\n", pretty(json))
}

/// The description as a quote: inside one, nothing that it says can be mistaken for a section.
fn purpose(tool: &Manifest) -> String {
    let mut out = String::new();
    for line in tool.description.split('\n') {
        let space = if line.is_empty() { "" } else { " " };
        put(&mut out, format_args!(">{space}{line}\n"));
    }
    let metadata = tool.metadata.as_ref();
    if let Some(version) = metadata.and_then(|it| it.get("deprecated_in")?.to_text()) {
        put(&mut out, format_args!("\nDeprecated since version {}.\n", cell(&version)));
    }
    out
}

fn input(schema: &RawJson) -> String {
    let table = parameters::table(schema).unwrap_or("The tool takes no parameters.\n".to_owned());
    format!("{table}\nThe schema of `arguments`:\n\n{}", block(schema))
}

fn output(schema: &RawJson) -> String {
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
