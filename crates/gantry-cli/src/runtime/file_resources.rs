//! Files as resources: opens the roots that the command line and the configuration name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gantry::Server;
use gantry_providers::files::{Files, RootSettings};
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::exit::{Code, Exit};

/// Files that are served, followed by a task.
#[derive(Debug)]
pub(crate) struct FileResources(Option<JoinHandle<()>>);

/// Opens the roots; none if no root is named.
pub(crate) fn open(
    workspace: Option<PathBuf>,
    config: Option<&Config>,
) -> Result<Option<Files>, Exit> {
    let resources = config.map(|config| config.resources.clone()).unwrap_or_default();
    let roots = resources.roots(workspace);
    if roots.is_empty() {
        return Ok(None);
    }
    let refused = |error: String| Exit::new(Code::Configuration, error);
    for root in &roots {
        if resources.allow_broad_roots != Some(true)
            && let Some(what) = broad(root, std::env::home_dir().as_deref())
        {
            let text =
                format!("{} is {what}: every file in it would be a resource", root.path.display());
            let hint = "name a folder inside it, or set `resources.allowBroadRoots` to true";
            return Err(refused(text).hint(hint));
        }
    }
    let files =
        Files::open(roots, resources.settings()).map_err(|error| refused(error.to_string()))?;
    Ok(Some(files))
}

/// Lists the files, and follows their changes until stopped.
pub(crate) fn serve(files: Option<Files>, server: &Server) -> FileResources {
    let Some(files) = files else { return FileResources(None) };
    files.publish_to(server.gateway().attach(Arc::new(files.clone())));
    FileResources(Some(tokio::spawn(async move { files.follow().await })))
}

impl FileResources {
    /// Follows changes no longer.
    pub(crate) async fn stop(self) {
        if let Some(task) = self.0 {
            task.abort();
            let _ = task.await;
        }
    }
}

/// What a root is that nobody wants to share by accident.
fn broad(root: &RootSettings, home: Option<&Path>) -> Option<&'static str> {
    let path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
    let is_home = |home: &Path| home.canonicalize().unwrap_or_else(|_| home.to_owned()) == path;
    match () {
        () if path == Path::new("/") => Some("the root of the file system"),
        () if home.is_some_and(is_home) || path == Path::new("/root") => Some("a home directory"),
        // `/home/NAME` of anybody, and the folder of them all.
        () if path == Path::new("/home") || path.parent() == Some(Path::new("/home")) => {
            Some("a home directory")
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broad_roots() {
        let home = Path::new("/users/me");
        let cases = [
            ("/", true),
            ("/root", true),
            ("/home", true),
            ("/home/somebody", true),
            ("/users/me", true),
            ("/home/somebody/project", false),
            ("/users/me/project", false),
            ("/srv", false),
        ];
        for (path, expected) in cases {
            assert_eq!(broad(&RootSettings::new(path), Some(home)).is_some(), expected, "{path}");
        }
    }
}
