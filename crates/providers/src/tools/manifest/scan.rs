//! The files of a folder that may be tools.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use super::super::specification::FILE_NAME;
use super::Problem;

/// The most entries of one folder that are looked at.
const MOST_FILES: usize = 10_000;

/// The files that may be tools, sorted: those of the folder, and `tool.json` and the specification
/// document one level below.
pub(in crate::tools) fn candidates(folder: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
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

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn stays_in(path: &Path, root: &Path) -> bool {
    path.canonicalize().is_ok_and(|target| target.starts_with(root))
}
