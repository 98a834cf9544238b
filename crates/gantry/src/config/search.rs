//! Which configuration is used.

use std::path::{Path, PathBuf};

use super::{Lookup, dialect};

/// The configuration to use: the one given, that of `GANTRY_CONFIG`, `gantry.json` or `anvil.json`
/// in `here`, that of the user, then the servers of Erasmus. The first two are taken whether they
/// are there or not.
pub fn find(given: Option<&Path>, environment: Lookup<'_>, here: &Path) -> Option<PathBuf> {
    let variable = |name: &str| environment(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let stated = given.map(Path::to_owned).or_else(|| variable("GANTRY_CONFIG"));
    stated.or_else(|| places(environment, here).into_iter().find(|place| place.is_file()))
}

/// Where a configuration is looked for that nobody has named, in this order.
pub fn places(environment: Lookup<'_>, here: &Path) -> Vec<PathBuf> {
    let variable = |name: &str| environment(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let of_user = || {
        let home = || variable("HOME").map(|home| home.join(".config"));
        Some(variable("XDG_CONFIG_HOME").or_else(home)?.join("gantry/gantry.json"))
    };
    let of_erasmus = || Some(variable("HOME")?.join(dialect::ERASMUS));
    let here = ["gantry.json", "anvil.json"].map(|name| Some(here.join(name)));
    here.into_iter().chain([of_user(), of_erasmus()]).flatten().collect()
}
