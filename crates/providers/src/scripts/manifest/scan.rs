//! The files of a folder that may be tools.

use std::fs::DirEntry;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Manifest, Problem};
use crate::tool_spec::FILE_NAME;

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
