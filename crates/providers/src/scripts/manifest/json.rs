//! A manifest in JSON: `NAME.tool.json` beside an executable, or `tool.json` in a folder.

use std::path::Path;

use bytes::Bytes;
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonError, JsonKind, JsonLimits};

use super::draft::{Draft, Field};
use super::elements::Side;
use super::problem::{Problem, line_at};
use super::{LARGEST, Lookup, Manifest, Runtime, program, registrar, unique};

/// The keys of a manifest.
pub(crate) const KEYS: &[&str] = &[
    "name",
    "version",
    "title",
    "description",
    "runtime",
    "command",
    "args",
    "env",
    "cwd",
    "inputSchema",
    "outputSchema",
    "output",
    "annotations",
    "answer",
    "task",
    "timeout",
    "memory",
    "metadata",
    "standby",
];

const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

pub(super) fn read(
    file: &Path,
    bytes: Vec<u8>,
    environment: Lookup<'_>,
) -> Result<Manifest, Problem> {
    let text = Bytes::from(bytes);
    let document = parse(file, &text)?;
    let fields = fields(&text, &document);
    if registrar::is_meant(&document) {
        return registrar::read(file, fields, environment);
    }
    from_fields(file, 1, fields, environment)
}

/// The manifest of fields that were written in this or another notation.
pub(super) fn from_fields(
    file: &Path,
    start: usize,
    fields: Vec<Field>,
    environment: Lookup<'_>,
) -> Result<Manifest, Problem> {
    from_draft(&Draft::new(file, start, fields, KEYS)?, file, environment)
}

/// The manifest of a draft with the keys of one in JSON.
pub(super) fn from_draft(
    draft: &Draft<'_>,
    file: &Path,
    environment: Lookup<'_>,
) -> Result<Manifest, Problem> {
    let ((name, written), version) = (draft.name()?, draft.version()?);
    let description = draft.description()?;
    let input_schema = draft.schema("inputSchema", Side::Input)?.compact();
    let output_schema = draft.output_schema("outputSchema")?.map(|schema| schema.compact());
    let runtime = runtime(draft)?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut line = command_line(draft, file, runtime)?;
    let command = program::find(draft, folder, &line.remove(0), runtime, environment)?;
    line.extend(draft.texts("args")?);
    let (env, secrets) = draft.env(environment)?;
    Ok(Manifest {
        name,
        written,
        version,
        description,
        runtime,
        command,
        args: line,
        env,
        secrets,
        directory: program::directory(draft, folder)?,
        input_schema,
        output_schema,
        annotations: annotations(draft)?,
        title: draft.text("title")?,
        answer: draft.answer()?,
        task: draft.task()?,
        timeout: draft.timeout()?,
        memory: draft.memory()?,
        metadata: draft.metadata()?.map(|metadata| metadata.compact()),
        source: file.to_owned(),
        warnings: draft.warnings(),
    })
}

fn parse(file: &Path, text: &Bytes) -> Result<RawJson, Problem> {
    let limits = JsonLimits { size: LARGEST as usize, ..JsonLimits::default() };
    let document = RawJson::parse(text.clone(), limits).map_err(|error| match error {
        JsonError::Syntax(error) => {
            let whole = error.to_string();
            let reason = whole.split(" at line ").next().unwrap_or_default();
            let reason = format!("the manifest is not valid JSON: {reason}");
            Problem::new(file, Some(error.line().max(1)), reason, "correct the JSON here")
        }
        JsonError::NotUtf8 { at } => {
            let line = Some(line_at(text, at));
            Problem::new(file, line, "the manifest is not UTF-8", "save the file as UTF-8")
        }
        JsonError::TooLarge { limit, .. } => {
            let text = format!("the manifest has more than {limit} bytes");
            Problem::new(file, None, text, "make it smaller")
        }
        JsonError::TooDeep { limit } => {
            let text = format!("the manifest is nested deeper than {limit}");
            Problem::new(file, None, text, "make it flatter, with `$defs` for the inner schemas")
        }
    })?;
    if document.is_object() {
        let twice = |(line, text)| Problem::new(file, Some(line), text, "remove one of them");
        return unique::check(text).map(|()| document).map_err(twice);
    }
    let advice = "write an object with name, version, description, inputSchema and outputSchema";
    Err(Problem::new(file, Some(1), "the manifest is not a JSON object", advice))
}

fn fields(text: &Bytes, document: &RawJson) -> Vec<Field> {
    let field = |(key, value): (String, RawJson)| {
        // A value is a part of the file's own bytes, so its address tells where it stands.
        let offset = (value.bytes().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        Field { key, line: line_at(text, offset), value }
    };
    let members = document.members();
    members.map(|member| field((member.key().into_owned(), member.value()))).collect()
}

fn runtime(draft: &Draft<'_>) -> Result<Runtime, Problem> {
    match draft.text("runtime")?.as_deref() {
        None | Some("process") => Ok(Runtime::Process),
        Some("binary") => Ok(Runtime::Binary),
        Some("python-uv-script") => Ok(Runtime::PythonUvScript),
        Some(other) => {
            let advice = "write `process`, `binary` or `python-uv-script`";
            Err(draft.problem("runtime", format!("there is no runtime `{other}`"), advice))
        }
    }
}

/// The program and the arguments that come with it: never empty.
fn command_line(draft: &Draft<'_>, file: &Path, runtime: Runtime) -> Result<Vec<String>, Problem> {
    let given = match draft.get("command").map(RawJson::kind) {
        None => beside(file, runtime).into_iter().collect(),
        Some(JsonKind::String) => draft.text("command")?.into_iter().collect(),
        Some(_) => draft.texts("command")?,
    };
    if given.first().is_none_or(String::is_empty) {
        let advice =
            "add `command` with the program, such as \"./count\" or [\"sh\", \"count.sh\"]";
        return Err(draft.problem("command", "the tool has no command", advice));
    }
    Ok(given)
}

/// What `NAME.tool.json` runs when it names nothing: `NAME`, or `NAME.py` for Python.
fn beside(file: &Path, runtime: Runtime) -> Option<String> {
    let name = file.file_name()?.to_str()?.strip_suffix(".tool.json")?;
    let outcome_class = if runtime == Runtime::PythonUvScript { ".py" } else { "" };
    Some(format!("{name}{outcome_class}"))
}

fn annotations(draft: &Draft<'_>) -> Result<Option<RawJson>, Problem> {
    let Some(annotations) = draft.object("annotations")? else { return Ok(None) };
    for hint in HINTS {
        let kind = annotations.get(hint).map(|value| value.kind());
        if kind.is_some_and(|kind| kind != JsonKind::Boolean) {
            let text = format!("the annotation `{hint}` has the wrong form");
            return Err(draft.problem("annotations", text, "write true or false"));
        }
    }
    Ok(Some(annotations.compact()))
}
