//! Checks a document and reports every problem with its line; none hides the next.

mod examples;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;

use super::document::{Chapter, Document, Part, SECTIONS, Section};
use super::markdown;
use super::markdown::Fence;
use super::read::{
    Located, answers_with_content, problem, runs_elsewhere, runtime_faults, text, whole,
};
use crate::scripts::manifest::schema_completeness::{Side, visit};
use crate::scripts::manifest::{Problem, is_name, is_version};

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
    check_sections(part, findings);
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
    check_parameters(chapter, &schema, findings);
    // What another server says of its tools is not for the document to mend.
    if !part.runs_elsewhere() {
        check_completeness(&schema, section, findings);
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

/// The most problems that are told: beyond, a document is wrong as a whole.
const MOST: usize = 1000;

/// The problems of one document.
pub(in crate::tool_spec) struct Findings<'a> {
    file: &'a Path,
    list: Vec<Problem>,
}

impl<'a> Findings<'a> {
    pub(in crate::tool_spec) fn new(file: &'a Path) -> Self {
        Self { file, list: Vec::new() }
    }

    /// Adds a problem; false when there are so many that no more is told.
    fn add(&mut self, line: usize, message: impl Into<String>, advice: impl Into<String>) -> bool {
        if !self.is_full() {
            self.list.push(problem(self.file, Some(line), message, advice));
        }
        !self.is_full()
    }

    /// Whether no more is told. Asked before lines are counted, which takes time.
    fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// All problems in the order of their lines.
    pub(in crate::tool_spec) fn finish(mut self, last: Option<Problem>) -> Vec<Problem> {
        self.list.extend(last);
        self.list.sort_by_key(|problem| problem.line);
        self.list
    }
}

fn check_completeness(schema: &Located, section: Section, findings: &mut Findings<'_>) {
    let side = if section == Section::Input { Side::Input } else { Side::Output };
    visit(&schema.value, side, &mut |part, (text, advice)| {
        if !findings.is_full() {
            findings.add(schema.line_of(part), text, advice);
        }
    });
}

fn check_sections(part: &Part<'_>, findings: &mut Findings<'_>) {
    for section in SECTIONS {
        if part.chapter(section).is_none() {
            let text = format!("the section `{}` is missing", section.heading());
            let advice = format!("add the heading `### {}` and its text", section.heading());
            findings.add(part.line, text, advice);
        }
    }
    let mut seen = Vec::new();
    for chapter in &part.chapters {
        let heading = chapter.section.heading();
        if seen.contains(&chapter.section) {
            let advice = "join the two; each tool begins with a heading \"## Tool: `name`\"";
            findings.add(chapter.line, format!("the section `{heading}` comes twice"), advice);
        } else if let Some(later) = seen.iter().filter(|it| **it > chapter.section).max() {
            let text = format!("the section `{heading}` comes after `{}`", later.heading());
            findings.add(chapter.line, text, "put the sections in the order of their numbers");
        }
        if chapter.is_empty() {
            findings.add(
                chapter.line,
                format!("the section `{heading}` is empty"),
                "write its text",
            );
        }
        if !seen.contains(&chapter.section) {
            seen.push(chapter.section);
        }
    }
}

fn check_parameters(chapter: &Chapter<'_>, schema: &Located, findings: &mut Findings<'_>) {
    let properties = schema.value.get("properties");
    let properties: Vec<_> = properties.iter().flat_map(|it| it.members()).collect();
    let required = schema.value.get("required").and_then(|it| it.read::<Vec<String>>());
    let required: HashSet<String> = required.unwrap_or_default().into_iter().collect();
    let Some(rows) = markdown::rows(&chapter.pieces) else {
        if !properties.is_empty() {
            let text = format!("`{}` has no table", chapter.section.heading());
            let advice = "add one with the columns Name, Type, Required and Description";
            findings.add(chapter.line, text, advice);
        }
        return;
    };
    let known: HashSet<_> = properties.iter().map(|member| member.key().into_owned()).collect();
    let mut listed: HashMap<&str, usize> = HashMap::new();
    for row in &rows {
        let name = row.name.as_str();
        if let Some(earlier) = listed.insert(name, row.line) {
            let text = format!("`{name}` stands in the table twice, first in line {earlier}");
            findings.add(row.line, text, "remove one of the rows");
        } else if known.contains(name) {
            let is_required = required.contains(name);
            if row.required.is_some_and(|told| told != is_required) {
                let (table, schema) = if is_required { ("no", "yes") } else { ("yes", "no") };
                let text =
                    format!("the table says required: {table} for `{name}`, the schema {schema}");
                findings.add(row.line, text, "correct the table, or `required` in the schema");
            }
        } else if !is_inner(name, &known) {
            let text = format!("`{name}` stands in the table and not in the schema");
            findings.add(row.line, text, "add it to `properties`, or remove the row");
        }
    }
    for member in properties.iter().filter(|member| !listed.contains_key(&*member.key())) {
        if findings.is_full() {
            return;
        }
        let text = format!("`{}` stands in the schema and not in the table", member.key());
        findings.add(schema.line_of(&member.value()), text, "add a row for it");
    }
}

/// Whether a row tells about a part of a property: `options.depth` or `items[].name`.
fn is_inner(name: &str, known: &HashSet<String>) -> bool {
    name.split_once(['.', '[']).is_some_and(|(outer, _)| known.contains(outer))
}
