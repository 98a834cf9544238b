//! The folders of tools. A file is read again only when it has changed, so that a look at
//! thousands of tools costs little more than asking for their times.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::manifest::{self, Manifest, Problem, candidates, read_file, unregistered};
use crate::file_fingerprint::FileFingerprint;

/// How long what a file says is kept without reading it again, unless its tools say otherwise.
const CACHE_TTL: Duration = Duration::from_secs(300);

/// The folders, and what was read from their files so far.
#[derive(Debug)]
pub(crate) struct Folders {
    folders: Vec<PathBuf>,
    read: HashMap<PathBuf, Page>,
    /// What the last look brought.
    latest: Reading,
}

/// What the folders hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    /// The tools that are in order, in the order of their files. Those that did not change are
    /// the same as before.
    pub(crate) manifests: Vec<Arc<Manifest>>,
    /// What is wrong with the others.
    pub(crate) problems: Vec<Problem>,
}

/// What one file held.
#[derive(Debug)]
struct Page {
    /// None if the file could not be looked at.
    fingerprint: Option<FileFingerprint>,
    manifests: Vec<Arc<Manifest>>,
    problems: Vec<Problem>,
    /// When it was read.
    read: Instant,
}

impl Folders {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, read: HashMap::new(), latest: Reading::default() }
    }

    /// Looks at these folders from the next look on.
    pub(crate) fn replace(&mut self, folders: Vec<PathBuf>) {
        self.folders = folders;
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.folders
    }

    /// What the last look brought.
    pub(crate) fn latest(&self) -> &Reading {
        &self.latest
    }

    /// Looks at the folders; tells whether anything has changed since the last look.
    pub(crate) fn look(&mut self) -> bool {
        let mut problems = Vec::new();
        let files = self.folders.iter().flat_map(|folder| candidates(folder, &mut problems));
        let files: Vec<PathBuf> = files.collect();
        let mut pages = HashMap::with_capacity(files.len());
        let mut reading = Reading { manifests: Vec::with_capacity(files.len()), problems };
        for file in &files {
            let page = self.page(file);
            reading.manifests.extend(page.manifests.iter().cloned());
            reading.problems.extend(page.problems.iter().cloned());
            pages.insert(file.clone(), page);
        }
        reading.problems.extend(unregistered(&files, &reading.manifests));
        let warnings = reading.manifests.iter().flat_map(|it| it.warnings.iter().cloned());
        reading.problems.extend(warnings);
        self.read = pages;
        let changed = !self.latest.same(&reading);
        self.latest = reading;
        changed
    }

    /// What a file holds: from the last look, if nothing happened to it. What was wrong with a
    /// file may have been mended elsewhere, so such a file is read each time.
    fn page(&mut self, file: &Path) -> Page {
        let Ok(fingerprint) = FileFingerprint::of(file).map(Some) else {
            return Page::read(file, None);
        };
        let kept = self.read.remove(file);
        let kept = kept.filter(|page| page.fingerprint == fingerprint && page.problems.is_empty());
        match kept.filter(Page::programs_are_there) {
            Some(page) if page.is_fresh() => page,
            Some(page) => page.read_again(file, fingerprint),
            None => Page::read(file, fingerprint),
        }
    }
}

impl Page {
    fn read(file: &Path, fingerprint: Option<FileFingerprint>) -> Self {
        let (manifests, problems) = (Vec::new(), Vec::new());
        let mut page = Self { fingerprint, manifests, problems, read: Instant::now() };
        for read in read_file(file, &|name| std::env::var(name).ok()) {
            match read {
                Ok(manifest) => page.manifests.push(Arc::new(manifest)),
                Err(problem) => page.problems.push(problem),
            }
        }
        page
    }

    /// Whether what was read may be kept for now: for as long as its tools say, or the usual time.
    fn is_fresh(&self) -> bool {
        let least = self.manifests.iter().filter_map(|it| it.cache_ttl()).min();
        self.read.elapsed() < least.unwrap_or(CACHE_TTL)
    }

    /// Reads the file again. If it says the same, the tools stay what they are.
    fn read_again(self, file: &Path, fingerprint: Option<FileFingerprint>) -> Self {
        let page = Self::read(file, fingerprint);
        match page.manifests == self.manifests && page.problems.is_empty() {
            true => Self { read: page.read, ..self },
            false => page,
        }
    }

    fn programs_are_there(&self) -> bool {
        self.manifests.iter().all(|manifest| manifest::is_runnable(manifest))
    }
}

impl Reading {
    fn same(&self, other: &Self) -> bool {
        let pairs = self.manifests.iter().zip(&other.manifests);
        self.manifests.len() == other.manifests.len()
            && pairs.into_iter().all(|(one, two)| Arc::ptr_eq(one, two) || one == two)
            && self.problems == other.problems
    }
}

#[cfg(test)]
mod tests;
