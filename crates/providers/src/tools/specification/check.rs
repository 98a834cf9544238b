//! Whether a document is as it should be. Every problem is told, with its line; none hides the next.

mod elements;
mod examples;
mod findings;
mod parameters;
mod sections;

use std::path::Path;

use gantry_gateway::{Schema, SchemaLimits};

use super::document::{Chapter, Document, Part};
use super::json::Located;
use super::lines::Fence;
use super::read::{runtime_faults, text, whole};
use super::section::Section;
use crate::tools::manifest::{Problem, is_name, is_version};
use findings::Findings;

/// Checks a document and tells all that is wrong with it, in the order of its lines. What lies
/// outside the document, such as programs and variables, is not looked at: [`super::read`] does.
///
/// ```
/// use std::path::Path;
/// use gantry_providers::tools::specification::check;
/// let problems = check(Path::new("MCP_TOOL_SPECIFICATION.md"), b"# Nothing");
/// assert_eq!(problems[0].message, "the document describes no tool");
/// ```
pub fn check(path: &Path, bytes: &[u8]) -> Vec<Problem> {
    let text = match text(path, bytes) {
        Ok(text) => text,
        Err(problem) => return vec![problem],
    };
    let document = Document::parse(text);
    let mut findings = Findings::new(path);
    let mut names: Vec<&str> = Vec::new();
    for part in &document.parts {
        check_part(part, &mut findings);
        if let Some((name, line)) = part.name() {
            if names.contains(&name) {
                let text = format!("the document has another tool `{name}`");
                findings.add(line, text, "give one of the two another name");
            }
            names.push(name);
        }
    }
    findings.finish(whole(path, &document))
}

fn check_part(part: &Part<'_>, findings: &mut Findings<'_>) {
    sections::check(part, findings);
    check_name(part, findings);
    check_version(part, findings);
    check_runtime(part, findings);
    let input = check_schema(part, Section::Input, findings);
    let output = check_schema(part, Section::Output, findings);
    examples::check(part, input.as_ref(), output.as_ref(), findings);
}

fn check_name(part: &Part<'_>, findings: &mut Findings<'_>) {
    let advice = "write module and tool in small letters, digits and `_`, with a dot between them, \
                  such as `text.count`";
    let Some((name, line)) = part.name() else {
        findings.add(part.line, "the tool has no name", advice);
        return;
    };
    if !is_name(name) {
        findings.add(line, format!("`{name}` is no name for a tool"), advice);
    }
    match part.heading {
        None => {
            let advice = format!("put the heading \"## Tool: `{name}`\" above its sections");
            findings.add(part.line, "the tool has no heading of its own", advice);
        }
        Some(heading) if heading != name => {
            let text = format!("the heading says `{heading}`, section 2 says `{name}`");
            findings.add(part.line, text, "write the same name in both");
        }
        Some(_) => {}
    }
}

fn check_version(part: &Part<'_>, findings: &mut Findings<'_>) {
    match part.version() {
        None => {
            let advice = "add a line such as `**Version**: 1.0.0` below the heading of the tool";
            findings.add(part.line, "the tool has no version", advice);
        }
        Some((version, line)) if !is_version(version) => {
            let advice = "write three numbers, such as `1.0.0` or `1.1.0-beta.1`";
            findings.add(line, format!("`{version}` is no semantic version"), advice);
        }
        Some(_) => {}
    }
}

fn check_runtime(part: &Part<'_>, findings: &mut Findings<'_>) {
    let fence = part.chapter(Section::Name).and_then(Chapter::runtime);
    let Some(block) = fence.and_then(|fence| located(&fence, findings)) else { return };
    for (line, text, advice) in runtime_faults(&block) {
        if !findings.add(line, text, advice) {
            return;
        }
    }
}

fn located(fence: &Fence<'_>, findings: &mut Findings<'_>) -> Option<Located> {
    let read = Located::read(fence);
    read.map_err(|(line, text, advice)| findings.add(line, text, advice)).ok()
}

/// Checks one of the two schemas, and returns it when values can be checked against it.
fn check_schema(part: &Part<'_>, section: Section, findings: &mut Findings<'_>) -> Option<Schema> {
    // That a section is missing or empty was told already.
    let chapter = part.chapter(section).filter(|chapter| !chapter.is_empty())?;
    let Some(fence) = chapter.schema() else {
        let advice = "add a ```json block with a JSON Schema";
        let text = format!("`{}` has no schema", section.heading());
        findings.add(chapter.line, text, advice);
        return None;
    };
    let schema = located(&fence, findings)?;
    parameters::check(chapter, &schema, findings);
    elements::check(&schema, section, findings);
    match Schema::compile(&schema.value, SchemaLimits::default()) {
        Ok(compiled) => Some(compiled),
        Err(error) => {
            let text = format!("this is no valid JSON Schema: {error}");
            findings.add(schema.line() + 1, text, "correct the schema");
            None
        }
    }
}
