//! What is met on the way while files are read.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use gantry_client::Secret;

/// A value shorter than this is not worth hiding: it would be hidden everywhere.
const SHORTEST: usize = 4;

/// What was met in all files so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) files: RefCell<Vec<PathBuf>>,
    pub(super) secrets: RefCell<Vec<Secret>>,
    pub(super) warnings: RefCell<Vec<String>>,
    pub(super) notes: RefCell<Vec<String>>,
}

impl Gathered {
    /// Remembers a file, because a change of it changes the configuration. False if it was known.
    pub(super) fn touch(&self, file: &Path) -> bool {
        let mut files = self.files.borrow_mut();
        let is_new = !files.iter().any(|known| known == file);
        if is_new {
            files.push(file.to_owned());
        }
        is_new
    }

    /// Remembers a value that came from elsewhere, so that it is not shown.
    pub(super) fn keep_secret(&self, value: &str) {
        let mut secrets = self.secrets.borrow_mut();
        if value.len() >= SHORTEST && !secrets.iter().any(|known| known.expose() == value) {
            secrets.push(Secret::new(value));
        }
    }

    /// Tells of something that is most likely not meant.
    pub(super) fn warn(&self, text: String) {
        self.warnings.borrow_mut().push(text);
    }

    /// Tells of something that has no meaning here.
    pub(super) fn note(&self, text: String) {
        self.notes.borrow_mut().push(text);
    }
}
