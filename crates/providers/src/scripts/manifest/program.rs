//! Where the program of a tool is, and where it runs.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::draft::Draft;
use super::problem::Problem;
use super::{Lookup, Runtime};

/// Finds a program: beside the manifest first, then, when it is a bare name, on the PATH.
pub(super) fn find(
    draft: &Draft<'_>,
    folder: &Path,
    program: &str,
    runtime: Runtime,
    environment: Lookup<'_>,
) -> Result<PathBuf, Problem> {
    let fits = |path: &Path| is_there(path, runtime);
    let beside = folder.join(program);
    if fits(&beside) {
        return Ok(beside);
    }
    if beside.is_file() {
        let text = format!("the program {} is not executable", beside.display());
        let advice = format!("run: chmod +x {}", beside.display());
        return Err(draft.problem("command", text, advice));
    }
    let is_bare = !program.is_empty() && !program.contains('/');
    let path = environment("PATH").filter(|_| is_bare && runtime != Runtime::PythonUvScript);
    let mut places = path.iter().flat_map(std::env::split_paths).filter(|it| it.is_absolute());
    places.find_map(|place| Some(place.join(program)).filter(|it| fits(it))).ok_or_else(|| {
        let text = format!("the program `{program}` is not there");
        let advice = format!("put it into {}, or give its whole path", folder.display());
        draft.problem("command", text, advice)
    })
}

/// Whether a path leads to what the runtime can start.
pub(super) fn is_there(path: &Path, runtime: Runtime) -> bool {
    let found = path.metadata().ok().filter(Metadata::is_file);
    found.is_some_and(|it| runtime == Runtime::PythonUvScript || is_executable(&it))
}

/// The folder in which the tool runs: the manifest's own, unless `cwd` names another.
pub(super) fn directory(draft: &Draft<'_>, folder: &Path) -> Result<PathBuf, Problem> {
    let Some(given) = draft.text("cwd")? else { return Ok(folder.to_owned()) };
    let directory = folder.join(&given);
    if directory.is_dir() {
        return Ok(directory);
    }
    let text = format!("the folder {} is not there", directory.display());
    Err(draft.problem("cwd", text, "create it, or correct `cwd`"))
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    true
}
