//! Manifests in JSON: `NAME.tool.json` beside an executable, or `tool.json` in a folder. Duplicate
//! keys are refused, however deep: parsers disagree on which of the two counts, so a schema would
//! mean one thing to a client and another here.

use std::collections::HashSet;
use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonError, JsonKind, JsonLimits};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::draft::{Draft, Field};
use super::problem::{Problem, line_at};
use super::schema_completeness::Side;
use super::{LARGEST, Lookup, Manifest, Runtime, registrar};

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
    let command = find(draft, folder, &line.remove(0), runtime, environment)?;
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
        directory: directory(draft, folder)?,
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
        return check(text).map(|()| document).map_err(twice);
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

/// The line and the message of the first key that comes twice in one object. The text is JSON.
pub(super) fn check(text: &[u8]) -> Result<(), (usize, String)> {
    match serde_json::from_slice::<Unique>(text) {
        // Numbers that do not fit are nothing to complain about here.
        Err(error) if error.is_data() => {
            let whole = error.to_string();
            let message = whole.rsplit_once(" at line ").map_or(&*whole, |(message, _)| message);
            Err((error.line(), message.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Any value in which no object has a key twice.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Search)
    }
}

struct Search;

impl<'de> Visitor<'de> for Search {
    type Value = Unique;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format!("the key `{key}` is given twice")));
            }
            seen.insert(key);
            map.next_value::<Unique>()?;
        }
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Unique, A::Error> {
        while sequence.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }
}

/// Finds a program: beside the manifest first, then, when it is a bare name, on the PATH.
pub(super) fn find(
    draft: &Draft<'_>,
    folder: &Path,
    program: &str,
    runtime: Runtime,
    environment: Lookup<'_>,
) -> Result<PathBuf, Problem> {
    let fits = |path: &Path| is_runnable_file(path, runtime);
    let beside = folder.join(program);
    if fits(&beside) {
        return Ok(beside);
    }
    if beside.is_file() {
        let text = format!("the program {} is not executable", beside.display());
        let advice = format!("run: chmod +x {}", beside.display());
        return Err(draft.problem("command", text, advice));
    }
    let is_bare = !program.is_empty() && !program.contains('/');
    let path = environment("PATH").filter(|_| is_bare && runtime != Runtime::PythonUvScript);
    let mut places = path.iter().flat_map(std::env::split_paths).filter(|it| it.is_absolute());
    places.find_map(|place| Some(place.join(program)).filter(|it| fits(it))).ok_or_else(|| {
        let text = format!("the program `{program}` is not there");
        let advice = format!("put it into {}, or give its whole path", folder.display());
        draft.problem("command", text, advice)
    })
}

/// Whether a path leads to what the runtime can start.
pub(super) fn is_runnable_file(path: &Path, runtime: Runtime) -> bool {
    let found = path.metadata().ok().filter(Metadata::is_file);
    found.is_some_and(|it| runtime == Runtime::PythonUvScript || is_executable(&it))
}

/// The folder in which the tool runs: the manifest's own, unless `cwd` names another.
pub(super) fn directory(draft: &Draft<'_>, folder: &Path) -> Result<PathBuf, Problem> {
    let Some(given) = draft.text("cwd")? else { return Ok(folder.to_owned()) };
    let directory = folder.join(&given);
    if directory.is_dir() {
        return Ok(directory);
    }
    let text = format!("the folder {} is not there", directory.display());
    Err(draft.problem("cwd", text, "create it, or correct `cwd`"))
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    true
}
