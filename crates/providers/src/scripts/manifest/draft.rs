//! The fields of a manifest as they were written, whatever the notation: keys, values and lines,
//! with variables (`${VAR}`, `${VAR:-default}`, `${env:VAR}`) and the checks of single fields.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use gantry_gateway::Version;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::redact::is_open_variable;
use gantry_protocol::{RawJson, Secret};

use super::problem::Problem;
use super::schema_completeness::Side;
use super::{Answer, Lookup, schema_completeness};
use crate::suggestion::nearest;
use crate::units;

/// The version of a tool that says none.
const UNVERSIONED: &str = "1.0.0";

/// The variables of a process, by name.
type Variables = Vec<(String, String)>;

/// One key with its value.
pub(super) struct Field {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: RawJson,
}

/// What was written, and where.
pub(super) struct Draft<'a> {
    file: &'a Path,
    /// Where the manifest begins: what is missing is reported there.
    start: usize,
    fields: Vec<Field>,
    /// Whether schemas may say less than a caller needs.
    is_lenient: bool,
    warnings: RefCell<Vec<Problem>>,
}

impl<'a> Draft<'a> {
    /// Takes the fields when all of them are known and none comes twice.
    pub(super) fn new(
        file: &'a Path,
        start: usize,
        fields: Vec<Field>,
        known: &[&str],
    ) -> Result<Self, Problem> {
        for (index, field) in fields.iter().enumerate() {
            let (key, line) = (&field.key, Some(field.line));
            if !known.contains(&key.as_str()) {
                let advice = match nearest(key, known) {
                    Some(meant) => format!("write `{meant}`, or remove it"),
                    None => format!("remove it; the keys are {}", known.join(", ")),
                };
                return Err(Problem::new(file, line, format!("unknown key `{key}`"), advice));
            }
            if fields[..index].iter().any(|earlier| earlier.key == *key) {
                let text = format!("the key `{key}` is given twice");
                return Err(Problem::new(file, line, text, "remove one of them"));
            }
        }
        Ok(Self { file, start, fields, is_lenient: false, warnings: RefCell::default() })
    }

    /// The same, of a dialect in which schemas may say less.
    pub(super) fn lenient(self) -> Self {
        Self { is_lenient: true, ..self }
    }

    /// Notes what was left out, and what is assumed instead.
    pub(super) fn warn(&self, problem: Problem) {
        self.warnings.borrow_mut().push(problem.into_warning());
    }

    /// What was left out.
    pub(super) fn warnings(&self) -> Vec<Problem> {
        self.warnings.take()
    }

    /// A problem at a key, or at the manifest's beginning when the key is not there.
    pub(super) fn problem(
        &self,
        key: &str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Problem {
        Problem::new(self.file, Some(self.line(key)), message, advice)
    }

    /// The line of a key, or where the manifest begins.
    pub(super) fn line(&self, key: &str) -> usize {
        let field = self.fields.iter().find(|field| field.key == key);
        field.map_or(self.start, |field| field.line)
    }

    pub(super) fn get(&self, key: &str) -> Option<&RawJson> {
        self.fields.iter().find(|field| field.key == key).map(|field| &field.value)
    }

    /// A value of the right form; `form` says what that is.
    fn read<T>(
        &self,
        key: &str,
        form: &str,
        read: impl Fn(&RawJson) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let read = read(value).ok_or_else(|| {
            self.problem(key, format!("`{key}` has the wrong form"), format!("write {form}"))
        })?;
        Ok(Some(read))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Problem> {
        self.read(key, "a string", RawJson::to_text)
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Problem> {
        self.read(key, "true or false", RawJson::read)
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, Problem> {
        Ok(self.read(key, "a list of strings", RawJson::read)?.unwrap_or_default())
    }

    pub(super) fn object(&self, key: &str) -> Result<Option<RawJson>, Problem> {
        self.read(key, "an object", |value| value.is_object().then(|| value.clone()))
    }

    /// One of the two schemas. Neither may be missing, nor say less than a caller needs.
    pub(super) fn schema(&self, key: &str, side: Side) -> Result<RawJson, Problem> {
        let Some(schema) = self.object(key)? else {
            let (text, advice) = schema_completeness::absent(key, side);
            return Err(self.problem(key, text, advice));
        };
        match schema_completeness::lacking(&schema, side) {
            None => Ok(schema),
            Some((text, advice)) if self.is_lenient => {
                self.warn(self.problem(key, text, advice));
                Ok(schema)
            }
            Some((text, advice)) => Err(self.problem(key, text, advice)),
        }
    }

    /// The output schema. None for a tool that answers with content, which says so with `output`, and
    /// for one that says nothing: it is taken, and its results are not checked.
    pub(super) fn output_schema(&self, key: &str) -> Result<Option<RawJson>, Problem> {
        // In a script the schema itself stands under this key.
        let is_schema = |value: &&RawJson| key == "output" && value.is_object();
        let Some(output) = self.get("output").filter(|value| !is_schema(value)) else {
            if self.get(key).is_some() {
                return self.schema(key, Side::Output).map(Some);
            }
            let (text, advice) = schema_completeness::absent(key, Side::Output);
            self.warn(self.problem(key, format!("{text}, so its results are not checked"), advice));
            return Ok(None);
        };
        if output.as_text() != Some("content") {
            let advice = "write \"content\" for a tool that answers with MCP content";
            return Err(self.problem("output", "`output` has the wrong form", advice));
        }
        if key != "output" && self.get(key).is_some() {
            let text = "a tool that answers with content has no output schema";
            return Err(self.problem(key, text, format!("remove `{key}`, or `output`")));
        }
        Ok(None)
    }

    pub(super) fn timeout(&self) -> Result<Option<Duration>, Problem> {
        let form = "milliseconds above zero, or a text such as \"30s\", \"500ms\" or \"2m\"";
        self.read("timeout", form, units::duration)
    }

    pub(super) fn answer(&self) -> Result<Answer, Problem> {
        let form = "\"end\", or \"line\" to answer as soon as the line is written";
        let read = |value: &RawJson| match value.to_text()?.as_str() {
            "end" => Some(Answer::End),
            "line" => Some(Answer::Line),
            _ => None,
        };
        Ok(self.read("answer", form, read)?.unwrap_or_default())
    }

    pub(super) fn task(&self) -> Result<bool, Problem> {
        let form = "true when calls run long and may be tasks, else false";
        Ok(self.read("task", form, RawJson::read)?.unwrap_or_default())
    }

    pub(super) fn memory(&self) -> Result<Option<u64>, Problem> {
        let form = "bytes above zero, or a text such as \"512MB\" or \"2GiB\"";
        self.read("memory", form, units::size)
    }

    fn needed(&self, key: &str, example: &str) -> Result<String, Problem> {
        self.text(key)?.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
            self.problem(key, format!("the tool has no {key}"), format!("add one: {example}"))
        })
    }

    /// The name, and what its author wrote if that is another one. A name without a module gets
    /// that of its metadata, or else its folder's name.
    pub(super) fn name(&self) -> Result<(String, Option<String>), Problem> {
        let name = self.needed("name", "`name` is module and tool, such as \"text.count\"")?;
        if is_name(&name) {
            return Ok((name, None));
        }
        let bare = if self.is_lenient { as_word(&name) } else { name.clone() };
        let module = || {
            let said = self.get("metadata").and_then(|it| it.get("module")?.to_text());
            let folder = self.file.parent().and_then(Path::file_name);
            let folder = folder.map(|it| as_word(&it.to_string_lossy()));
            let said = said.map(|it| it.split('.').map(as_word).collect::<Vec<_>>().join("."));
            said.or(folder).filter(|it| !it.is_empty()).unwrap_or_else(|| "tools".to_owned())
        };
        let whole = format!("{}.{bare}", module());
        if !bare.contains('.') && is_name(&whole) {
            return Ok((whole, Some(name)));
        }
        let advice = "write module and tool in small letters, digits and `_`, with a dot between \
                      them, such as `text.count`";
        Err(self.problem("name", format!("`{name}` is no name for a tool"), advice))
    }

    /// The version; the first one if none is given.
    pub(super) fn version(&self) -> Result<String, Problem> {
        if self.get("version").is_none() {
            let text = format!("the tool has no version, so {UNVERSIONED} is assumed");
            let advice = "add one: `version` is three numbers, such as \"1.0.0\"";
            self.warn(self.problem("version", text, advice));
            return Ok(UNVERSIONED.to_owned());
        }
        let version = self.needed("version", "`version` is three numbers, such as \"1.0.0\"")?;
        if is_version(&version) {
            return Ok(version);
        }
        let advice = "write three numbers, such as `1.0.0` or `1.1.0-beta.1`";
        Err(self.problem("version", format!("`{version}` is no semantic version"), advice))
    }

    pub(super) fn description(&self) -> Result<String, Problem> {
        self.needed("description", "`description` tells the model what the tool is for")
    }

    /// The metadata, with `standby` beside what was given there.
    pub(super) fn metadata(&self) -> Result<Option<RawJson>, Problem> {
        let metadata = self.object("metadata")?;
        let Some(standby) = self.get("standby") else { return Ok(metadata) };
        let mut merged = ObjectWriter::new();
        for member in metadata.iter().flat_map(RawJson::members) {
            if !member.is("standby") {
                merged = merged.raw(&member.key(), &member.value());
            }
        }
        Ok(Some(merged.raw("standby", standby).finish()))
    }

    /// The variables of the process, expanded, and the values that references in them stood for.
    pub(super) fn env(&self, lookup: Lookup<'_>) -> Result<(Variables, Vec<Secret>), Problem> {
        let object = self.object("env")?;
        let secrets = RefCell::new(Vec::new());
        let lookup = |name: &str| {
            let found = lookup(name)?;
            if !is_open_variable(name) {
                secrets.borrow_mut().push(Secret::new(found.as_str()));
            }
            Some(found)
        };
        let mut variables = Vec::new();
        for member in object.iter().flat_map(RawJson::members) {
            let key = member.key().into_owned();
            let value = member.value().to_text().filter(|value| !value.contains('\0'));
            let Some(value) = value.filter(|_| is_variable(&key)) else {
                let text = format!("`env` has a wrong entry `{key}`");
                return Err(self.problem("env", text, "write names with strings as their values"));
            };
            let value = expand(&value, &lookup).map_err(|error| self.unset(&key, error))?;
            variables.push((key, value));
        }
        Ok((variables, secrets.into_inner()))
    }

    fn unset(&self, key: &str, error: ExpandError) -> Problem {
        let (text, advice) = match error {
            ExpandError::Unset(name) => (
                format!("the variable `{name}`, needed by `{key}` in `env`, is not set"),
                format!("set it, or give a default: `${{{name}:-value}}`"),
            ),
            ExpandError::Open => {
                (format!("`{key}` in `env` has `${{` without an end"), "close it with `}`".into())
            }
        };
        self.problem("env", text, advice)
    }
}

/// A text as one word of a name.
fn as_word(text: &str) -> String {
    let letter = |it: char| match it.to_ascii_lowercase() {
        it @ ('a'..='z' | '0'..='9' | '_' | '.') => it,
        _ => '_',
    };
    text.chars().map(letter).collect::<String>().replace('.', "_")
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// Why a value cannot be expanded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExpandError {
    /// The variable has no value.
    Unset(String),
    /// `${` without `}`.
    Open,
}

/// Replaces the variables in a text by what `lookup` gives for them.
pub(super) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, ExpandError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        expanded.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        let end = inside.find('}').ok_or(ExpandError::Open)?;
        expanded.push_str(&value(&inside[..end], lookup)?);
        rest = &inside[end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value(reference: &str, lookup: Lookup<'_>) -> Result<String, ExpandError> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    // As in a shell, a default also stands in for an empty value.
    let found = lookup(name).filter(|value| default.is_none() || !value.is_empty());
    let found = found.or_else(|| default.map(str::to_owned));
    found.ok_or_else(|| ExpandError::Unset(name.to_owned()))
}

/// The longest name the protocol allows.
const LONGEST_NAME: usize = 128;

/// Whether a name is `module.tool`: two parts or more, each of `a` to `z`, digits and `_`.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(fits);
    name.len() <= LONGEST_NAME && name.contains('.') && name.split('.').all(is_part)
}

/// Whether a version is semantic.
pub fn is_version(version: &str) -> bool {
    version.parse::<Version>().is_ok()
}
