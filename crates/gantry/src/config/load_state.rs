//! What is met on the way while files are read.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use gantry_client::Secret;
use gantry_protocol::redact::is_open_variable;

/// What was met in all files so far.
#[derive(Debug, Default)]
pub(super) struct LoadState {
    pub(super) files: RefCell<Vec<PathBuf>>,
    pub(super) secrets: RefCell<Vec<Secret>>,
    pub(super) warnings: RefCell<Vec<String>>,
    pub(super) notes: RefCell<Vec<String>>,
}

impl LoadState {
    /// Remembers a file, because a change of it changes the configuration. False if it was known.
    pub(super) fn touch(&self, file: &Path) -> bool {
        let mut files = self.files.borrow_mut();
        let is_new = !files.iter().any(|known| known == file);
        if is_new {
            files.push(file.to_owned());
        }
        is_new
    }

    /// Remembers a value that a reference stood for, so that it is not shown.
    pub(super) fn keep_secret(&self, value: &str) {
        add(&mut self.secrets.borrow_mut(), Secret::new(value));
    }

    /// Remembers the value of a variable that a reference stood for, unless the variable is one of
    /// those that everyone has and nobody hides.
    pub(super) fn keep_variable(&self, name: &str, value: &str) {
        if !is_open_variable(name) {
            self.keep_secret(value);
        }
    }

    /// Reads a part of the configuration, and gives the values of the references in it too.
    pub(super) fn collect<T>(&self, read: impl FnOnce() -> T) -> (T, Vec<Secret>) {
        let outer = self.secrets.take();
        let done = read();
        let own = self.secrets.replace(outer);
        let mut secrets = self.secrets.borrow_mut();
        own.iter().for_each(|secret| add(&mut secrets, secret.clone()));
        (done, own)
    }

    /// Reads a part of the configuration in which references stand for nothing that is secret.
    pub(super) fn openly<T>(&self, read: impl FnOnce() -> T) -> T {
        let before = self.secrets.borrow().len();
        let done = read();
        self.secrets.borrow_mut().truncate(before);
        done
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

fn add(secrets: &mut Vec<Secret>, secret: Secret) {
    if !secret.expose().is_empty() && !secrets.contains(&secret) {
        secrets.push(secret);
    }
}
