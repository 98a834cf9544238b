//! The manifest of a tool that is a program: name, version, schemas, and how to start it.

mod draft;
pub(crate) mod json;
mod problem;
mod registrar;
pub(crate) mod schema_completeness;
mod script;
#[cfg(test)]
pub(super) mod tests;
mod toml_schema;

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gantry_gateway::TOOL_META;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{RawJson, Secret};

use crate::tool_spec;

pub use draft::{is_name, is_version};
pub use problem::Problem;

/// The most bytes of a file that are looked at.
const LARGEST: u64 = 1024 * 1024;

/// Finds the value of a variable.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How a tool is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// Any executable, with fixed arguments.
    Process,
    /// A native binary.
    Binary,
    /// One Python file with its dependencies inside, run by `uv`.
    PythonUvScript,
}

/// When a tool has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answer {
    /// When its process has ended: an exit status other than 0 and a second line are failures.
    #[default]
    End,
    /// When it has written a line. What comes after that is not waited for.
    Line,
}

/// How a definition says that calls may be tasks.
const TASK: RawJson = RawJson::from_static(r#"{"taskSupport":"optional"}"#);

/// One tool, ready to be listed and started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The name, `module.tool`.
    pub name: String,
    /// The name as its author wrote it, without a module or in other letters.
    pub written: Option<String>,
    /// The semantic version.
    pub version: String,
    /// What it does, for the model.
    pub description: String,
    /// How it is started.
    pub runtime: Runtime,
    /// The program as an absolute path; for Python the script, which `uv` is given.
    pub command: PathBuf,
    /// The arguments after the program.
    pub args: Vec<String>,
    /// Variables of the process, with references to other variables already replaced.
    pub env: Vec<(String, String)>,
    /// The values that those references stood for. They are shown nowhere.
    pub secrets: Vec<Secret>,
    /// Where it runs.
    pub directory: PathBuf,
    /// What its arguments look like.
    pub input_schema: RawJson,
    /// What its result looks like; none when it answers with MCP content (`output: "content"`).
    pub output_schema: Option<RawJson>,
    /// The hints of the protocol.
    pub annotations: Option<RawJson>,
    /// A title for people.
    pub title: Option<String>,
    /// When it has answered.
    pub answer: Answer,
    /// Whether a call runs so long that a client which can come back later may leave.
    pub task: bool,
    /// How long a call may take, when the tool says so.
    pub timeout: Option<Duration>,
    /// Bytes of memory that its process may hold, when the tool says so.
    pub memory: Option<u64>,
    /// What else is known: `module`, `destructive`, `deprecated_in`, `cache_ttl`, `standby`.
    pub metadata: Option<RawJson>,
    /// The file that said all this.
    pub source: PathBuf,
    /// What its author left out or wrote loosely, and what is assumed instead. In strict mode the
    /// first of these refuses the tool.
    pub warnings: Vec<Problem>,
}

impl Manifest {
    /// The definition that clients are shown.
    pub fn definition(&self) -> RawJson {
        let meta = ObjectWriter::new().raw(TOOL_META, &self.about()).finish();
        ObjectWriter::with_capacity(512)
            .value("name", &self.name)
            .value_some("title", self.title.as_ref())
            .value("description", &self.told())
            .raw("inputSchema", &self.input_schema)
            .raw_some("outputSchema", self.output_schema.as_ref())
            .raw_some("annotations", self.hints().as_ref())
            .raw_some("execution", self.task.then_some(&TASK))
            .raw("_meta", &meta)
            .finish()
    }

    /// The description that clients get: models do not see metadata.
    fn told(&self) -> Cow<'_, str> {
        let deprecated = self.metadata.as_ref().and_then(|it| it.get("deprecated_in")?.to_text());
        match deprecated {
            Some(version) => format!("{} (Deprecated in {version}.)", self.description).into(),
            None => Cow::Borrowed(&self.description),
        }
    }

    /// The annotations, with what the metadata says of destruction.
    fn hints(&self) -> Option<RawJson> {
        let said = self.metadata.as_ref().and_then(|it| it.get("destructive")?.read::<bool>());
        let hints = self.annotations.clone();
        let is_said = |it: &RawJson| it.get("destructiveHint").is_some();
        match said.filter(|_| !hints.as_ref().is_some_and(is_said)) {
            None => hints,
            Some(said) => {
                let hints = hints.unwrap_or(RawJson::EMPTY_OBJECT);
                let said = RawJson::from_static(if said { "true" } else { "false" });
                Some(hints.edit().set("destructiveHint", said).apply())
            }
        }
    }

    /// For how long what was found out of its file may be kept, if it says so: `cache_ttl`.
    pub(super) fn cache_ttl(&self) -> Option<Duration> {
        let seconds = self.metadata.as_ref().and_then(|it| it.get("cache_ttl")?.read::<u64>());
        seconds.map(Duration::from_secs)
    }

    /// The metadata of a registration, with what was left out filled in.
    fn about(&self) -> RawJson {
        let stated = |key| self.metadata.as_ref().and_then(|it| it.get(key)?.to_text());
        let module = self.name.rsplit_once('.').map(|(module, _)| module.to_owned());
        let mut about = ObjectWriter::new()
            .value("version", &self.version)
            .value_some("module", stated("module").or(module))
            .value("destructive", &self.is_destructive());
        for member in self.metadata.iter().flat_map(RawJson::members) {
            // `standby` concerns the one who starts the process, not the one who calls the tool.
            if !["version", "module", "destructive", "standby"].contains(&&*member.key()) {
                about = about.raw(&member.key(), &member.value());
            }
        }
        about.finish()
    }

    /// Whether a call may destroy something: if it says so. Whoever put it into the folder knows it,
    /// unlike a tool of another server that says nothing.
    pub(crate) fn is_destructive(&self) -> bool {
        let flag = |object: &Option<RawJson>, key| object.as_ref()?.get(key)?.read::<bool>();
        let stated =
            [flag(&self.metadata, "destructive"), flag(&self.annotations, "destructiveHint")];
        stated.into_iter().flatten().any(|stated| stated)
    }
}

/// What a file is by its name.
enum Kind {
    Json,
    Script,
    Specification,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        match name {
            "tool.json" => Some(Self::Json),
            _ if name.ends_with(".tool.json") => Some(Self::Json),
            _ if name.ends_with(".py") => Some(Self::Script),
            _ if tool_spec::is_document(name) => Some(Self::Specification),
            _ => None,
        }
    }
}

/// The manifest of a tool whose fields (key, line, value) stand in another notation.
pub(crate) fn from_fields(
    file: &Path,
    start: usize,
    fields: Vec<(String, usize, RawJson)>,
    environment: Lookup<'_>,
) -> Result<Manifest, Problem> {
    let fields = fields.into_iter().map(|(key, line, value)| draft::Field { key, line, value });
    json::from_fields(file, start, fields.collect(), environment)
}

/// Reads the tools that a file describes; none when that is not what it is for.
pub fn read_file(path: &Path, environment: Lookup<'_>) -> Vec<Result<Manifest, Problem>> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let Some(kind) = Kind::of(&path) else { return Vec::new() };
    let bytes = match read_start(&path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Vec::new(),
        Err(error) => {
            let text = format!("the file cannot be read: {error}");
            return vec![Err(Problem::new(&path, None, text, "check its permissions"))];
        }
    };
    match kind {
        Kind::Json => vec![json::read(&path, bytes, environment)],
        Kind::Script => script::read(&path, &bytes, environment).into_iter().collect(),
        Kind::Specification => tool_spec::read(&path, &bytes, environment),
    }
}

/// Reads a manifest in JSON that stands in no file of its own. `source` says where it comes from,
/// and paths in it are seen from the folder of that.
pub fn read_json(
    source: &Path,
    manifest: &RawJson,
    environment: Lookup<'_>,
) -> Result<Manifest, Problem> {
    json::read(source, manifest.bytes().to_vec(), environment)
}

/// Whether what a manifest starts is still there.
pub(super) fn is_runnable(manifest: &Manifest) -> bool {
    manifest.directory.is_dir() && json::is_runnable_file(&manifest.command, manifest.runtime)
}

/// The line in which a manifest speaks of a member, as well as it can be told afterwards. Only
/// what went wrong needs it, so that a manifest need not remember its lines.
pub fn line_of(manifest: &Manifest, member: &str) -> Option<usize> {
    let text = read_start(&manifest.source).ok()??;
    let text = String::from_utf8_lossy(&text);
    let script = member.strip_suffix("Schema").map(|side| format!("tool.gantry.{side}"));
    let words = [Some(format!("\"{member}\"")), script, Some(format!("# {member}"))];
    let mut found = words.iter().flatten().filter_map(|word| text.find(word.as_str()));
    found.next().map(|offset| problem::line_at(text.as_bytes(), offset))
}

/// The first bytes of a regular file, one more than the limit so that a longer one is noticed.
fn read_start(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    // Asked before opening: to open a pipe would wait for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
