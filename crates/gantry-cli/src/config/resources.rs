//! `workspace` and `resources`: which files are resources, and the limits of that.

use std::path::PathBuf;

use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_providers::files::{FileSettings, RootSettings};
use gantry_providers::units;

use crate::config::ConfigError;
use crate::config::read::Reader;

const KEYS: [&str; 7] =
    ["roots", "hidden", "ignoreFiles", "maxFiles", "maxDepth", "maxRead", "allowBroadRoots"];
const ROOT_KEYS: [&str; 4] = ["path", "name", "hidden", "ignoreFiles"];
const ROOTS: &str =
    "an array of folders, or of objects with `path`, `name`, `hidden` and `ignoreFiles`";

/// What the configuration says of file resources; what it does not say stays as it is by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceConfig {
    /// The root of file resources: `workspace`.
    pub workspace: Option<PathBuf>,
    /// Further roots.
    pub roots: Vec<RootSettings>,
    /// Whether files are listed whose name begins with a dot.
    pub hidden: Option<bool>,
    /// Whether `.gitignore` decides what is listed.
    pub ignore_files: Option<bool>,
    /// How many files of a root are listed.
    pub max_files: Option<usize>,
    /// How many folders deep.
    pub max_depth: Option<usize>,
    /// How many bytes one read may return.
    pub max_read: Option<u64>,
    /// Whether a root may be `/` or a home directory.
    pub allow_broad_roots: Option<bool>,
}

impl ResourceConfig {
    /// All roots, that of `--workspace` or `workspace` first.
    pub fn roots(&self, workspace: Option<PathBuf>) -> Vec<RootSettings> {
        let workspace = workspace.or_else(|| self.workspace.clone()).map(|path| RootSettings {
            hidden: self.hidden.unwrap_or(false),
            ignore_files: self.ignore_files.unwrap_or(true),
            ..RootSettings::new(path)
        });
        workspace.into_iter().chain(self.roots.iter().cloned()).collect()
    }

    /// The limits.
    pub fn settings(&self) -> FileSettings {
        let usual = FileSettings::default();
        FileSettings {
            max_files: self.max_files.unwrap_or(usual.max_files),
            max_depth: self.max_depth.unwrap_or(usual.max_depth),
            max_read: self.max_read.unwrap_or(usual.max_read),
            ..usual
        }
    }

    /// The value of `resources` as it stands in a configuration; none if it says nothing.
    pub(crate) fn to_json(&self) -> Option<RawJson> {
        let roots: Vec<_> = self.roots.iter().map(root_json).collect();
        let json = ObjectWriter::new();
        let json = if roots.is_empty() { json } else { json.array("roots", &roots) };
        let json = json
            .value_some("hidden", self.hidden)
            .value_some("ignoreFiles", self.ignore_files)
            .value_some("maxFiles", self.max_files)
            .value_some("maxDepth", self.max_depth)
            .value_some("maxRead", self.max_read)
            .value_some("allowBroadRoots", self.allow_broad_roots)
            .finish();
        (json != RawJson::EMPTY_OBJECT).then_some(json)
    }
}

fn root_json(root: &RootSettings) -> RawJson {
    ObjectWriter::new()
        .value("path", &root.path.display().to_string())
        .value_some("name", root.name.as_ref())
        .value("hidden", &root.hidden)
        .value("ignoreFiles", &root.ignore_files)
        .finish()
}

pub(crate) fn read(reader: &Reader<'_>, document: &RawJson) -> Result<ResourceConfig, ConfigError> {
    let workspace = reader.text(document, "workspace", "the path of a folder")?;
    let workspace = workspace.map(|path| reader.path(&path));
    let Some(value) = document.get("resources") else {
        return Ok(ResourceConfig { workspace, ..ResourceConfig::default() });
    };
    if !value.is_object() {
        return Err(reader.form(&value, "resources", "an object with `roots` and limits"));
    }
    reader.check_keys(&value, &KEYS, &[])?;
    let flag = |object: &RawJson, key| reader.value(object, key, "true or false", RawJson::read);
    let above_zero = |value: &RawJson| value.read().filter(|number: &usize| *number > 0);
    let number = |key| reader.value(&value, key, "a number above zero", above_zero);
    let (hidden, ignore_files) = (flag(&value, "hidden")?, flag(&value, "ignoreFiles")?);
    let mut roots = Vec::new();
    if let Some(given) = value.get("roots") {
        if given.kind() != JsonKind::Array {
            return Err(reader.form(&given, "roots", ROOTS));
        }
        for item in given.elements() {
            let object = item.is_object();
            if object {
                reader.check_keys(&item, &ROOT_KEYS, &[])?;
            }
            let path = if object { item.get("path") } else { Some(item.clone()) };
            let path = path.ok_or_else(|| reader.form(&item, "roots", ROOTS))?;
            let path = reader.expanded(&path, "path", "the path of a folder")?;
            roots.push(RootSettings {
                name: reader.text(&item, "name", "a name for clients")?,
                path: reader.path(&path),
                hidden: flag(&item, "hidden")?.or(hidden).unwrap_or(false),
                ignore_files: flag(&item, "ignoreFiles")?.or(ignore_files).unwrap_or(true),
            });
        }
    }
    Ok(ResourceConfig {
        workspace,
        roots,
        hidden,
        ignore_files,
        max_files: number("maxFiles")?,
        max_depth: number("maxDepth")?,
        max_read: reader.value(
            &value,
            "maxRead",
            "bytes, or a text such as \"10MiB\"",
            units::size,
        )?,
        allow_broad_roots: flag(&value, "allowBroadRoots")?,
    })
}
