//! A Python script that carries its manifest: `[tool.gantry]` in the PEP 723 block.

use std::path::Path;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use toml::de::DeTable;

use super::block::{self, Block};
use super::draft::{Draft, Field};
use super::elements::Side;
use super::problem::Problem;
use super::schema::{self, Entry, Fault};
use super::{Lookup, Manifest, Runtime};

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
    let blocks = block::find(source);
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
            "output" if value.get_ref().is_str() => schema::to_json(value)?,
            "input" | "output" => schema::read(name, value)?,
            _ => schema::to_json(value)?,
        };
        let line = block.line_of(key.span().start);
        Ok(Field { key: name.to_owned(), line, value: json })
    };
    let complain = |fault: Fault| {
        Problem::new(file, Some(block.line_of(fault.offset)), fault.message, fault.advice)
    };
    schema::in_order(table).into_iter().map(field).collect::<Result<_, _>>().map_err(complain)
}

fn annotations(draft: &Draft<'_>) -> Result<Option<RawJson>, Problem> {
    let mut annotations = ObjectWriter::new();
    for (key, hint) in HINTS {
        annotations = annotations.value_some(hint, draft.flag(key)?);
    }
    Ok(Some(annotations.finish()).filter(|it| *it != RawJson::EMPTY_OBJECT))
}
