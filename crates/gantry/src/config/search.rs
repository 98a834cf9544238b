//! Which files make up the configuration.

use std::path::{Path, PathBuf};

use super::{Lookup, dialect};

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
