//! Where things are: the workspace's root, its files, the build output and the cache of test peers.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::process;

/// The root of the workspace, from the place where this program was built.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask lies in the workspace's root").to_path_buf()
}

/// Files that git tracks or would track: no build output, nothing ignored. Relative and sorted.
pub(crate) fn files(root: &Path) -> Outcome<Vec<PathBuf>> {
    let listing = process::capture(process::command("git").current_dir(root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let mut files: Vec<PathBuf> = listing.split_terminator('\0').map(PathBuf::from).collect();
    files.retain(|file| root.join(file).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// Cargo's output directory: the variable's, or `target` in the root.
pub(crate) fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// Makes a folder anew: nothing of an earlier run is left in it.
pub(crate) fn fresh(folder: &Path) -> Outcome {
    let failed = |source| Failure::file(folder, source);
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

/// Where test peers are installed: outside the tree, kept between runs.
pub(crate) fn cache() -> Outcome<PathBuf> {
    let folder = cache_from(|name| env::var_os(name).map(PathBuf::from))
        .ok_or_else(|| Failure::new("no cache folder: set `GANTRY_CACHE` or `HOME`"))?;
    fs::create_dir_all(&folder).map_err(|source| Failure::file(&folder, source))?;
    Ok(folder)
}

fn cache_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("GANTRY_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|base| base.join("gantry-dev")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/gantry-dev")))
}

/// Reads a text file, naming it when that fails.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|source| Failure::file(path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_folder_follows_the_variables_in_order() {
        let cases = [
            ("GANTRY_CACHE=/a XDG_CACHE_HOME=/b HOME=/c", Some("/a")),
            ("XDG_CACHE_HOME=/b HOME=/c", Some("/b/gantry-dev")),
            ("HOME=/c", Some("/c/.cache/gantry-dev")),
            ("", None),
        ];
        for (variables, expected) in cases {
            let value_of = |name: &str| {
                let pairs = variables.split_whitespace().filter_map(|pair| pair.split_once('='));
                pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
            };
            assert_eq!(cache_from(value_of), expected.map(PathBuf::from), "{variables}");
        }
    }
}
