//! The folder in which registered manifests outlive a restart.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gantry_protocol::{JsonLimits, RawJson};
use gantry_providers::scripts::manifest::read_json;
use gantry_providers::{Manifest, Problem, Tools};
use serde::{Deserialize, Serialize};

/// A folder of manifests, one file for each version of a tool.
#[derive(Debug, Clone)]
pub struct ManifestFolder(PathBuf);

impl ManifestFolder {
    /// The folder; it is made when something is kept in it.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Registers what was kept. What cannot be registered any more stays where it is, and is told.
    pub fn restore(&self, tools: &Tools) -> Vec<Problem> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(&self.0).into_iter().flatten().flatten().map(|it| it.path()).collect();
        files.sort();
        let manifests = files.iter().filter(|it| it.extension().is_some_and(|it| it == "json"));
        let registered = manifests.map(|file| tools.register(self.open(file)?).map(drop));
        registered.filter_map(Result::err).collect()
    }

    /// Reads a manifest as if it stood in the folder.
    pub(crate) fn read(&self, manifest: &RawJson) -> Result<Manifest, Problem> {
        let variable = |name: &str| std::env::var(name).ok();
        let mut read = read_json(&self.0.join("tool.json"), manifest, &variable)?;
        // Versions of one tool that had one source would be taken for changes of one file.
        read.source = self.file(&read.name, &read.version);
        Ok(read)
    }

    pub(crate) fn write(&self, name: &str, version: &str, manifest: &RawJson) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let file = self.file(name, version);
        // A file that is there is whole: it gets its name when it is written.
        let unfinished = file.with_extension("unfinished");
        // For the user alone: what a process is given may be a secret.
        let mut options = OpenOptions::new();
        let mut out =
            options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        out.write_all(manifest.bytes())?;
        fs::rename(unfinished, file)
    }

    pub(crate) fn forget(&self, name: &str, version: Option<&str>) -> io::Result<()> {
        let goes = |file: &Path| {
            let stem = file.file_name().and_then(|it| it.to_str());
            let stem = stem.and_then(|it| it.strip_suffix(ENDING)?.split_once('@'));
            stem.is_some_and(|(of, at)| of == name && version.is_none_or(|it| it == at))
        };
        let files = match fs::read_dir(&self.0) {
            // A tool of the configuration was never kept here.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            files => files?.flatten().map(|entry| entry.path()),
        };
        files.filter(|file| goes(file)).try_for_each(fs::remove_file)
    }

    fn open(&self, file: &Path) -> Result<Manifest, Problem> {
        let problem = |message: String| Problem {
            file: file.to_owned(),
            line: None,
            message,
            advice: "correct the file, or remove it".to_owned(),
            is_warning: false,
        };
        let bytes =
            fs::read(file).map_err(|error| problem(format!("it cannot be read: {error}")))?;
        let manifest = RawJson::parse(bytes, JsonLimits::default())
            .map_err(|error| problem(format!("it is not valid JSON: {error}")))?;
        self.read(&manifest)
    }

    /// Names and versions have only signs that are safe in the name of a file.
    fn file(&self, name: &str, version: &str) -> PathBuf {
        self.0.join(format!("{name}@{version}{ENDING}"))
    }
}

const ENDING: &str = ".json";

/// A running gateway, as it is told apart from others of the same user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// Its process id.
    pub pid: u32,
    /// The version of the program.
    pub version: String,
    /// Its state directory.
    pub state: PathBuf,
    /// Its configuration file, if it has one.
    pub config: Option<PathBuf>,
    /// The files that it reads, and those that it would read if they were there.
    pub files: Vec<PathBuf>,
    /// Where it listens for HTTP, if it does.
    pub listen: Option<String>,
    /// Whether it serves a client on standard input and output.
    pub stdio: bool,
}

impl Instance {
    /// The same with these files.
    pub(crate) fn reading(self, files: Vec<PathBuf>) -> Self {
        Self { files, ..self }
    }

    pub(crate) fn to_json(&self) -> RawJson {
        RawJson::of(self).unwrap_or(RawJson::NULL)
    }
}
