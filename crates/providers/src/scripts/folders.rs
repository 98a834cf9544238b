//! Scans tool folders: finds the files that may be tools, and reads those that changed since the
//! last scan. Comparing fingerprints keeps a scan of thousands of tools cheap.

use std::collections::HashMap;
use std::fs::DirEntry;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::manifest;
use super::manifest::{Manifest, Problem, read_file};
use crate::file_fingerprint::FileFingerprint;
use crate::tool_spec::FILE_NAME;

/// How long what a file says is kept without reading it again, unless its tools say otherwise.
const CACHE_TTL: Duration = Duration::from_secs(300);

/// The folders, and what was read from their files so far.
#[derive(Debug)]
pub(crate) struct Folders {
    folders: Vec<PathBuf>,
    read: HashMap<PathBuf, CachedFile>,
    /// What the last look brought.
    latest: ScanResult,
}

/// What the folders hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScanResult {
    /// The valid tools, in the order of their files. Those that did not change are
    /// the same as before.
    pub(crate) manifests: Vec<Arc<Manifest>>,
    /// What is wrong with the others.
    pub(crate) problems: Vec<Problem>,
}

/// What one file held.
#[derive(Debug)]
struct CachedFile {
    /// None if the file could not be looked at.
    fingerprint: Option<FileFingerprint>,
    manifests: Vec<Arc<Manifest>>,
    problems: Vec<Problem>,
    /// When it was read.
    read: Instant,
}

impl Folders {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, read: HashMap::new(), latest: ScanResult::default() }
    }

    /// Looks at these folders from the next look on.
    pub(crate) fn replace(&mut self, folders: Vec<PathBuf>) {
        self.folders = folders;
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.folders
    }

    /// What the last look brought.
    pub(crate) fn latest(&self) -> &ScanResult {
        &self.latest
    }

    /// Looks at the folders; tells whether anything has changed since the last look.
    pub(crate) fn scan(&mut self) -> bool {
        let mut problems = Vec::new();
        let files = self.folders.iter().flat_map(|folder| candidates(folder, &mut problems));
        let files: Vec<PathBuf> = files.collect();
        let mut cached_files = HashMap::with_capacity(files.len());
        let mut scan = ScanResult { manifests: Vec::with_capacity(files.len()), problems };
        for file in &files {
            let cached_file = self.cached_file(file);
            scan.manifests.extend(cached_file.manifests.iter().cloned());
            scan.problems.extend(cached_file.problems.iter().cloned());
            cached_files.insert(file.clone(), cached_file);
        }
        scan.problems.extend(unregistered(&files, &scan.manifests));
        let warnings = scan.manifests.iter().flat_map(|it| it.warnings.iter().cloned());
        scan.problems.extend(warnings);
        self.read = cached_files;
        let changed = !self.latest.same(&scan);
        self.latest = scan;
        changed
    }

    /// What a file holds: from the last look, if nothing happened to it. What was wrong with a
    /// file may have been mended elsewhere, so such a file is read each time.
    fn cached_file(&mut self, file: &Path) -> CachedFile {
        let Ok(fingerprint) = FileFingerprint::of(file).map(Some) else {
            return CachedFile::read(file, None);
        };
        let kept = self.read.remove(file);
        let kept = kept.filter(|cached_file| {
            cached_file.fingerprint == fingerprint && cached_file.problems.is_empty()
        });
        match kept.filter(CachedFile::programs_are_there) {
            Some(cached_file) if cached_file.is_fresh() => cached_file,
            Some(cached_file) => cached_file.read_again(file, fingerprint),
            None => CachedFile::read(file, fingerprint),
        }
    }
}

impl CachedFile {
    fn read(file: &Path, fingerprint: Option<FileFingerprint>) -> Self {
        let (manifests, problems) = (Vec::new(), Vec::new());
        let mut cached_file = Self { fingerprint, manifests, problems, read: Instant::now() };
        for read in read_file(file, &|name| std::env::var(name).ok()) {
            match read {
                Ok(manifest) => cached_file.manifests.push(Arc::new(manifest)),
                Err(problem) => cached_file.problems.push(problem),
            }
        }
        cached_file
    }

    /// Whether what was read may be kept for now: for as long as its tools say, or the usual time.
    fn is_fresh(&self) -> bool {
        let least = self.manifests.iter().filter_map(|it| it.cache_ttl()).min();
        self.read.elapsed() < least.unwrap_or(CACHE_TTL)
    }

    /// Reads the file again. If it says the same, the tools stay what they are.
    fn read_again(self, file: &Path, fingerprint: Option<FileFingerprint>) -> Self {
        let cached_file = Self::read(file, fingerprint);
        match cached_file.manifests == self.manifests && cached_file.problems.is_empty() {
            true => Self { read: cached_file.read, ..self },
            false => cached_file,
        }
    }

    fn programs_are_there(&self) -> bool {
        self.manifests.iter().all(|manifest| manifest::is_runnable(manifest))
    }
}

impl ScanResult {
    fn same(&self, other: &Self) -> bool {
        let pairs = self.manifests.iter().zip(&other.manifests);
        self.manifests.len() == other.manifests.len()
            && pairs.into_iter().all(|(one, two)| Arc::ptr_eq(one, two) || one == two)
            && self.problems == other.problems
    }
}

/// The most entries of one folder that are looked at.
const MOST_FILES: usize = 10_000;

/// The files that may be tools, sorted: those of the folder, and `tool.json` and the specification
/// document one level below.
pub(crate) fn candidates(folder: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
    let opened = folder.canonicalize().and_then(|root| Ok((folder.read_dir()?, root)));
    let (entries, root) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let text = format!("the folder cannot be read: {error}");
            problems.push(Problem::new(folder, None, text, "create it, or name another"));
            return Vec::new();
        }
    };
    let shown = entries.flatten().filter(|entry| !is_hidden(entry));
    let mut shown: Vec<DirEntry> = shown.take(MOST_FILES + 1).collect();
    if shown.len() > MOST_FILES {
        shown.truncate(MOST_FILES);
        let text = format!("the folder has more than {MOST_FILES} files; some were not looked at");
        problems.push(Problem::new(folder, None, text, "spread the tools over several folders"));
    }
    let mut files: Vec<PathBuf> = shown.iter().flat_map(|it| candidate(it, &root)).collect();
    files.sort();
    files
}

/// The files of one entry that may be tools. Links out of the folder are passed over, since
/// whoever named the folder has not named what they lead to.
fn candidate(entry: &DirEntry, root: &Path) -> Vec<PathBuf> {
    let path = entry.path();
    let Ok(kind) = entry.file_type() else { return Vec::new() };
    if kind.is_symlink() && !stays_in(&path, root) {
        return Vec::new();
    }
    if !kind.is_dir() && !path.is_dir() {
        return vec![path];
    }
    let inside = ["tool.json", FILE_NAME].map(|name| path.join(name));
    let fits = |path: &PathBuf| match path.symlink_metadata() {
        Ok(found) => !found.is_symlink() || stays_in(path, root),
        Err(_) => false,
    };
    inside.into_iter().filter(fits).collect()
}

/// The programs of a folder that no manifest is about, given its files and the tools that are known.
pub(crate) fn unregistered(files: &[PathBuf], known: &[Arc<Manifest>]) -> Vec<Problem> {
    let is_used = |file: &Path| {
        known.iter().any(|tool| {
            let mut args = tool.args.iter().map(|it| tool.directory.join(it));
            tool.command == file || tool.source == file || args.any(|it| it == *file)
        })
    };
    let report = |file: &PathBuf| {
        let name = file.file_name()?.to_str()?;
        let stem = file.file_stem()?.to_str()?;
        let is_described = |other: &PathBuf| {
            let other = other.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            let of = other.strip_suffix(".tool.json");
            of.is_some_and(|of| of == name || of == stem)
        };
        let is_meant = !name.ends_with(".tool.json") && name != "tool.json" && name != FILE_NAME;
        if !is_meant || files.iter().any(is_described) || !is_program(file) || is_used(file) {
            return None;
        }
        let text = "this program is in a folder of tools, but nothing describes it";
        let advice = match name.ends_with(".py") {
            true => "add a `[tool.gantry]` table to its script block; `gantry tools new python \
                     NAME` writes an example"
                .to_owned(),
            false => format!("write {name}.tool.json beside it, or move it out of the folder"),
        };
        Some(Problem::new(file, None, text, advice).into_warning())
    };
    files.iter().filter_map(report).collect()
}

/// Whether a file can be started: it is executable, or begins like a script.
fn is_program(file: &Path) -> bool {
    let Ok(found) = file.metadata() else { return false };
    if !found.is_file() {
        return false;
    }
    let mut start = [0; 2];
    let read = std::fs::File::open(file).and_then(|mut it| it.read_exact(&mut start));
    found.permissions().mode() & 0o111 != 0 || (read.is_ok() && start == *b"#!")
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn stays_in(path: &Path, root: &Path) -> bool {
    path.canonicalize().is_ok_and(|target| target.starts_with(root))
}

#[cfg(test)]
mod tests;
