//! Puts a configuration in force again when one of its files is saved. A broken file changes
//! nothing: what is wrong is logged with its place, and what was in force stays so.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gantry_providers::tools::Watch;

use crate::config::Config;

/// Saving a file makes several changes; they are looked at together.
const SETTLED: Duration = Duration::from_millis(100);

/// How often the files are looked at when nothing is heard of them.
const LOOK: Duration = Duration::from_secs(5);

/// Finds the value of a variable.
pub type Variable = fn(&str) -> Option<String>;

/// The files of a configuration, watched.
#[derive(Debug)]
pub struct Reload {
    /// Where the configuration may be; the first that is there counts.
    places: Vec<PathBuf>,
    /// All that it is made of.
    files: Vec<(PathBuf, Option<Stamp>)>,
    watch: io::Result<Watch>,
}

/// Tells whether a file is still the same: size, times and number.
type Stamp = (u64, (i64, i64), (i64, i64), u64);

impl Reload {
    /// Watches the files of a configuration from now on. Needs a runtime with sockets.
    pub fn new(config: &Config) -> Self {
        Self::watching(vec![config.file.clone()], &config.files)
    }

    /// Waits for a configuration where there is none yet, in the first of these places that gets
    /// one. Needs a runtime with sockets.
    pub fn awaiting(places: Vec<PathBuf>) -> Self {
        let files = places.clone();
        Self::watching(places, &files)
    }

    fn watching(places: Vec<PathBuf>, files: &[PathBuf]) -> Self {
        let watch = Watch::new().inspect_err(|error| {
            tracing::warn!(%error, "changes of the configuration are seen only now and then");
        });
        let reload = Self { places, files: stamped(files), watch };
        reload.watch_folders();
        reload
    }

    /// Reads the configuration anew whenever one of its files has changed, for as long as this is
    /// polled, and hands it over if it is in order.
    pub async fn run(mut self, environment: Variable, mut apply: impl FnMut(Config)) {
        let mut tick = tokio::time::interval(LOOK);
        loop {
            self.something(&mut tick).await;
            let (places, before) = (self.places.clone(), self.files.clone());
            // Looking at files may block, and must not hold up calls.
            let looked = tokio::task::spawn_blocking(move || look(&places, &before, environment));
            match looked.await {
                Ok(None) => {}
                Ok(Some(news)) => {
                    (self.places, self.files) = (vec![news.place], news.files);
                    self.watch_folders();
                    match news.read {
                        Ok(config) => apply(*config),
                        Err(error) => tracing::error!(
                            "the configuration is not in order, and what was in force stays so: {error}"
                        ),
                    }
                }
                Err(error) => tracing::error!(%error, "looking at the configuration failed"),
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

    /// Folders are watched, because many editors put a new file in the place of the old one.
    fn watch_folders(&self) {
        let Ok(watch) = &self.watch else { return };
        for folder in self.files.iter().filter_map(|(file, _)| file.parent()) {
            if let Err(error) = watch.add_one(folder) {
                tracing::debug!(%error, folder = %folder.display(), "a folder cannot be watched");
            }
        }
    }
}

/// What a look at changed files brought.
struct News {
    place: PathBuf,
    files: Vec<(PathBuf, Option<Stamp>)>,
    read: Result<Box<Config>, crate::config::ConfigError>,
}

/// Reads the configuration if one of its files has changed.
fn look(
    places: &[PathBuf],
    before: &[(PathBuf, Option<Stamp>)],
    environment: Variable,
) -> Option<News> {
    let now: Vec<_> = before.iter().map(|(file, _)| (file.clone(), stamp(file))).collect();
    if now == before {
        return None;
    }
    let place = match places {
        [only] => only.clone(),
        many => many.iter().find(|place| place.is_file())?.clone(),
    };
    let (files, read) = Config::trace(&place, &environment);
    // Stamps from before the reading: a change in the middle of it is then seen by the next look.
    let known = |file: &PathBuf| now.iter().find(|(known, _)| known == file).cloned();
    let files = files.into_iter().map(|file| known(&file).unwrap_or_else(|| with_stamp(file)));
    Some(News { place, files: files.collect(), read: read.map(Box::new) })
}

fn stamped(files: &[PathBuf]) -> Vec<(PathBuf, Option<Stamp>)> {
    files.iter().cloned().map(with_stamp).collect()
}

fn with_stamp(file: PathBuf) -> (PathBuf, Option<Stamp>) {
    let stamp = stamp(&file);
    (file, stamp)
}

fn stamp(file: &Path) -> Option<Stamp> {
    let it = file.metadata().ok()?;
    Some((it.len(), (it.mtime(), it.mtime_nsec()), (it.ctime(), it.ctime_nsec()), it.ino()))
}

#[cfg(test)]
mod tests;
