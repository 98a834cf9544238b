//! Reads a document into the manifests of its tools: the `Runtime` block, the schemas, and the
//! line of each value.

use std::collections::HashSet;
use std::path::Path;

use bytes::Bytes;
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonError, JsonLimits};

use super::check::{Findings, Names};
use super::document::{Chapter, Document, Part, Section};
use super::markdown::Fence;
use super::{FILE_NAME, LARGEST, check};
use crate::scripts::manifest;
use crate::scripts::manifest::json::KEYS;
use crate::scripts::manifest::{Lookup, Manifest, Problem, is_name};

/// A key of a manifest, its line and its value.
type Field = (String, usize, RawJson);

/// Reads the tools of a document, each for itself: one that is broken takes no other down. What
/// [`super::check`] complains of is not registered, and a tool that runs elsewhere is not there.
///
/// `path` is where the document stands; the programs of its tools are looked for from there.
///
/// ```
/// use std::path::Path;
/// use gantry_providers::tool_spec::read;
/// let tools = read(Path::new("/tools/MCP_TOOL_SPECIFICATION.md"), b"## Tool: `a.b`", &|_| None);
/// let problem = tools[0].as_ref().unwrap_err();
/// assert_eq!(problem.line, Some(1));
/// assert_eq!(problem.message, "the section `1. Tool Purpose and Description` is missing");
/// ```
pub fn read(path: &Path, bytes: &[u8], environment: Lookup<'_>) -> Vec<Result<Manifest, Problem>> {
    let text = match text(path, bytes) {
        Ok(text) => text,
        Err(problem) => return vec![Err(problem)],
    };
    let document = Document::parse(text);
    let mut names = Names::default();
    let mut tools = Vec::new();
    for part in &document.parts {
        let mut findings = Findings::new(path);
        check::part(part, &mut names, &mut findings);
        let problems = findings.finish(None);
        if !problems.is_empty() {
            tools.extend(problems.into_iter().map(Err));
        } else if !part.runs_elsewhere() {
            let fields = fields(path, part);
            let read = fields
                .and_then(|fields| manifest::from_fields(path, part.line, fields, environment));
            tools.push(read);
        }
    }
    tools.extend(whole(path, &document).map(Err));
    tools
}

/// The text of a document that is not too long.
pub(super) fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, Problem> {
    if bytes.len() > LARGEST {
        let text = format!("the document has more than {LARGEST} bytes");
        return Err(problem(path, None, text, "spread its tools over several documents"));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes.iter().take(error.valid_up_to()).filter(|it| **it == b'\n').count();
        problem(path, Some(line), "the document is not UTF-8", "save the file as UTF-8")
    })
}

/// What is wrong with the document as a whole.
pub(super) fn whole(path: &Path, document: &Document<'_>) -> Option<Problem> {
    if document.parts.is_empty() {
        let advice = "begin with the heading \"## Tool: `module.tool`\"";
        return Some(problem(path, Some(1), "the document describes no tool", advice));
    }
    let text = "the document has too many tools; the rest was not looked at";
    let advice = "spread the tools over several documents";
    document.overflow.map(|line| problem(path, Some(line), text, advice))
}

pub(super) fn problem(
    path: &Path,
    line: Option<usize>,
    message: impl Into<String>,
    advice: impl Into<String>,
) -> Problem {
    Problem {
        file: path.to_owned(),
        line,
        message: message.into(),
        advice: advice.into(),
        is_warning: false,
    }
}

fn fields(path: &Path, part: &Part<'_>) -> Result<Vec<Field>, Problem> {
    let mut fields = runtime(path, part)?;
    let (name, line) = name(path, part)?;
    fields.push(("name".to_owned(), line, RawJson::string(name)));
    let (version, line) = part.version().ok_or_else(|| {
        let advice = "add a line such as `**Version**: 1.0.0` below the heading of the tool";
        problem(path, Some(part.line), "the tool has no version", advice)
    })?;
    fields.push(("version".to_owned(), line, RawJson::string(version)));
    if !has(&fields, "description") {
        let (text, line) =
            part.description().filter(|it| !it.0.trim().is_empty()).ok_or_else(|| {
                let advice = "say in section 1 what the tool is for";
                problem(
                    path,
                    Some(part.line_of(Section::Purpose)),
                    "the tool has no description",
                    advice,
                )
            })?;
        fields.push(("description".to_owned(), line, RawJson::string(&text)));
    }
    fields.push(schema(path, part, Section::Input, "inputSchema")?);
    if !has(&fields, "output") {
        fields.push(schema(path, part, Section::Output, "outputSchema")?);
    }
    // A name of the wrong form is told first, and by the manifest.
    if !has(&fields, "command") && is_name(name) {
        let line = part.line_of(Section::Name);
        let beside = beside(path, name).ok_or_else(|| {
            let text = format!("nothing tells how `{name}` is run");
            problem(path, Some(line), text, advice(name))
        })?;
        let new = beside.into_iter().filter(|(key, _)| !has(&fields, key)).collect::<Vec<_>>();
        fields.extend(new.into_iter().map(|(key, value)| (key.to_owned(), line, value)));
    }
    Ok(fields)
}

fn has(fields: &[Field], key: &str) -> bool {
    fields.iter().any(|field| field.0 == key)
}

fn name<'a>(path: &Path, part: &Part<'a>) -> Result<(&'a str, usize), Problem> {
    let (name, line) = part.name().ok_or_else(|| {
        let advice = "write it in section 2 as module and tool, such as `text.count`";
        problem(path, Some(part.line), "the tool has no name", advice)
    })?;
    match part.heading.filter(|heading| is_name(heading) && *heading != name) {
        None => Ok((name, line)),
        Some(heading) => {
            let text = format!("section 2 says `{name}`, the heading of the tool `{heading}`");
            Err(problem(path, Some(line), text, "write the same name in both"))
        }
    }
}

fn schema(path: &Path, part: &Part<'_>, section: Section, key: &str) -> Result<Field, Problem> {
    let fence = part.chapter(section).and_then(Chapter::schema);
    let Some(fence) = fence else {
        let which = if section == Section::Input { "input" } else { "output" };
        let text = format!("the tool has no {which} schema");
        let advice = format!("add a ```json block with a JSON Schema to `{}`", section.heading());
        return Err(problem(path, Some(part.line_of(section)), text, advice));
    };
    let schema = located(path, &fence)?;
    Ok((key.to_owned(), schema.line() + 1, schema.value))
}

fn located(path: &Path, fence: &Fence<'_>) -> Result<Located, Problem> {
    Located::read(fence).map_err(|(line, text, advice)| problem(path, Some(line), text, advice))
}

/// The fields of the block `Runtime`.
fn runtime(path: &Path, part: &Part<'_>) -> Result<Vec<Field>, Problem> {
    let fence = part.chapter(Section::Name).and_then(Chapter::runtime);
    let Some(fence) = fence else { return Ok(Vec::new()) };
    let block = located(path, &fence)?;
    if let Some((line, text, advice)) = runtime_faults(&block).next() {
        return Err(problem(path, Some(line), text, advice));
    }
    let members = block.value.members();
    let fields = members.map(|member| {
        let value = member.value();
        (member.key().into_owned(), block.line_of(&value), value)
    });
    Ok(fields.collect())
}

/// What is wrong with a block `Runtime` as a whole and with its keys: line, message and advice.
pub(super) fn runtime_faults(block: &Located) -> impl Iterator<Item = (usize, String, String)> {
    let not_an_object = (!block.value.is_object()).then(|| {
        let advice = "write an object such as {\"command\": \"./program\"}".to_owned();
        (block.line() + 1, "the block `Runtime` is not an object".to_owned(), advice)
    });
    let (mut seen, known) = (HashSet::new(), keys(&block.value));
    let wrong = block.value.members().filter_map(move |member| {
        let key = member.key().into_owned();
        let (text, advice) = if !known.contains(&key.as_str()) {
            let advice = format!("remove it; the keys are {}", known.join(", "));
            (format!("unknown key `{key}`"), advice)
        } else if !seen.insert(key.clone()) {
            (format!("the key `{key}` is given twice"), "remove one of them".to_owned())
        } else {
            return None;
        };
        Some((block.line_of(&member.value()), text, advice))
    });
    not_an_object.into_iter().chain(wrong)
}

/// What the sections of a document say.
const SECTIONS: [&str; 4] = ["name", "version", "inputSchema", "outputSchema"];

/// The keys that say whose tool it is that runs elsewhere.
const ELSEWHERE: [&str; 2] = ["server", "tool"];

/// The value of `runtime` for a tool of another MCP server.
pub(super) const SERVER: &str = "server";

/// The value of `runtime` for a tool in code.
pub(super) const BUILT_IN: &str = "built-in";

/// The keys of a block: those of a manifest that no section says.
pub(super) fn keys(block: &RawJson) -> Vec<&'static str> {
    let elsewhere = if runs_elsewhere(block) { &ELSEWHERE[..] } else { &[] };
    let keys = KEYS.iter().filter(|key| !SECTIONS.contains(key));
    keys.chain(elsewhere).copied().collect()
}

/// Whether a block says that the tool is no program of the registry. Its document describes it and
/// registers nothing.
pub(super) fn runs_elsewhere(block: &RawJson) -> bool {
    let runtime = block.get("runtime").and_then(|it| it.to_text());
    runtime.is_some_and(|runtime| [SERVER, BUILT_IN].contains(&runtime.as_str()))
}

/// Whether a block says that the tool answers with MCP content, so that it has no output schema.
pub(super) fn answers_with_content(block: &RawJson) -> bool {
    block.get("output").is_some()
}

/// What to add when nothing tells how the tool is run.
pub(super) fn advice(tool: &str) -> String {
    let program = tool.rsplit('.').next().unwrap_or(tool);
    format!(
        "put an executable `{program}` or a script `{program}.py` beside the document, or add to \
         section 2 a heading `Runtime` and a block of JSON such as {{\"command\": \"./{program}\"}}"
    )
}

/// The fields that name the program beside a document: it is called like the document or like the
/// last part of the tool's name.
pub(super) fn beside(document: &Path, tool: &str) -> Option<Vec<(&'static str, RawJson)>> {
    let folder = document.parent()?;
    let file_name = document.file_name()?.to_str()?;
    let stem = file_name.strip_suffix(FILE_NAME).and_then(|stem| stem.strip_suffix('.'));
    let names = stem.into_iter().chain(tool.rsplit('.').next());
    let files = names
        .flat_map(|name| ["", ".py", ".sh"].map(|outcome_class| format!("{name}{outcome_class}")));
    let found = files.into_iter().find(|file| folder.join(file).is_file())?;
    let command = ("command", RawJson::string(&format!("./{found}")));
    let runtime = found.ends_with(".py").then(|| ("runtime", RawJson::string("python-uv-script")));
    Some(runtime.into_iter().chain([command]).collect())
}

/// A JSON value inside a document.
pub(super) struct Located {
    pub(super) value: RawJson,
    bytes: Bytes,
    line: usize,
}

impl Located {
    /// Reads a code block; otherwise tells the line, what is wrong there and what to do.
    pub(super) fn read(fence: &Fence<'_>) -> Result<Self, (usize, String, &'static str)> {
        if !fence.closed {
            let advice = "end it with a line of the same marks as the first";
            return Err((fence.line, "the code block has no end".to_owned(), advice));
        }
        let bytes = Bytes::copy_from_slice(fence.body.as_bytes());
        let limits = JsonLimits { size: LARGEST, ..JsonLimits::default() };
        match RawJson::parse(bytes.clone(), limits) {
            Ok(value) => Ok(Self { value, bytes, line: fence.line }),
            Err(JsonError::Syntax(error)) => {
                let whole = error.to_string();
                let reason = whole.split(" at line ").next().unwrap_or_default();
                let text = format!("the code block is not valid JSON: {reason}");
                Err((fence.line + error.line().max(1), text, "correct the JSON here"))
            }
            Err(error) => {
                let text = error.to_string().replacen("the message", "the code block", 1);
                Err((fence.line, text, "make it smaller and flatter"))
            }
        }
    }

    /// The line in which the block begins.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The line of a value that was taken out of this one.
    pub(super) fn line_of(&self, part: &RawJson) -> usize {
        // A part shares the bytes of the whole, so its address tells where it stands.
        let offset = (part.bytes().as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        let before = self.bytes.iter().take(offset);
        self.line + 1 + before.filter(|byte| **byte == b'\n').count()
    }
}

/// The same value over several lines. Keys, strings and numbers keep their bytes.
pub(super) fn pretty(value: &RawJson) -> String {
    let compact = value.compact();
    let mut out = String::with_capacity(compact.as_str().len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut letters = compact.as_str().chars().peekable();
    while let Some(letter) = letters.next() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            out.push(letter);
            continue;
        }
        match letter {
            '{' | '[' if letters.peek().is_some_and(|next| !"}]".contains(*next)) => {
                depth += 1;
                out.push(letter);
                new_line(&mut out, depth);
            }
            '}' | ']' if !out.ends_with(['{', '[']) => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                in_string = letter == '"';
                out.push(letter);
            }
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}
