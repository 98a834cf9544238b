//! The configuration of a project and that of its user, as one.

use std::path::{Path, PathBuf};

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;
use gantry_server::AllowedHosts;

use crate::config::read::{Reader, document};
use crate::config::source::LoadState;
use crate::config::{Config, ConfigError, Lookup, dialect};

/// Reads the layers, the one that counts most first.
pub(crate) fn read(
    layers: &[PathBuf],
    environment: Lookup<'_>,
    load_state: &LoadState,
) -> Result<Config, ConfigError> {
    let mut whole: Option<Config> = None;
    let mut read = Vec::new();
    for layer in layers {
        let file = std::path::absolute(layer).unwrap_or_else(|_| layer.clone());
        // It may be included by a layer before it.
        if !load_state.touch(&file) {
            continue;
        }
        let config = one(&file, environment, load_state)?;
        read.push(file);
        match &mut whole {
            None => whole = Some(config),
            Some(whole) => whole.underlay(config, load_state),
        }
    }
    let mut config = whole.unwrap_or_default();
    config.layers = read;
    Ok(config)
}

fn one(
    file: &Path,
    environment: Lookup<'_>,
    load_state: &LoadState,
) -> Result<Config, ConfigError> {
    let text = std::fs::read(file)
        .map_err(|error| ConfigError::Unreadable { file: file.to_owned(), error })?;
    document(file, &text, environment, load_state, &[])
}

impl Config {
    /// Takes over what another layer says and this one does not. How the gateway is reached, who may
    /// reach it and where it keeps its store is said by the first layer alone: a project that has its
    /// own file keeps its address and its tokens, whatever its user writes elsewhere.
    fn underlay(&mut self, mut other: Self, load_state: &LoadState) {
        other.listen = None;
        other.auth = None;
        other.http = None;
        other.metrics = None;
        other.names = AllowedHosts::default();
        other.state = None;
        let (above, below) = (self.file.display(), other.file.display());
        let places = &self.places;
        other.servers.retain(|server| {
            let is_above = places.contains_key(&server.name);
            if is_above {
                let name = &server.name;
                load_state
                    .note(format!("{above} has a server `{name}`, so that of {below} is not used"));
            }
            !is_above
        });
        let profiles = &self.profiles;
        other.profiles.retain(|profile| {
            let is_above = profiles.iter().any(|it| it.name == profile.name);
            if is_above {
                let name = &profile.name;
                load_state.note(format!(
                    "{above} has a profile `{name}`, so that of {below} is not used"
                ));
            }
            !is_above
        });
        self.absorb(other, load_state);
    }
}

const EXPECTED: &str = "a file or a list of files, such as [\"~/.cursor/mcp.json\"]";

/// The most files that one configuration may be made of.
const MOST: usize = 256;

/// Takes over what other files say. What is given already stays as it is.
pub(crate) fn read_include(
    reader: &Reader<'_>,
    value: &RawJson,
    is_own: bool,
    chain: &[PathBuf],
    config: &mut Config,
) -> Result<(), ConfigError> {
    let files = match value.kind() {
        JsonKind::Array => value.elements().collect(),
        _ => vec![value.clone()],
    };
    // In a file of another program the word may mean anything.
    if !is_own && files.iter().any(|file| file.to_text().is_none()) {
        return Ok(());
    }
    let chain: Vec<PathBuf> = chain.iter().chain([&reader.source.file]).cloned().collect();
    for item in &files {
        let file = reader.path(&reader.expanded(item, "include", EXPECTED)?);
        if let Some(included) = include_one(reader, item, &file, &chain)? {
            config.absorb(included, reader.load_state);
        }
    }
    Ok(())
}

/// Reads one file; nothing if it was read before.
fn include_one(
    reader: &Reader<'_>,
    item: &RawJson,
    file: &Path,
    chain: &[PathBuf],
) -> Result<Option<Config>, ConfigError> {
    let place = || reader.place(item);
    // The same file may be named in more than one way.
    let real = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if chain.iter().any(|earlier| real(earlier) == real(file)) {
        let all = chain.iter().map(PathBuf::as_path).chain([file]);
        let names: Vec<String> = all.map(|file| file.display().to_string()).collect();
        return Err(ConfigError::Cycle { place: place(), chain: names.join(" -> ") });
    }
    if !reader.load_state.touch(file) {
        return Ok(None);
    }
    if reader.load_state.files.borrow().len() > MOST {
        return Err(reader.form(item, "include", "fewer than 256 files in all"));
    }
    let text = std::fs::read(file).map_err(|error| ConfigError::Include {
        place: place(),
        file: file.to_owned(),
        error,
    })?;
    document(file, &text, reader.environment, reader.load_state, chain).map(Some)
}

/// The file that counts most; none when there is no configuration.
pub fn find(given: Option<&Path>, environment: Lookup<'_>, here: &Path) -> Option<PathBuf> {
    layers(given, environment, here).into_iter().next()
}

/// The one file that is named, by an option or by `GANTRY_CONFIG`, whether it is there or not.
pub fn stated(given: Option<&Path>, environment: Lookup<'_>) -> Option<PathBuf> {
    given.map(Path::to_owned).or_else(|| variable(environment, "GANTRY_CONFIG"))
}

/// The files that make up the configuration, the one that counts most first: the one that is named
/// alone, else that of the project in `here` and that of the user, and the servers of Erasmus when
/// there is neither.
pub fn layers(given: Option<&Path>, environment: Lookup<'_>, here: &Path) -> Vec<PathBuf> {
    if let Some(file) = stated(given, environment) {
        return vec![file];
    }
    let of_project = of_project(here).into_iter().find(|file| file.is_file());
    let of_user = of_user(environment).filter(|file| file.is_file());
    // The folder may be where the user's file is.
    let real = |file: &Path| file.canonicalize().ok();
    let of_user = of_user
        .filter(|user| of_project.as_deref().is_none_or(|project| real(project) != real(user)));
    let layers: Vec<PathBuf> = of_project.into_iter().chain(of_user).collect();
    match layers.is_empty() {
        true => of_erasmus(environment).filter(|file| file.is_file()).into_iter().collect(),
        false => layers,
    }
}

/// Where files are looked for that nobody has named.
pub fn places(environment: Lookup<'_>, here: &Path) -> Vec<PathBuf> {
    let others = [of_user(environment), of_erasmus(environment)];
    of_project(here).into_iter().chain(others.into_iter().flatten()).collect()
}

/// The files that belong to a folder; the first that is there counts.
pub fn of_project(here: &Path) -> [PathBuf; 2] {
    ["gantry.json", "anvil.json"].map(|name| here.join(name))
}

/// The file that belongs to the user.
pub fn of_user(environment: Lookup<'_>) -> Option<PathBuf> {
    let home = || variable(environment, "HOME").map(|home| home.join(".config"));
    let base = variable(environment, "XDG_CONFIG_HOME").or_else(home)?;
    Some(base.join("gantry/gantry.json"))
}

/// The file of Erasmus, which is read when there is no other.
pub fn of_erasmus(environment: Lookup<'_>) -> Option<PathBuf> {
    Some(variable(environment, "HOME")?.join(dialect::ERASMUS))
}

fn variable(environment: Lookup<'_>, name: &str) -> Option<PathBuf> {
    environment(name).filter(|it| !it.is_empty()).map(PathBuf::from)
}
