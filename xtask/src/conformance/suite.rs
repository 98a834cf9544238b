//! Calls of the official suite: each into a fresh folder, with a log beside it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::failure::{Failure, Outcome};
use crate::process::{self, Group};
use crate::{provision, workspace};

/// Far above what a call takes; one that reaches it hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// A folder for what the suite finds.
pub(super) struct Findings {
    folder: PathBuf,
    log: File,
}

impl Findings {
    /// Makes the folder anew.
    pub(super) fn fresh(folder: PathBuf) -> Outcome<Self> {
        workspace::fresh(&folder)?;
        let path = log_of(&folder);
        let log = File::create(&path).map_err(|source| Failure::file(&path, source))?;
        Ok(Self { folder, log })
    }

    /// Where the suite leaves its checks.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the suite printed.
    pub(super) fn log(&self) -> PathBuf {
        log_of(&self.folder)
    }

    /// Calls the suite of that version and says whether it exited with success.
    pub(super) fn call(&self, version: &str, arguments: &[&str]) -> Outcome<bool> {
        let stream = || {
            let log = self.log.try_clone();
            log.map(Stdio::from).map_err(|source| Failure::file(&self.log(), source))
        };
        let cache = workspace::cache()?;
        let mut suite = process::command(provision::node(&cache));
        suite
            .arg(provision::conformance(&cache, version))
            .args(arguments)
            .arg("-o")
            .arg(&self.folder)
            .stdin(Stdio::null())
            .stdout(stream()?)
            .stderr(stream()?);
        let ended = Group::start(&mut suite)?.wait(LIMIT)?;
        let hangs = || Failure::new(format!("`{}` did not end in time", arguments.join(" ")));
        Ok(ended.ok_or_else(hangs)?.success())
    }
}

fn log_of(folder: &Path) -> PathBuf {
    folder.with_extension("log")
}
