//! The versions that were served before, with command and definition, also by earlier runs (kept
//! in the store). A tool that was changed while the gateway was down is held to them. After a
//! restart a refused tool has no predecessor in force, since the old file is gone: it is left out
//! until its version rises.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gantry_gateway::Version;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_protocol::{JsonLimits, RawJson};

use super::manifest::{Manifest, Runtime};

/// The most versions of one tool that are remembered: the newest.
const VERSIONS: usize = 20;

/// The most tools that are remembered, over all folders.
const TOOLS: usize = 100_000;

/// What was served before.
#[derive(Debug, Default)]
pub(super) struct ServedTools {
    /// Whether anything is remembered at all.
    is_kept: bool,
    tools: BTreeMap<String, Vec<Served>>,
    /// What is to be written down.
    changed: BTreeSet<String>,
}

/// One version of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) version: Version,
    /// What it ran.
    pub(super) command: String,
    pub(super) definition: RawJson,
}

impl ServedTools {
    /// Remembers from now on, beginning with what was written down. What cannot be read is left out.
    pub(super) fn restore(&mut self, documents: Vec<(String, String)>) {
        self.is_kept = true;
        for (key, content) in documents {
            match read(content) {
                Some(versions) => drop(self.tools.insert(key, versions)),
                None => {
                    tracing::warn!(key, "ignoring the damaged record of a served tool");
                }
            }
        }
    }

    /// The versions of a tool that were served. Tools of one name in several folders are different
    /// tools, such as those of two projects.
    pub(super) fn of(&self, manifest: &Manifest) -> &[Served] {
        self.tools.get(&key(manifest)).map_or(&[], Vec::as_slice)
    }

    /// Remembers a version that is served now.
    pub(super) fn note(&mut self, manifest: &Manifest, version: &Version, definition: &RawJson) {
        if !self.is_kept {
            return;
        }
        let (key, command) = (key(manifest), command(manifest));
        if self.tools.len() >= TOOLS && !self.tools.contains_key(&key) {
            tracing::debug!(key, "too many served tools to remember one more");
            return;
        }
        let versions = self.tools.entry(key.clone()).or_default();
        let new = Served { version: version.clone(), command, definition: definition.clone() };
        match versions.iter_mut().find(|it| it.version == new.version) {
            Some(known) if *known == new => {
                // It is held once, by the entry too.
                known.definition = new.definition;
                return;
            }
            Some(known) => *known = new,
            None => versions.push(new),
        }
        versions.sort_by(|one, other| one.version.cmp(&other.version));
        let surplus = versions.len().saturating_sub(VERSIONS);
        versions.drain(..surplus);
        self.changed.insert(key);
    }

    /// Forgets a version that a person took away, or all of them.
    pub(super) fn forget(&mut self, manifest: &Manifest, version: Option<&Version>) {
        let key = key(manifest);
        if let Some(versions) = self.tools.get_mut(&key) {
            versions.retain(|it| version.is_some_and(|version| it.version != *version));
            if versions.is_empty() {
                self.tools.remove(&key);
            }
            self.changed.insert(key);
        }
    }

    /// What has changed since the last time, by key; nothing for what was forgotten.
    pub(super) fn take_changes(&mut self) -> Vec<(String, Option<String>)> {
        let changed = std::mem::take(&mut self.changed);
        let write = |key: String| {
            let content = self.tools.get(&key).map(|versions| write(versions));
            (key, content)
        };
        changed.into_iter().map(write).collect()
    }

    pub(super) fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }
}

/// What a manifest runs, in a form that stays the same when the folder moves or the program is found
/// in another place of the PATH.
pub(super) fn command(manifest: &Manifest) -> String {
    let folder = manifest.source.parent().unwrap_or(Path::new("/"));
    let program = &manifest.command;
    let on_path = || {
        let name = program.file_name()?;
        let path = std::env::var_os("PATH")?;
        let first = std::env::split_paths(&path).map(|it| it.join(name)).find(|it| it.is_file());
        (first.as_ref() == Some(program)).then(|| PathBuf::from(name))
    };
    let program = match program.strip_prefix(folder) {
        Ok(inside) => Path::new(".").join(inside),
        Err(_) => on_path().unwrap_or_else(|| program.clone()),
    };
    let runtime = match manifest.runtime {
        Runtime::Process => "process",
        Runtime::Binary => "binary",
        Runtime::PythonUvScript => "python-uv-script",
    };
    let mut all = vec![RawJson::string(runtime), RawJson::string(&program.to_string_lossy())];
    all.extend(manifest.args.iter().map(|it| RawJson::string(it)));
    RawJson::array(&all).to_string()
}

fn key(manifest: &Manifest) -> String {
    let folder = manifest.source.parent().unwrap_or(Path::new("/"));
    format!("{}\n{}", manifest.name, folder.display())
}

fn write(versions: &[Served]) -> String {
    let version = |it: &Served| {
        ObjectWriter::new()
            .value("version", &it.version.to_string())
            .value("command", &it.command)
            .raw("definition", &it.definition)
            .finish()
    };
    RawJson::array(&versions.iter().map(version).collect::<Vec<_>>()).to_string()
}

fn read(content: String) -> Option<Vec<Served>> {
    let limits = JsonLimits { size: usize::MAX, ..JsonLimits::default() };
    let list = RawJson::parse(content, limits).ok()?;
    let version = |it: RawJson| {
        let text = |key| it.get(key)?.to_text();
        let version = text("version")?.parse().ok()?;
        Some(Served { version, command: text("command")?, definition: it.get("definition")? })
    };
    let is_list = list.kind() == JsonKind::Array;
    is_list.then(|| list.elements().map(version).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_down_is_read_again() {
        let definition = RawJson::from_static(r#"{"name":"a.b"}"#);
        let version = "1.0.0-rc.1".parse().unwrap();
        let served = Served { version, command: "[\"x\"]".to_owned(), definition };
        assert_eq!(read(write(std::slice::from_ref(&served))), Some(vec![served]));
        for damaged in ["", "{}", "[1]", r#"[{"version":"1"}]"#] {
            assert_eq!(read(damaged.to_owned()), None, "{damaged}");
        }
    }
}
