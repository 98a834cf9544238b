//! The files of one root as they are listed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gantry_files::{FileKind, FileStatus, RelativePath, Root, ScanOptions};
use gantry_gateway::ResourceEntry;

use super::entry;

/// Files whose change means that others may be listed.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// The listed files of a root.
#[derive(Debug, Default)]
pub(super) struct Index {
    files: BTreeMap<RelativePath, Listed>,
    folders: BTreeSet<RelativePath>,
    /// What is worth knowing of the last scan, for the log.
    note: String,
}

#[derive(Debug)]
struct Listed {
    status: FileStatus,
    entry: Arc<ResourceEntry>,
    /// The status that the entry shows.
    shown: FileStatus,
}

/// What a look at files found out.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Whether other files are listed than before.
    pub(super) list: bool,
    /// Files whose content changed, listed or not.
    pub(super) files: BTreeSet<RelativePath>,
}

impl Index {
    pub(super) fn count(&self) -> usize {
        self.files.len()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Arc<ResourceEntry>> {
        self.files.values().map(|listed| listed.entry.clone())
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &RelativePath> {
        self.folders.iter()
    }

    pub(super) fn note(&self) -> &String {
        &self.note
    }

    /// Paths that begin with what was typed, and how many there are.
    pub(super) fn beginning_with(&self, typed: &str, most: usize) -> (Vec<String>, usize) {
        let first = RelativePath::new(typed).ok();
        let from = |path: &&RelativePath| path.as_bytes().starts_with(typed.as_bytes());
        let all: Box<dyn Iterator<Item = &RelativePath>> = match first {
            Some(first) => {
                Box::new(self.files.range(first..).map(|(path, _)| path).take_while(from))
            }
            // Nothing yet, or a folder with its `/`, which is no path.
            None => Box::new(self.files.keys().filter(from)),
        };
        let mut total = 0;
        let counted = all.inspect(|_| total += 1);
        let mut values = Vec::new();
        counted.for_each(|path| {
            if values.len() < most {
                values.push(path.to_string());
            }
        });
        (values, total)
    }

    /// Looks at everything.
    pub(super) fn rescan(&mut self, root: &Root, options: &ScanOptions) -> Changed {
        let mut changed = Changed::default();
        let scan = match root.scan(None, options, || true) {
            Ok(scan) => scan,
            Err(error) => {
                // Nothing is listed that cannot be read.
                changed.list = !self.files.is_empty();
                changed.files = std::mem::take(&mut self.files).into_keys().collect();
                self.folders.clear();
                self.note = format!("{error}");
                return changed;
            }
        };
        let mut before = std::mem::take(&mut self.files);
        for found in scan.files {
            match before.remove(&found.path) {
                Some(known) if known.status == found.status => {
                    self.files.insert(found.path, known);
                }
                known => {
                    changed.list |= known.is_none();
                    changed.files.insert(found.path.clone());
                    self.insert(root, found.path, found.status, known);
                }
            }
        }
        changed.list |= !before.is_empty();
        changed.files.extend(before.into_keys());
        self.folders = scan.folders.into_iter().collect();
        self.note = match (scan.is_cut, scan.unreadable) {
            (true, _) => format!(
                "only {} files are listed; raise `resources.maxFiles`, or exclude some in .gitignore",
                self.files.len()
            ),
            (false, 0) => String::new(),
            (false, number) => format!("{number} folders cannot be read"),
        };
        changed
    }

    /// Looks at what the kernel named.
    pub(super) fn look_at(
        &mut self,
        root: &Root,
        options: &ScanOptions,
        paths: &BTreeSet<RelativePath>,
    ) -> Changed {
        let is_rule = |path: &RelativePath| RULES.iter().any(|name| path.split().1 == *name);
        if paths.iter().any(is_rule) || self.files.len() >= options.max_files {
            return self.rescan(root, options);
        }
        let mut changed = Changed::default();
        for path in paths {
            match root.status(path) {
                Ok(status) if status.kind == FileKind::File => {
                    changed.files.insert(path.clone());
                    if root.is_listed(path, options) {
                        let known = self.files.remove(path);
                        changed.list |= known.is_none();
                        self.insert(root, path.clone(), status, known);
                    }
                }
                // A new folder may hold files already that nobody reported.
                Ok(status) if status.kind == FileKind::Folder => {
                    if !self.folders.contains(path) {
                        return self.rescan(root, options);
                    }
                }
                _ => self.remove(path, &mut changed),
            }
        }
        changed
    }

    /// Takes away a file, or all that was in a folder.
    fn remove(&mut self, path: &RelativePath, changed: &mut Changed) {
        if self.files.remove(path).is_some() {
            changed.list = true;
        }
        changed.files.insert(path.clone());
        let is_below = |other: &RelativePath| {
            other
                .as_bytes()
                .strip_prefix(path.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"/"))
        };
        if self.folders.remove(path) {
            self.folders.retain(|folder| !is_below(folder));
            let below: Vec<_> = self.files.keys().filter(|file| is_below(file)).cloned().collect();
            changed.list |= !below.is_empty();
            for file in below {
                self.files.remove(&file);
                changed.files.insert(file);
            }
        }
    }

    /// Shows the size and time of all files as they are now. Only done where the list is another anyway: with
    /// each save they would make a new list, which every client would fetch.
    pub(super) fn refresh(&mut self, root: &Root) {
        let stale = self.files.iter_mut().filter(|(_, listed)| listed.shown != listed.status);
        for (path, listed) in stale {
            if let Ok(entry) = entry::resource(root, path, &listed.status) {
                (listed.entry, listed.shown) = (entry, listed.status);
            }
        }
    }

    fn insert(
        &mut self,
        root: &Root,
        path: RelativePath,
        status: FileStatus,
        known: Option<Listed>,
    ) {
        let listed = match known {
            Some(known) => Ok(Listed { status, ..known }),
            None => entry::resource(root, &path, &status).map(|entry| Listed {
                status,
                entry,
                shown: status,
            }),
        };
        match listed {
            Ok(listed) => drop(self.files.insert(path, listed)),
            Err(error) => tracing::debug!(%path, %error, "a file is not listed"),
        }
    }
}
