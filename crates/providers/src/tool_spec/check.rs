//! Whether a document is as it should be. Every problem is told, with its line; none hides the next.

mod elements;
mod examples;
mod findings;
mod parameters;
mod sections;

use std::collections::HashSet;
use std::path::Path;

use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;

use super::document::{Chapter, Document, Part};
use super::json::Located;
use super::lines::Fence;
use super::program::{answers_with_content, runs_elsewhere};
use super::read::{runtime_faults, text, whole};
use super::section::Section;
use crate::scripts::manifest::{Problem, is_name, is_version};
pub(super) use findings::Findings;

/// Checks a document and tells all that is wrong with it, in the order of its lines. What lies
/// outside the document, such as programs and variables, is not looked at: [`super::read`] does.
///
/// ```
/// use std::path::Path;
/// use gantry_providers::tool_spec::check;
/// let problems = check(Path::new("MCP_TOOL_SPECIFICATION.md"), b"# Nothing");
/// assert_eq!(problems[0].message, "the document describes no tool");
/// ```
pub fn check(path: &Path, bytes: &[u8]) -> Vec<Problem> {
    let text = match text(path, bytes) {
        Ok(text) => text,
        Err(problem) => return vec![problem],
    };
    let document = Document::parse(text);
    let (mut findings, mut names) = (Findings::new(path), Names::default());
    for part in &document.parts {
        self::part(part, &mut names, &mut findings);
    }
    findings.finish(whole(path, &document))
}

/// The names of the tools of a document so far.
pub(super) type Names<'a> = HashSet<&'a str>;

/// Checks what a document says of one tool.
pub(super) fn part<'a>(part: &Part<'a>, names: &mut Names<'a>, findings: &mut Findings<'_>) {
    let runtime = part.runtime().unwrap_or(RawJson::EMPTY_OBJECT);
    let is_elsewhere = runs_elsewhere(&runtime);
    sections::check(part, findings);
    check_name(part, is_elsewhere, findings);
    if !is_elsewhere {
        check_version(part, findings);
    }
    check_runtime(part, findings);
    let input = check_schema(part, Section::Input, findings);
    let output = match answers_with_content(&runtime) {
        true => no_schema(part, findings),
        false => check_schema(part, Section::Output, findings),
    };
    examples::check(part, input.as_ref(), output.as_ref(), findings);
    if let Some((name, line)) = part.name()
        && !names.insert(name)
    {
        let text = format!("the document has another tool `{name}`");
        findings.add(line, text, "give one of the two another name");
    }
}

/// A tool that answers with content has no output schema.
fn no_schema(part: &Part<'_>, findings: &mut Findings<'_>) -> Option<Schema> {
    let fence = part.chapter(Section::Output).and_then(Chapter::schema)?;
    let text = "the tool has an output schema, and says that it answers with content";
    findings.add(fence.line, text, "remove the schema, or `output` in the block `Runtime`");
    None
}

fn check_name(part: &Part<'_>, is_elsewhere: bool, findings: &mut Findings<'_>) {
    let advice = "write module and tool in small letters, digits and `_`, with a dot between them, \
                  such as `text.count`";
    let Some((name, line)) = part.name() else {
        findings.add(part.line, "the tool has no name", advice);
        return;
    };
    // A tool of a server has the name under which clients call it.
    let is_listed = |name: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_.-/".contains(letter);
        (1..=128).contains(&name.len()) && name.chars().all(is_letter)
    };
    if !(is_name(name) || is_elsewhere && is_listed(name)) {
        findings.add(line, format!("`{name}` is no name for a tool"), advice);
    }
    // A heading may also be a title.
    if let Some(heading) = part.heading.filter(|heading| is_name(heading) && *heading != name) {
        let text = format!("the heading says `{heading}`, section 2 says `{name}`");
        findings.add(part.line, text, "write the same name in both");
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
    // What another server says of its tools is not for the document to mend.
    if !part.runs_elsewhere() {
        elements::check(&schema, section, findings);
    }
    match Schema::compile(&schema.value, SchemaLimits::default()) {
        Ok(compiled) => Some(compiled),
        Err(error) => {
            let text = format!("this is no valid JSON Schema: {error}");
            findings.add(schema.line() + 1, text, "correct the schema");
            None
        }
    }
}
