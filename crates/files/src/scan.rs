//! Lists the files below a root, by the rules of `.gitignore` and `.ignore`. Folders are opened from the
//! root's descriptor as files are, so that a folder that is exchanged for a link leads nowhere.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::Dir;

use crate::error::FileError;
use crate::path::RelativePath;
use crate::root::{FileKind, FileStatus, Root};
use crate::write::{TEMPORARY, TRASH};

/// The largest file of rules that is read.
const RULES_LIMIT: u64 = 1024 * 1024;
/// Files of rules; a later one decides against an earlier one.
const RULES: [&str; 2] = [".gitignore", ".ignore"];
/// The folder of git itself, which no rule names and nobody means.
const GIT: &str = ".git";

/// What to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanOptions {
    /// Files and folders whose name begins with a dot too.
    pub hidden: bool,
    /// Obey `.gitignore` and `.ignore`.
    pub ignore_files: bool,
    /// How many files at most.
    pub max_files: usize,
    /// How many folders deep at most.
    pub max_depth: usize,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { hidden: false, ignore_files: true, max_files: 100_000, max_depth: 64 }
    }
}

/// What a scan found.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// The files, in no order.
    pub files: Vec<ScannedFile>,
    /// The folders that were looked into, without the root.
    pub folders: Vec<RelativePath>,
    /// Whether there are more than were to be listed.
    pub is_cut: bool,
    /// How many folders could not be read.
    pub unreadable: usize,
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedFile {
    /// Where it is.
    pub path: RelativePath,
    /// Its status, of the file it leads to if it is a link.
    pub status: FileStatus,
}

/// A folder to look into.
struct Pending {
    path: Option<RelativePath>,
    /// The rules of the folders above, the nearest last.
    rules: Vec<Arc<Gitignore>>,
    depth: usize,
}

impl Root {
    /// Lists what is below a folder, or below the root. `proceed` is asked with each folder and ends the scan
    /// with false.
    pub fn scan(
        &self,
        folder: Option<&RelativePath>,
        options: &ScanOptions,
        mut proceed: impl FnMut() -> bool,
    ) -> Result<Scan, FileError> {
        let mut scan = Scan::default();
        let first =
            Pending { path: folder.cloned(), rules: self.rules_above(folder, options), depth: 0 };
        let mut pending = vec![first];
        while let Some(next) = pending.pop() {
            if !proceed() || scan.is_cut {
                break;
            }
            let is_first = next.depth == 0;
            match self.scan_folder(next, options, &mut scan, &mut pending) {
                Err(error) if is_first => return Err(error),
                Err(_) => scan.unreadable += 1,
                Ok(()) => {}
            }
        }
        Ok(scan)
    }

    /// Whether a scan would list this file, by its name and the rules above it.
    pub fn is_listed(&self, path: &RelativePath, options: &ScanOptions) -> bool {
        let is_hidden = !options.hidden && path.is_hidden();
        let mut above = Vec::new();
        let mut next = path.split().0;
        while let Some(folder) = next {
            next = folder.split().0;
            above.push(folder);
        }
        let is_ignored = |path: &RelativePath, is_folder| {
            let parent = path.split().0;
            let mut rules = self.rules_above(parent.as_ref(), options);
            rules.extend(self.rules_in(parent.as_ref(), options));
            is_own(path.split().1) || ignored(&rules, path, is_folder)
        };
        !is_hidden
            && above.len() <= options.max_depth
            && !above.iter().any(|folder| is_ignored(folder, true))
            && !is_ignored(path, false)
    }

    fn scan_folder(
        &self,
        folder: Pending,
        options: &ScanOptions,
        scan: &mut Scan,
        pending: &mut Vec<Pending>,
    ) -> Result<(), FileError> {
        let mut rules = folder.rules;
        rules.extend(self.rules_in(folder.path.as_ref(), options));
        let descriptor = self.open_folder(folder.path.as_ref())?;
        for entry in Dir::read_from(&descriptor)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            // `.` and `..`, and names that make too long a path.
            let Ok(path) = RelativePath::join(folder.path.as_ref(), name) else { continue };
            if is_own(name) || (!options.hidden && name.as_bytes().starts_with(b".")) {
                continue;
            }
            // Gone meanwhile, or a link that leads out or nowhere.
            let Ok(status) = self.status(&path) else { continue };
            let is_link = entry.file_type() == rustix::fs::FileType::Symlink;
            let is_folder = status.kind == FileKind::Folder;
            if ignored(&rules, &path, is_folder) {
                continue;
            }
            match status.kind {
                // A link to a folder may lead to one above it.
                FileKind::Folder if !is_link && folder.depth < options.max_depth => {
                    let rules = rules.clone();
                    scan.folders.push(path.clone());
                    pending.push(Pending { path: Some(path), rules, depth: folder.depth + 1 });
                }
                FileKind::File if scan.files.len() >= options.max_files => {
                    scan.is_cut = true;
                    return Ok(());
                }
                FileKind::File => scan.files.push(ScannedFile { path, status }),
                _ => {}
            }
        }
        Ok(())
    }

    /// The rules of the folders above one, the nearest last.
    fn rules_above(
        &self,
        folder: Option<&RelativePath>,
        options: &ScanOptions,
    ) -> Vec<Arc<Gitignore>> {
        let Some(folder) = folder else { return Vec::new() };
        let parent = folder.split().0;
        let mut rules = self.rules_above(parent.as_ref(), options);
        rules.extend(self.rules_in(parent.as_ref(), options));
        rules
    }

    /// The rules in a folder, if it has any.
    fn rules_in(
        &self,
        folder: Option<&RelativePath>,
        options: &ScanOptions,
    ) -> Option<Arc<Gitignore>> {
        if !options.ignore_files {
            return None;
        }
        let above = folder.map_or(std::path::Path::new(""), RelativePath::as_path);
        let mut builder = GitignoreBuilder::new(above);
        let mut is_empty = true;
        for name in RULES {
            let Ok(path) = RelativePath::join(folder, OsStr::new(name)) else { continue };
            let Ok((file, _)) = self.open_file(&path) else { continue };
            let mut text = Vec::new();
            if file.take(RULES_LIMIT).read_to_end(&mut text).is_err() {
                continue;
            }
            for line in String::from_utf8_lossy(&text).lines() {
                // A line that is no rule concerns no file, as in git.
                let _ = builder.add_line(None, line);
                is_empty = false;
            }
        }
        if is_empty { None } else { builder.build().ok().map(Arc::new) }
    }
}

/// What belongs to git or to this crate.
fn is_own(name: &OsStr) -> bool {
    name == GIT || name == TRASH || name.as_bytes().starts_with(TEMPORARY.as_bytes())
}

/// Whether the nearest rule that says something of a path excludes it.
fn ignored(rules: &[Arc<Gitignore>], path: &RelativePath, is_folder: bool) -> bool {
    let decided = rules.iter().rev().map(|rules| rules.matched(path.as_path(), is_folder));
    let mut decided = decided.filter(|decision| !decision.is_none());
    matches!(decided.next(), Some(Match::Ignore(_)))
}
