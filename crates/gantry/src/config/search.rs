//! Which configuration is used.

use std::path::{Path, PathBuf};

use super::Lookup;

/// The configuration to use: the one given, that of `GANTRY_CONFIG`, `gantry.json` in `here`, then
/// that of the user. The first two are taken whether they are there or not.
pub fn find(given: Option<&Path>, environment: Lookup<'_>, here: &Path) -> Option<PathBuf> {
    let variable = |name: &str| environment(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let stated = given.map(Path::to_owned).or_else(|| variable("GANTRY_CONFIG"));
    let of_user = || {
        let home = || variable("HOME").map(|home| home.join(".config"));
        Some(variable("XDG_CONFIG_HOME").or_else(home)?.join("gantry/gantry.json"))
    };
    stated.or_else(|| {
        let places = [Some(here.join("gantry.json")), of_user()];
        places.into_iter().flatten().find(|place| place.is_file())
    })
}
