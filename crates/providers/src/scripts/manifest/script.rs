//! Manifests inside Python scripts: `[tool.gantry]` in the metadata block of PEP 723.

use std::path::Path;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use toml::de::DeTable;

use super::draft::{Draft, Field};
use super::problem::Problem;
use super::schema_completeness::Side;
use super::toml_schema::{Entry, Fault};
use super::{Lookup, Manifest, Runtime, toml_schema};

const KEYS: &[&str] = &[
    "name",
    "version",
    "title",
    "description",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "answer",
    "task",
    "timeout",
    "memory",
    "env",
    "input",
    "output",
    "metadata",
    "standby",
];

const HINTS: [(&str, &str); 4] = [
    ("read_only", "readOnlyHint"),
    ("destructive", "destructiveHint"),
    ("idempotent", "idempotentHint"),
    ("open_world", "openWorldHint"),
];

/// Reads a script; nothing when it does not mean to be a tool.
pub(super) fn read(
    file: &Path,
    source: &[u8],
    environment: Lookup<'_>,
) -> Option<Result<Manifest, Problem>> {
    let blocks = find_blocks(source);
    let meant = blocks.iter().find(|block| mentions(&block.text, b"gantry"))?;
    // Scripts that merely depend on a package of that name are none of our business.
    let is_ours = mentions(&meant.text, b"tool.gantry");
    let complain = |line, text: &str, advice: &str| {
        is_ours.then(|| Err(Problem::new(file, Some(line), text, advice)))
    };
    if let [_, second, ..] = blocks.as_slice() {
        return complain(second.line, "the script has two script blocks", "keep one of them");
    }
    if !meant.closed {
        let advice = "end it with the line `# ///`, with only comments before it";
        return complain(meant.line, "the script block has no end", advice);
    }
    let Ok(text) = std::str::from_utf8(&meant.text) else {
        return complain(meant.line, "the script block is not UTF-8", "save the file as UTF-8");
    };
    match DeTable::parse(text) {
        Ok(document) => {
            let (key, table) =
                member(member(document.get_ref(), "tool")?.1.get_ref().as_table()?, "gantry")?;
            Some(manifest(file, meant, (key, table), environment))
        }
        Err(error) => {
            let line = error.span().map_or(meant.line, |span| meant.line_of(span.start));
            let reason = format!("the script block is not valid TOML: {}", error.message());
            complain(line, &reason, "correct the block here")
        }
    }
}

fn member<'a, 'i>(table: &'a DeTable<'i>, name: &str) -> Option<Entry<'a, 'i>> {
    table.iter().find(|(key, _)| key.get_ref() == name)
}

fn mentions(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

fn manifest(
    file: &Path,
    block: &Block,
    (key, table): Entry<'_, '_>,
    environment: Lookup<'_>,
) -> Result<Manifest, Problem> {
    let start = block.line_of(key.span().start);
    let Some(table) = table.get_ref().as_table() else {
        let text = "`tool.gantry` is not a table";
        return Err(Problem::new(file, Some(start), text, "write `[tool.gantry]`"));
    };
    let draft = Draft::new(file, start, fields(file, block, table)?, KEYS)?;
    let (env, secrets) = draft.env(environment)?;
    let (name, written) = draft.name()?;
    Ok(Manifest {
        name,
        written,
        version: draft.version()?,
        description: draft.description()?,
        runtime: Runtime::PythonUvScript,
        command: file.to_owned(),
        args: Vec::new(),
        input_schema: draft.schema("input", Side::Input)?,
        output_schema: draft.output_schema("output")?,
        env,
        secrets,
        directory: file.parent().unwrap_or(Path::new("/")).to_owned(),
        annotations: annotations(&draft)?,
        title: draft.text("title")?,
        answer: draft.answer()?,
        task: draft.task()?,
        timeout: draft.timeout()?,
        memory: draft.memory()?,
        metadata: draft.metadata()?,
        source: file.to_owned(),
        warnings: draft.warnings(),
    })
}

fn fields(file: &Path, block: &Block, table: &DeTable<'_>) -> Result<Vec<Field>, Problem> {
    let field = |(key, value): Entry<'_, '_>| {
        let name = key.get_ref().as_ref();
        let json = match name {
            "output" if value.get_ref().is_str() => toml_schema::to_json(value)?,
            "input" | "output" => toml_schema::read(name, value)?,
            _ => toml_schema::to_json(value)?,
        };
        let line = block.line_of(key.span().start);
        Ok(Field { key: name.to_owned(), line, value: json })
    };
    let complain = |fault: Fault| {
        Problem::new(file, Some(block.line_of(fault.offset)), fault.message, fault.advice)
    };
    toml_schema::in_order(table).into_iter().map(field).collect::<Result<_, _>>().map_err(complain)
}

fn annotations(draft: &Draft<'_>) -> Result<Option<RawJson>, Problem> {
    let mut annotations = ObjectWriter::new();
    for (key, hint) in HINTS {
        annotations = annotations.value_some(hint, draft.flag(key)?);
    }
    Ok(Some(annotations.finish()).filter(|it| *it != RawJson::EMPTY_OBJECT))
}

/// What stands between `# /// script` and `# ///`, without the comment marks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The text, line by line.
    pub(super) text: Vec<u8>,
    /// The line of `# /// script`, counted from one.
    pub(super) line: usize,
    /// Whether the end mark is there.
    pub(super) closed: bool,
}

impl Block {
    /// The line in the file of a byte in the text.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.line + super::problem::line_at(&self.text, offset)
    }
}

/// All blocks for scripts in a source text. More than one is an error of the script.
pub(super) fn find_blocks(source: &[u8]) -> Vec<Block> {
    let mut lines = source.split(|byte| *byte == b'\n').map(without_return).enumerate();
    let mut blocks = Vec::new();
    while let Some((index, line)) = lines.next() {
        if line == b"# /// script" {
            let comments = lines.by_ref().map_while(|(_, line)| comment(line));
            blocks.push(read_block(index + 1, &comments.collect::<Vec<_>>()));
        }
    }
    blocks
}

/// Reads the run of comments after the start mark. The last end mark in it counts, since an
/// earlier one may be part of a value.
fn read_block(line: usize, comments: &[&[u8]]) -> Block {
    let end = comments.iter().rposition(|line| *line == b"///");
    let kept = &comments[..end.unwrap_or(comments.len())];
    Block { text: kept.join(&b'\n'), line, closed: end.is_some() }
}

fn comment(line: &[u8]) -> Option<&[u8]> {
    if line == b"#" { Some(b"") } else { line.strip_prefix(b"# ") }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
