//! Puts a configuration in force again when one of its files is saved. A broken file changes
//! nothing: what is wrong is logged with its place, and what was in force stays so.

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gantry_providers::file_fingerprint::FileFingerprint;
use gantry_providers::scripts::Watch;

use crate::config::{self, Config};

/// Saving a file makes several changes; they are looked at together.
const SETTLED: Duration = Duration::from_millis(100);

/// How often the files are looked at when nothing is heard of them.
const LOOK: Duration = Duration::from_secs(5);

/// Finds the value of a variable.
pub(crate) type Variable = fn(&str) -> Option<String>;

/// The files of a configuration, watched.
#[derive(Debug)]
pub(crate) struct Reload {
    search: Search,
    /// The files that were read last and not included by another one.
    layers: Vec<PathBuf>,
    /// All that it is made of, and where it could be.
    files: Vec<(PathBuf, Option<FileFingerprint>)>,
    watch: io::Result<Watch>,
    state: Arc<ReloadState>,
}

/// Where the configuration is.
#[derive(Debug, Clone)]
enum Search {
    /// In this file, whether it is there or not.
    Fixed(PathBuf),
    /// Wherever it is looked for from a folder.
    From(PathBuf),
}

/// Which files are in force, and whether what they say now is.
#[derive(Debug, Default)]
pub struct ReloadState(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    files: Vec<(PathBuf, Option<FileFingerprint>)>,
    problem: Option<String>,
}

impl ReloadState {
    /// The files that are read, and those that would be if they were there.
    pub fn files(&self) -> Vec<PathBuf> {
        self.known().files.iter().map(|(file, _)| file.clone()).collect()
    }

    /// What is wrong with the files, if they are not in force for that.
    pub fn problem(&self) -> Option<String> {
        self.known().problem.clone()
    }

    /// Whether a file has changed that was not read again yet. Looks at the files.
    pub fn is_reloading(&self) -> bool {
        let files = self.known().files.clone();
        files.iter().any(|(file, known)| fingerprint(file) != *known)
    }

    fn set(&self, files: Vec<(PathBuf, Option<FileFingerprint>)>, problem: Option<String>) {
        *self.known() = Known { files, problem };
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reload {
    /// Watches the files of a configuration from now on. Needs a runtime with sockets.
    pub(crate) fn new(config: &Config) -> Self {
        let search = Search::Fixed(config.file.clone());
        Self::watching(search, vec![config.file.clone()], &config.files)
    }

    /// Watches every file that a configuration found from a folder is or could be made of, whether
    /// there is one yet or not. Needs a runtime with sockets.
    pub(crate) fn searching(here: PathBuf, config: Option<&Config>, environment: Variable) -> Self {
        let layers = config.map(|config| config.layers.clone()).unwrap_or_default();
        let read = config.map(|config| config.files.clone()).unwrap_or_default();
        let files = with_places(read, &here, environment);
        Self::watching(Search::From(here), layers, &files)
    }

    fn watching(search: Search, layers: Vec<PathBuf>, files: &[PathBuf]) -> Self {
        let watch = Watch::new().inspect_err(|error| {
            tracing::warn!(%error, "the configuration cannot be watched; changes are found by polling");
        });
        let files = fingerprints(files);
        let state = Arc::new(ReloadState::default());
        state.set(files.clone(), None);
        let reload = Self { search, layers, files, watch, state };
        reload.watch_folders();
        reload
    }

    /// What is known of the files while this runs.
    pub(crate) fn state(&self) -> Arc<ReloadState> {
        self.state.clone()
    }

    /// Reads the configuration anew whenever one of its files has changed, for as long as this is
    /// polled, and hands it over if it is in order.
    pub(crate) async fn run(mut self, environment: Variable, mut apply: impl FnMut(Config)) {
        let mut tick = tokio::time::interval(LOOK);
        loop {
            self.something(&mut tick).await;
            // A folder that was missing may be there now.
            self.watch_folders();
            let (search, layers) = (self.search.clone(), self.layers.clone());
            let before = self.files.clone();
            // Looking at files may block, and must not hold up calls.
            let looked =
                tokio::task::spawn_blocking(move || look(&search, layers, &before, environment));
            match looked.await {
                Ok(None) => {}
                Ok(Some(news)) => {
                    (self.layers, self.files) = (news.layers, news.files);
                    self.watch_folders();
                    let problem = match news.read {
                        Ok(config) => {
                            apply(*config);
                            None
                        }
                        Err(error) => {
                            tracing::error!(
                                "the configuration is not valid, and the previous one stays in \
                                 force: {error}"
                            );
                            Some(error.to_string())
                        }
                    };
                    self.state.set(self.files.clone(), problem);
                }
                Err(error) => {
                    tracing::error!(%error, "checking the configuration for changes failed");
                }
            }
        }
    }

    /// Waits until a file may have changed.
    async fn something(&self, tick: &mut tokio::time::Interval) {
        let Ok(watch) = &self.watch else {
            tick.tick().await;
            return;
        };
        tokio::select! {
            _ = tick.tick() => {}
            _ = watch.changed() => tokio::time::sleep(SETTLED).await,
        }
    }

    /// Folders are watched, because many editors put a new file in the place of the old one; of a
    /// folder that is not there yet, the one that it will be made in.
    fn watch_folders(&self) {
        let Ok(watch) = &self.watch else { return };
        for (file, _) in &self.files {
            let Some(folder) = file.ancestors().skip(1).find(|it| it.is_dir()) else { continue };
            if let Err(error) = watch.add_one(folder) {
                tracing::debug!(%error, folder = %folder.display(), "a folder cannot be watched");
            }
        }
    }
}

/// What a look at changed files brought.
struct News {
    layers: Vec<PathBuf>,
    files: Vec<(PathBuf, Option<FileFingerprint>)>,
    read: Result<Box<Config>, config::ConfigError>,
}

/// Reads the configuration if one of its files has changed.
fn look(
    search: &Search,
    layers: Vec<PathBuf>,
    before: &[(PathBuf, Option<FileFingerprint>)],
    environment: Variable,
) -> Option<News> {
    let now: Vec<_> = before.iter().map(|(file, _)| (file.clone(), fingerprint(file))).collect();
    if now == before {
        return None;
    }
    let layers = match search {
        Search::Fixed(file) => vec![file.clone()],
        // A file that has gone is most likely being written, and in any case an error to be told.
        Search::From(_) if layers.iter().any(|file| !file.is_file()) => layers,
        Search::From(here) => config::layers(None, &environment, here),
    };
    if layers.is_empty() {
        return None;
    }
    let (files, read) = Config::trace_layers(&layers, &environment);
    let files = match search {
        Search::Fixed(_) => files,
        Search::From(here) => with_places(files, here, environment),
    };
    // Fingerprints from before the reading: a change in the middle of it is then seen by the next look.
    let known = |file: &PathBuf| now.iter().find(|(known, _)| known == file).cloned();
    let files =
        files.into_iter().map(|file| known(&file).unwrap_or_else(|| with_fingerprint(file)));
    Some(News { layers, files: files.collect(), read: read.map(Box::new) })
}

/// These files, and those that would be read if they were there. The file of Erasmus is one only
/// where no other is.
fn with_places(mut files: Vec<PathBuf>, here: &Path, environment: Variable) -> Vec<PathBuf> {
    let places = config::places(&environment, here);
    let erasmus = config::of_erasmus(&environment).filter(|_| !files.is_empty());
    let missing = places.into_iter().filter(|place| Some(place) != erasmus.as_ref());
    let missing: Vec<PathBuf> = missing.filter(|place| !files.contains(place)).collect();
    files.extend(missing);
    files
}

fn fingerprints(files: &[PathBuf]) -> Vec<(PathBuf, Option<FileFingerprint>)> {
    files.iter().cloned().map(with_fingerprint).collect()
}

fn with_fingerprint(file: PathBuf) -> (PathBuf, Option<FileFingerprint>) {
    let fingerprint = fingerprint(&file);
    (file, fingerprint)
}

fn fingerprint(file: &Path) -> Option<FileFingerprint> {
    FileFingerprint::of(file).ok()
}
