//! The files of a folder that may be tools.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use super::Problem;

/// The most entries of one folder that are looked at.
const MOST_FILES: usize = 10_000;

/// The files that may be tools, sorted: those of the folder, and `tool.json` one level below.
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
    let mut files: Vec<PathBuf> = shown.iter().filter_map(|it| candidate(it, &root)).collect();
    files.sort();
    files
}

/// The file of one entry that may be a tool. Links out of the folder are passed over, since
/// whoever named the folder has not named what they lead to.
fn candidate(entry: &DirEntry, root: &Path) -> Option<PathBuf> {
    let path = entry.path();
    let kind = entry.file_type().ok()?;
    if kind.is_symlink() && !stays_in(&path, root) {
        return None;
    }
    if !kind.is_dir() && !path.is_dir() {
        return Some(path);
    }
    let inside = path.join("tool.json");
    let is_link = inside.symlink_metadata().ok()?.is_symlink();
    (!is_link || stays_in(&inside, root)).then_some(inside)
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn stays_in(path: &Path, root: &Path) -> bool {
    path.canonicalize().is_ok_and(|target| target.starts_with(root))
}
