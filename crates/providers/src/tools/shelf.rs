//! What the folders held when they were last looked at.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gantry_gateway::{Listing, ToolEntry};

use super::ToolSettings;
use super::manifest::{self, Manifest, Problem};

/// What the folders held when they were last looked at.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) tools: HashMap<String, (Arc<ToolEntry>, Arc<Manifest>)>,
    pub(super) problems: Vec<Problem>,
    /// Changes when a file does.
    pub(super) fingerprint: u64,
}

impl Shelf {
    /// Reads every tool of the folders. One that is not in order takes nothing else down.
    pub(super) fn read(folders: &[PathBuf], settings: &ToolSettings) -> Self {
        let fingerprint = fingerprint(folders);
        let mut shelf = Self { tools: HashMap::new(), problems: Vec::new(), fingerprint };
        for folder in folders {
            let (manifests, problems) = manifest::scan(folder, &|name| std::env::var(name).ok());
            shelf.problems.extend(problems);
            for manifest in manifests {
                shelf.add(manifest, settings);
            }
        }
        shelf
    }

    fn add(&mut self, manifest: Manifest, settings: &ToolSettings) {
        let complain = |message: String, advice: &str| Problem {
            file: manifest.source.clone(),
            line: None,
            message,
            advice: advice.to_owned(),
        };
        if self.tools.contains_key(&manifest.name) {
            let message = format!("another tool is called `{}`", manifest.name);
            self.problems.push(complain(message, "give one of them another name"));
            return;
        }
        match ToolEntry::new(manifest.definition()) {
            Ok(mut entry) => {
                // The program's own time limit comes first, so that it can be asked to end.
                let timeout = manifest.timeout.unwrap_or(settings.timeout);
                entry.timeout = Some(timeout + settings.child.grace * 2);
                let tool = (Arc::new(entry), Arc::new(manifest));
                self.tools.insert(tool.1.name.clone(), tool);
            }
            Err(error) => self.problems.push(complain(error.to_string(), "correct the definition")),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Manifest>> {
        self.tools.get(name).map(|(_, manifest)| manifest.clone())
    }

    pub(super) fn listing(&self) -> Listing {
        let tools = self.tools.values().map(|(entry, _)| entry.clone()).collect();
        Listing { tools, ..Listing::default() }
    }
}

/// A number that changes when a file in the folders, or in a folder right below, does.
pub(super) fn fingerprint(folders: &[PathBuf]) -> u64 {
    let mut hash = DefaultHasher::new();
    for folder in folders {
        add_folder(&mut hash, folder, true);
    }
    hash.finish()
}

fn add_folder(hash: &mut DefaultHasher, folder: &Path, deeper: bool) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let Ok(metadata) = entry.metadata() else { continue };
        entry.path().hash(hash);
        metadata.len().hash(hash);
        metadata.modified().ok().hash(hash);
        // Moves with `chmod` too, which is what a program that is not executable waits for.
        (metadata.ctime(), metadata.ctime_nsec()).hash(hash);
        if deeper && metadata.is_dir() {
            add_folder(hash, &entry.path(), false);
        }
    }
}
