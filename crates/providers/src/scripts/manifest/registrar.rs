//! Reads the `tool.json` of mcp-registrar, `{id, entry, schema: {parameters, returns}, policy}`,
//! as a manifest.

use std::path::Path;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::draft::{Draft, Field};
use super::json::{self, KEYS};
use super::problem::Problem;
use super::{Lookup, Manifest};

/// How far up a path is looked for: there, paths begin at the folder of the project.
const LEVELS: usize = 5;

/// Its keys.
const ITS_KEYS: &[&str] = &[
    "id",
    "name",
    "version",
    "runtime",
    "description",
    "entry",
    "schema",
    "policy",
    "metadata",
    "annotations",
];

/// The parts of `policy` that hold here too.
const HELD: &[&str] = &["timeout_ms", "memory_bytes", "env_allowlist"];

/// Whether a document is one of these: ours has no `id`.
pub(super) fn is_meant(document: &RawJson) -> bool {
    document.get("id").is_some()
        && ["entry", "schema", "policy"].iter().any(|key| document.get(key).is_some())
}

/// Reads one from its fields.
pub(super) fn read(
    file: &Path,
    fields: Vec<Field>,
    environment: Lookup<'_>,
) -> Result<Manifest, Problem> {
    let given = Draft::new(file, 1, fields, ITS_KEYS)?;
    let part = |key| Ok::<_, Problem>(given.object(key)?.unwrap_or(RawJson::EMPTY_OBJECT));
    let (entry, schema, policy) = (part("entry")?, part("schema")?, part("policy")?);
    let mut fields = Vec::new();
    let mut add = |key: &str, from: &str, value: Option<RawJson>| {
        let line = given.line(from);
        fields.extend(value.map(|value| Field { key: key.to_owned(), line, value }));
    };
    let copied = [("id", "name"), ("name", "title"), ("version", "version")];
    let alike = ["description", "runtime", "metadata", "annotations"].map(|key| (key, key));
    for (from, to) in copied.into_iter().chain(alike) {
        add(to, from, given.get(from).cloned());
    }
    let program = entry.get("command").or_else(|| entry.get("script"));
    let found = |program: RawJson| match program.to_text() {
        Some(text) => RawJson::string(&located(file, &text)),
        None => program,
    };
    add("command", "entry", program.map(found));
    add("args", "entry", entry.get("args"));
    let anything = RawJson::from_static(r#"{"type":"object","properties":{}}"#);
    add("inputSchema", "schema", Some(schema.get("parameters").unwrap_or(anything)));
    add("outputSchema", "schema", schema.get("returns"));
    add("timeout", "policy", policy.get("timeout_ms"));
    add("memory", "policy", policy.get("memory_bytes"));
    add("env", "policy", policy.get("env_allowlist").map(|names| variables(&names)));
    let mut unheld: Vec<String> = policy.members().map(|it| it.key().into_owned()).collect();
    unheld.retain(|key| !HELD.contains(&key.as_str()));
    let draft = Draft::new(file, 1, fields, KEYS)?.lenient();
    if !unheld.is_empty() {
        let text = format!("`policy` has {}, which Gantry does not enforce", unheld.join(", "));
        let advice = "run the tool where that is enforced, such as in a container";
        draft.warn(given.problem("policy", text, advice));
    }
    if entry.get("uv_args").is_some_and(|it| it.elements().next().is_some()) {
        let text = "`uv_args` are not passed on";
        let advice = "write what the script needs into its own block (PEP 723)";
        draft.warn(given.problem("entry", text, advice));
    }
    json::from_draft(&draft, file, environment)
}

/// A path that begins at the folder of the project, as seen from that of the manifest.
fn located(file: &Path, program: &str) -> String {
    let mut folders = file.ancestors().skip(1).take(LEVELS).map(|folder| folder.join(program));
    let is_path = program.contains('/') && !Path::new(program).is_absolute();
    let found = folders.find(|path| is_path && path.is_file());
    found.map_or_else(|| program.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// The variables of the gateway that the process is given.
fn variables(names: &RawJson) -> RawJson {
    let names: Vec<String> = names.read().unwrap_or_default();
    let reference = |all: ObjectWriter, name: &String| all.value(name, &format!("${{{name}:-}}"));
    names.iter().fold(ObjectWriter::new(), reference).finish()
}
